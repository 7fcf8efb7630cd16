package dashboard

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// soon is how long the tests wait for what takes moments on a machine with nothing else to do.
const soon = 2 * time.Minute

// controllerAccount is the one that the policies in config/policy know as the controller's.
const controllerAccount = "system:serviceaccount:sluice-system:sluice-controller"

// acts is a namespace with a controller, a dashboard in the cluster, and people who log in to it.
type acts struct {
	*testing.T

	admin     client.Client
	namespace string
	server    *httptest.Server
	// controlled says that a controller runs.
	controlled bool
}

// newActs runs a controller, with changed options if any are given, and a dashboard until the test
// ends, with the policies of config/policy.
func newActs(t *testing.T, change ...func(*app.Options)) *acts {
	t.Helper()
	a := &acts{T: t, namespace: cptest.Namespace(t), admin: cptest.Client(t)}
	a.guard()
	a.control(change...)
	a.serve()
	return a
}

// control runs the controller.
func (a *acts) control(change ...func(*app.Options)) {
	a.Helper()
	cfg := cptest.Config(a.T)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: controllerAccount, Groups: []string{"system:masters"}}
	options := app.Options{Version: a.namespace, Namespaces: []string{a.namespace}, Logger: logr.FromSlogHandler(slog.DiscardHandler)}
	for _, one := range change {
		one(&options)
	}
	mgr, err := app.New(cfg, options)
	if err != nil {
		a.Fatalf("make controller: %v", err)
	}
	a.run(mgr.Start)
	a.controlled = true
}

func (a *acts) run(start func(context.Context) error) {
	a.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- start(ctx) }()
	a.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			a.Errorf("run: %v", err)
		}
	})
}

// account returns the dashboard's own, with the rights that come with it, by names of the test's
// own.
func (a *acts) account() *rest.Config {
	a.Helper()
	text, err := os.ReadFile(a.shipped("config/components/dashboard/role.yaml"))
	if err != nil {
		a.Fatal(err)
	}
	a.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "sluice-dashboard"}})
	for _, role := range cptest.Decode(a.T, string(text)) {
		role.SetName(role.GetName() + "-" + a.namespace)
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role.GetName()},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.GetName()},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: "sluice-dashboard"}},
		}
		for _, object := range []client.Object{role, binding} {
			a.create(object)
			a.Cleanup(func() { _ = a.admin.Delete(context.Background(), object) })
		}
	}
	cptest.AwaitRights(a.T, cptest.Config(a.T), "system:serviceaccount:"+a.namespace+":sluice-dashboard")
	cfg, err := cptest.Access(a.T).ServiceAccountConfig(a.Context(), a.namespace, "sluice-dashboard")
	if err != nil {
		a.Fatal(err)
	}
	return cfg
}

// serve serves the dashboard to those who log in.
func (a *acts) serve() {
	a.Helper()
	cfg := a.account()
	door, err := access.NewCluster(cfg, kube.NewScheme(), access.Options{Tokens: true, PlainHTTP: true, Logger: logr.Discard()})
	if err != nil {
		a.Fatal(err)
	}
	objects, err := NewCache(cfg, kube.NewScheme(), a.namespace)
	if err != nil {
		a.Fatal(err)
	}
	pages := New(Options{Objects: objects, Door: door, Cluster: "test", Version: "v0", Logger: logr.Discard(), Clock: clock.RealClock{}})
	a.run(objects.Start)
	if err := pages.Follow(a.Context()); err != nil {
		a.Fatal(err)
	}
	a.server = httptest.NewServer(access.Server(pages.Handler()).Handler)
	a.Cleanup(a.server.Close)
}

// guard has the policies about what people write hold in the namespace.
func (a *acts) guard() {
	a.Helper()
	for _, name := range []string{"releases", "gates", "revisions"} {
		if err := controlplane.Apply(a.Context(), cptest.Config(a.T), a.shipped("config/policy/"+name+".yaml")); err != nil {
			a.Fatalf("apply policy: %v", err)
		}
		text, err := os.ReadFile(a.shipped("config/policy/" + name + "_binding.yaml"))
		if err != nil {
			a.Fatal(err)
		}
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{}
		if err := yaml.UnmarshalStrict(text, binding); err != nil {
			a.Fatalf("decode binding: %v", err)
		}
		binding.Name = a.namespace + "." + binding.Name
		binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{corev1.LabelMetadataName: a.namespace},
		}}
		a.create(binding)
		a.Cleanup(func() { _ = a.admin.Delete(context.Background(), binding) })
	}
	a.awaitPolicy()
}

