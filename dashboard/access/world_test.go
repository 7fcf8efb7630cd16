package access

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// world is a dashboard in a cluster, with the account and the rights that its manifests give it,
// and pages that say who looks.
type world struct {
	*testing.T

	access    controlplane.Access
	namespace string
	admin     client.Client
	account   *rest.Config
	clock     *testingclock.FakeClock
	door      *Cluster
	server    *httptest.Server
	log       *lines
}

// components of config that the dashboard's account has its rights from.
const constrained, unconstrained = "dashboard", "dashboard-unconstrained"

// newWorld returns a world on the control plane that tests share.
func newWorld(t *testing.T, options Options) *world {
	t.Helper()
	return worldOn(t, cptest.Access(t), cptest.Namespace(t), options, constrained)
}

func worldOn(t *testing.T, access controlplane.Access, namespace string, options Options, components ...string) *world {
	t.Helper()
	cfg, err := access.Config()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(cfg, cptest.ClientOptions(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{T: t, access: access, namespace: namespace, admin: admin, clock: testingclock.NewFakeClock(time.Now()), log: &lines{}}
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sluice-dashboard"}})
	for _, component := range components {
		w.grantComponent(component)
	}
	if w.account, err = access.ServiceAccountConfig(t.Context(), namespace, "sluice-dashboard"); err != nil {
		t.Fatal(err)
	}
	w.account.UserAgent = t.Name()
	w.open(options)
	return w
}

// open serves a dashboard with other options.
func (w *world) open(options Options) {
	w.Helper()
	options.Clock, options.PlainHTTP, options.Logger = w.clock, true, w.log.logger()
	w.server = httptest.NewUnstartedServer(nil)
	options.ExternalURL = "http://" + w.server.Listener.Addr().String()
	door, err := NewCluster(w.account, kube.NewScheme(), options)
	if err != nil {
		w.Fatal(err)
	}
	w.door = door
	w.server.Config = Server(door.Wrap(http.HandlerFunc(w.page)))
	w.server.Start()
	w.Cleanup(w.server.Close)
}

// grantComponent gives the dashboard's account the roles of a component, by names of the test's
// own.
func (w *world) grantComponent(component string) {
	w.Helper()
	path, err := controlplane.InCheckout("config/components/" + component + "/role.yaml")
	if err != nil {
		w.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		w.Fatal(err)
	}
	for _, object := range cptest.Decode(w.T, string(text)) {
		w.grant(object)
	}
	cfg, err := w.access.Config()
	if err != nil {
		w.Fatal(err)
	}
	cptest.AwaitRights(w, cfg, "system:serviceaccount:"+w.namespace+":sluice-dashboard")
}

func (w *world) grant(object *unstructured.Unstructured) {
	w.Helper()
	object.SetName(object.GetName() + "-" + w.namespace)
	w.create(object)
	w.Cleanup(func() { _ = w.admin.Delete(w.Context(), object) })
	w.bind(object.GetName(), rbacv1.Subject{Kind: "ServiceAccount", Namespace: w.namespace, Name: "sluice-dashboard"})
}

// bind binds a ClusterRole in the whole cluster.
func (w *world) bind(role string, to rbacv1.Subject) {
	w.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: role + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}, Subjects: []rbacv1.Subject{to},
	}
	w.create(binding)
	w.Cleanup(func() { _ = w.admin.Delete(w.Context(), binding) })
}

// let gives somebody rights in a namespace.
func (w *world) let(namespace string, to rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	w.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, GenerateName: "let-"}, Rules: rules}
	w.create(role)
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name}, Subjects: []rbacv1.Subject{to},
	})
}

func (w *world) create(object client.Object) {
	w.Helper()
	if err := w.admin.Create(w.Context(), object); err != nil {
		w.Fatalf("create %T: %v", object, err)
	}
}

// viewer returns somebody whom the dashboard acts as.
func (w *world) viewer(who identity) *Viewer {
	w.Helper()
	v, err := w.door.people.viewer(newSession(who, w.clock.Now().Add(time.Hour)))
	if err != nil {
		w.Fatal(err)
	}
	return v
}

// heard waits until the API server lets somebody do something in the world's namespace.
func (w *world) heard(v *Viewer, what Verb) {
	w.Helper()
	cptest.Eventually(w, time.Minute, func() error {
		if may, err := NewRights(w.clock).May(w.Context(), v, w.namespace, what); err != nil || !may {
			return fmt.Errorf("may %+v: %v, %w", what, may, err)
		}
		return nil
	})
}