// awaitPolicy waits until the API server goes by the policy about answers.
func (a *acts) awaitPolicy() {
	a.Helper()
	probe := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "probe"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "probe"},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
		},
	}
	a.create(probe)
	cptest.Eventually(a.T, soon, func() error {
		answer := client.RawPatch(types.MergePatchType, []byte(`{"status":{"answers":[{"gate":"probe","verdict":"Approve","by":"nobody"}]}}`))
		err := a.admin.Status().Patch(a.Context(), probe.DeepCopy(), answer, &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
		if err != nil && strings.Contains(err.Error(), "nobody answers a gate in the name of another") {
			return nil
		}
		return errors.Join(errors.New("want an answer in another's name refused by policy"), err)
	})
	if err := a.admin.Delete(a.Context(), probe); err != nil {
		a.Fatal(err)
	}
}

func (a *acts) shipped(file string) string {
	a.Helper()
	path, err := controlplane.InCheckout(file)
	if err != nil {
		a.Fatal(err)
	}
	return path
}

func (a *acts) create(object client.Object) {
	a.Helper()
	if err := a.admin.Create(a.Context(), object); err != nil {
		a.Fatalf("create %T: %v", object, err)
	}
}

// person is somebody who has logged in.
type person struct {
	*acts

	name    string
	browser *http.Client
}

// person makes a service account with cluster roles in the namespace, and logs it in.
func (a *acts) person(name string, roles ...string) *person {
	a.Helper()
	if err := controlplane.Apply(a.Context(), cptest.Config(a.T), a.shipped("config/rbac/user_roles.yaml")); err != nil {
		a.Fatalf("apply roles: %v", err)
	}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name}}
	a.create(account)
	for _, role := range roles {
		a.create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: a.namespace, Name: name}},
		})
	}
	request := &authenticationv1.TokenRequest{}
	if err := a.admin.SubResource("token").Create(a.Context(), account, request); err != nil {
		a.Fatalf("make token: %v", err)
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		a.Fatal(err)
	}
	p := &person{acts: a, name: "system:serviceaccount:" + a.namespace + ":" + name, browser: &http.Client{Jar: jar}}
	cptest.AwaitRights(a.T, cptest.Config(a.T), p.name)
	p.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	got := p.post("/login", url.Values{"token": {request.Status.Token}})
	if got.code != http.StatusSeeOther {
		a.Fatalf("log in: got %d: %s", got.code, got.text)
	}
	return p
}

// got is an answer of the dashboard.
type got struct {
	code     int
	text     string
	location string
}

func (p *person) get(path string) got {
	p.Helper()
	return p.send(http.MethodGet, path, "", nil)
}

func (p *person) post(path string, form url.Values) got {
	p.Helper()
	return p.send(http.MethodPost, path, form.Encode(), nil)
}

func (p *person) send(method, path, body string, header map[string]string) got {
	p.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, p.server.URL+path, strings.NewReader(body))
	if err != nil {
		p.Fatal(err)
	}
	r.Header.Set("Accept", "text/html")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	answer, err := p.browser.Do(r)
	if err != nil {
		p.Error(err)
		return got{}
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.Error(err)
	}
	return got{answer.StatusCode, string(text), answer.Header.Get("Location")}
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`)

// form opens the page that asks for an action, and returns what its form carries.
func (p *person) form(action string) (url.Values, string) {
	p.Helper()
	page := p.get(p.path(action))
	if page.code != http.StatusOK {
		p.Fatalf("%s: want a page, got %d: %s", action, page.code, page.text)
	}
	_, posted, found := strings.Cut(page.text, `<form class="confirm"`)
	if !found {
		p.Fatalf("%s: want a form in:\n%s", action, page.text)
	}
	values := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(posted, -1) {
		values.Add(field[1], html.UnescapeString(field[2]))
	}
	return values, page.text
}

func (p *person) path(action string) string {
	path, query, found := strings.Cut(action, "?")
	if path != "" {
		path = "/" + path
	}
	if found {
		path += "?" + query
	}
	return "/releases/" + p.namespace + "/web" + path
}

// does sends a form, and returns the page of the release that comes after it, once the controller
// has acted: a busy one takes longer than the dashboard waits for it.
func (p *person) does(action string, form url.Values) string {
	p.Helper()
	action, _, _ = strings.Cut(action, "?")
	answer := p.post(p.path(action), form)
	if answer.code != http.StatusSeeOther || !strings.HasPrefix(answer.location, p.path("")+"?") {
		p.Fatalf("%s: want to be sent to the release, got %d to %q: %s", action, answer.code, answer.location, answer.text)
	}
	page := ""
	cptest.Eventually(p.T, soon, func() error {
		if page = p.get(answer.location).text; p.controlled && strings.Contains(page, "The controller has not acted on it yet.") {
			return errors.New("want the controller to act")
		}
		return nil
	})
	return page
}

// click opens the page that asks, fills the form and sends it.
func (p *person) click(action string, fields ...string) string {
	p.Helper()
	form, _ := p.form(action)
	for i := 0; i+1 < len(fields); i += 2 {
		form.Set(fields[i], fields[i+1])
	}
	return p.does(action, form)
}

// want fails the test if a text lacks something.
func want(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("want %q in:\n%s", part, text)
		}
	}
}

func wantNot(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("want no %q in:\n%s", part, text)
		}
	}
}

// deploy makes a Deployment of four pods of version 1 and its release: one pod, a manual gate or
// those given, then all.
func (a *acts) deploy(gates ...v1alpha1.GatePolicy) {
	a.Helper()
	labels := map[string]string{"app": "web"}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(4)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template(1)},
	}
	a.create(deployment)
	cptest.Eventually(a.T, soon, func() error {
		if err := a.admin.Get(a.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return err
		}
		if got := deployment.Status.AvailableReplicas; got != 4 {
			return fmt.Errorf("want 4 available pods, got %d", got)
		}
		return nil
	})
	a.create(&v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Template:    &runtime.RawExtension{Raw: a.encode(template(1))},
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(1), Gates: gates}, {Replicas: intstr.FromInt32(2)}, {Replicas: intstr.FromString("100%")},
			}},
		},
	})
	a.await("completed", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted })
}

// hostile is what somebody may write where a text is expected.
const hostile = `"><script>alert(1)</script><img src=x onerror=alert(2)>`

// push gives the release another version, from a commit with a hostile subject, and waits for it to
// stop at the gates of its first batch.
func (a *acts) push(number int) *v1alpha1.BatchRelease {
	a.Helper()
	commit := strings.Repeat(fmt.Sprint(number), 40)
	a.patch(map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			v1alpha1.CommitAnnotation: commit, v1alpha1.AuthorAnnotation: hostile, v1alpha1.SubjectAnnotation: hostile,
		}},
		"spec": map[string]any{"template": template(number)},
	})
	return a.await("at a gate", func(r *v1alpha1.BatchRelease) bool {
		return r.Status.Commit == commit && r.Status.CurrentStepState == v1alpha1.StepBlocking && len(r.Status.Gates) > 0 && r.Status.Gates[0].Decision != ""
	})
}

func (a *acts) patch(change any) {
	a.Helper()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"}}
	if err := a.admin.Patch(a.Context(), release, client.RawPatch(types.MergePatchType, a.encode(change))); err != nil {
		a.Fatalf("patch release: %v", err)
	}
}

// await waits for the release to be as the condition asks, and returns it.
func (a *acts) await(what string, condition func(*v1alpha1.BatchRelease) bool) *v1alpha1.BatchRelease {
	a.Helper()
	release := &v1alpha1.BatchRelease{}
	cptest.Eventually(a.T, soon, func() error {
		if err := a.admin.Get(a.Context(), client.ObjectKey{Namespace: a.namespace, Name: "web"}, release); err != nil {
			return err
		}
		if !condition(release) {
			return fmt.Errorf("want the release %s, got phase %s, step %d %s: %s", what, release.Status.Phase, release.Status.CurrentStepIndex,
				release.Status.CurrentStepState, release.Status.Message)
		}
		return nil
	})
	return release
}

// atBatch waits for the gates of a batch.
func (a *acts) atBatch(batch int32) *v1alpha1.BatchRelease {
	a.Helper()
	return a.await(fmt.Sprintf("at the gates of batch %d", batch), func(r *v1alpha1.BatchRelease) bool {
		return r.Status.CurrentStepIndex == batch-1 && r.Status.CurrentStepState == v1alpha1.StepBlocking && len(r.Status.Gates) > 0
	})
}