// sees are the rules of who may read releases.
var sees = rbacv1.PolicyRule{
	APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"batchreleases"}, Verbs: []string{"get", "list", "watch"},
}

// token returns one of a service account that is made for it.
func (w *world) token(account string, audiences ...string) string {
	w.Helper()
	w.create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: account}})
	cfg, err := w.access.Config()
	if err != nil {
		w.Fatal(err)
	}
	clients, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		w.Fatal(err)
	}
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}
	made, err := clients.CoreV1().ServiceAccounts(w.namespace).CreateToken(w.Context(), account, request, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return made.Status.Token
}

// seen holds the content of a world's pages: the user, and the API server's answers.
type seen struct {
	Name     string   `json:"name"`
	Groups   []string `json:"groups"`
	CSRF     string   `json:"csrf"`
	Releases string   `json:"releases"`
	Secrets  string   `json:"secrets"`
	Patched  string   `json:"patched"`
	Posted   string   `json:"posted"`
}

// page serves the dashboard behind the login.
func (w *world) page(rw http.ResponseWriter, r *http.Request) {
	v := ViewerOf(r.Context())
	if v == nil {
		_, _ = io.WriteString(rw, "public")
		return
	}
	if r.URL.Path == "/stream" {
		rw.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(rw).Flush()
		<-r.Context().Done()
		return
	}
	said := func(err error) string {
		if err != nil {
			return err.Error()
		}
		return "ok"
	}
	in := client.InNamespace(r.URL.Query().Get("namespace"))
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"by":"`+v.Name+`"}}}`))
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: string(in), Name: "web"}}
	found := seen{
		Name: v.Name, Groups: v.Groups, CSRF: v.CSRF, Posted: r.PostForm.Get("what"),
		Releases: said(v.Client.List(r.Context(), &v1alpha1.BatchReleaseList{}, in)),
		Secrets:  said(v.Client.List(r.Context(), &corev1.SecretList{}, in)),
	}
	if r.Method == http.MethodPost {
		found.Patched = said(v.Client.Patch(r.Context(), release, patch))
	}
	_ = json.NewEncoder(rw).Encode(found)
}

// browser is somebody's.
type browser struct {
	*world

	client *http.Client
}

func (w *world) browser() *browser {
	jar, err := cookiejar.New(nil)
	if err != nil {
		w.Fatal(err)
	}
	return &browser{w, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// result is an answer whose body was read.
type result struct {
	*http.Response

	body string
}

// sees decodes a page of the world.
func (r result) sees(t *testing.T) seen {
	t.Helper()
	var s seen
	if err := json.Unmarshal([]byte(r.body), &s); err != nil {
		t.Fatalf("want a page of the dashboard, got %s: %s", r.Status, r.body)
	}
	return s
}

// do sends a request as a browser does that reads pages.
func (b *browser) do(method, address string, form url.Values, changes ...func(*http.Request)) result {
	b.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.server.URL + address
	}
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req, err := http.NewRequestWithContext(b.Context(), method, address, body)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", "text/html")
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, change := range changes {
		change(req)
	}
	answer, err := b.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return result{answer, string(data)}
}

func (b *browser) get(address string, changes ...func(*http.Request)) result {
	b.Helper()
	return b.do(http.MethodGet, address, nil, changes...)
}

// login logs in with a token, and fails the test if that is refused.
func (b *browser) login(token string) *browser {
	b.Helper()
	if got := b.do(http.MethodPost, "/login", url.Values{"token": {token}}); got.StatusCode != http.StatusSeeOther {
		b.Fatalf("log in: got %s: %s", got.Status, got.body)
	}
	return b
}

// cookie returns the browser's cookie of a purpose.
func (b *browser) cookie(purpose string) string {
	u, _ := url.Parse(b.server.URL)
	for _, c := range b.client.Jar.Cookies(u) {
		if c.Name == b.door.cookieName(purpose) {
			return c.Value
		}
	}
	return ""
}

// setCookie puts a session into the browser.
func (b *browser) setCookie(purpose, value string) {
	u, _ := url.Parse(b.server.URL)
	b.client.Jar.SetCookies(u, []*http.Cookie{{Name: b.door.cookieName(purpose), Value: value, Path: "/"}})
}

// lines are a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) logger() logr.Logger {
	return funcr.New(func(_, args string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.text.WriteString(args + "\n")
	}, funcr.Options{Verbosity: 10})
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
