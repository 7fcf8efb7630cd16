package journeys

import (
	"encoding/json"
	"fmt"
	"net"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

const (
	repository    = "shop/releases"
	webhookSecret = "a secret that both sides know"
)

// forgeWorld is a world whose releases come from a repository on a forge. Sluice acts there as
// sluice; ada writes releases, grace and eve approve, ci posts statuses and is no person.
type forgeWorld struct {
	*world
	forge  *devforge.Forge
	tokens map[string]string
	// file is the workload with an image, as Git has it.
	file func(image string) []byte
}

// newForgeWorld starts a forge with a repository that holds ten pods of web:1 and the steps.
func newForgeWorld(t *testing.T, steps ...v1alpha1.Step) *forgeWorld {
	t.Helper()
	w := &forgeWorld{world: newWorld(t)}
	w.file = w.deploymentFile
	w.startForge("Deployment", steps)
	return w
}

// startForge starts a forge with a repository that holds the workload with web:1, and its release.
func (w *forgeWorld) startForge(kind string, steps []v1alpha1.Step) {
	w.Helper()
	w.startForgeWith(fstest.MapFS{
		"web.yaml":     {Data: w.file("web:1")},
		"release.yaml": {Data: releaseFile(kind, steps)},
	})
}

// startForgeWith starts a forge with a repository that holds some files.
func (w *forgeWorld) startForgeWith(seed fstest.MapFS) {
	w.Helper()
	t := w.T
	w.forge = forgetest.Start(t, devforge.Options{Dir: t.TempDir()})
	if err := w.forge.CreateRepository(t.Context(), repository, "main", seed); err != nil {
		t.Fatal(err)
	}
	w.tokens = forgetest.Invite(t, w.forge, repository, "sluice", "ada", "grace", "eve", "ci")
	w.create(
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "git"}, StringData: map[string]string{"username": "sluice", "password": w.tokens["sluice"]}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "forge"}, StringData: map[string]string{"token": w.tokens["sluice"]}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "hook"}, StringData: map[string]string{"secret": webhookSecret}},
	)
}

func (w *forgeWorld) deploymentFile(image string) []byte {
	d := deployment(10)
	d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	d.Spec.Template = podTemplate(image, nil)
	return manifest(w.T, d)
}

func releaseFile(kind string, steps []v1alpha1.Step) []byte {
	r := release("", steps...)
	r.Spec.WorkloadRef.Kind = kind
	r.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease"}
	r.Spec.Template = nil
	data, err := yaml.Marshal(withoutStatus(r))
	if err != nil { // it was just built
		panic(err)
	}
	return data
}

func manifest(t *testing.T, object any) []byte {
	t.Helper()
	data, err := yaml.Marshal(withoutStatus(object))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func withoutStatus(object any) map[string]any {
	var fields map[string]any
	if err := json.Unmarshal(encode(object), &fields); err != nil {
		panic(err)
	}
	delete(fields, "status")
	return fields
}

// startWithForge runs the controller with a source that has a forge; how often Git and the forge
// are polled where no webhook comes is for the test to say.
func (w *forgeWorld) startWithForge(interval time.Duration, change ...func(*v1alpha1.ReleaseSource)) *controller {
	w.Helper()
	c := w.followForge(interval, change...)
	w.await(all(web.completed, web.serves("web:1", 10))) // the next commit is a change only after that
	return c
}

// followForge returns startWithForge of a repository that has not what runs.
func (w *forgeWorld) followForge(interval time.Duration, change ...func(*v1alpha1.ReleaseSource)) *controller {
	w.Helper()
	c := w.startController()
	source := &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Name: "shop"},
		Spec: v1alpha1.ReleaseSourceSpec{
			URL:       w.forge.CloneURL(repository),
			Interval:  metav1.Duration{Duration: interval},
			SecretRef: &v1alpha1.LocalReference{Name: "git"},
			Forge: &v1alpha1.Forge{
				BaseURL: w.forge.URL(), Owner: "shop", Repo: "releases",
				SecretRef: v1alpha1.LocalReference{Name: "forge"},
				Interval:  metav1.Duration{Duration: max(interval, 5*time.Second)},
			},
		},
	}
	for _, c := range change {
		c(source)
	}
	w.create(source)
	return c
}

// withWebhooks has the controllers that are started from now on take webhooks, and the forge send
// them.
func (w *forgeWorld) withWebhooks() func(*v1alpha1.ReleaseSource) {
	w.Helper()
	address := freeAddress(w.T)
	w.options = func(o *app.Options) { o.WebhookAddress = address }
	_, err := w.forge.AddHook(w.Context(), repository, devforge.Hook{
		URL: "http://" + address + "/hooks/" + w.namespace + "/shop", Secret: webhookSecret, Events: []string{"*"},
	})
	if err != nil {
		w.Fatal(err)
	}
	return func(s *v1alpha1.ReleaseSource) { s.Spec.WebhookSecretRef = &v1alpha1.LocalReference{Name: "hook"} }
}

// freeAddress returns an address of loopback that nobody listens on. Where there is one it is of
// another host than all else listens on, and connects from: until it is listened on, somebody could
// get its port.
func freeAddress(t *testing.T) string {
	t.Helper()
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.2:0")
	if err != nil {
		listener, err = config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// push commits an image of web as ada and returns the commit.
func (w *forgeWorld) push(image string) string {
	w.Helper()
	return w.write("ada", "main", "web.yaml", w.file(image))
}

// write commits a file to a branch.
func (w *forgeWorld) write(login, branch, path string, content []byte) string {
	w.Helper()
	return w.as(login).Put(branch, path, content)
}

// user is somebody who works with the API of the forge.
type user struct{ forgetest.User }

func (w *forgeWorld) as(login string) user {
	return user{forgetest.As(w, w.forge, repository, login, w.tokens[login])}
}

func (u user) setState(number int64, state string) {
	u.Do("PATCH", fmt.Sprintf("pulls/%d", number), map[string]string{"state": state}, nil)
}

func (u user) postStatus(sha, context, state string) {
	u.Do("POST", "statuses/"+sha, map[string]string{"context": context, "state": state}, nil)
}

// statuses returns the forge's statuses of a commit, oldest first.
func (w *forgeWorld) statuses(sha, context string) []string {
	w.Helper()
	var listed []struct{ Context, State, Description string }
	w.as("ada").Do("GET", "commits/"+sha+"/statuses?per_page=100", nil, &listed)
	var lines []string
	for _, status := range listed {
		if status.Context == context {
			lines = append([]string{status.State + ": " + status.Description}, lines...)
		}
	}
	return lines
}

// awaitStatus waits until the newest status of a commit in the release's context says that. The
// forge has nothing to watch.
func (w *forgeWorld) awaitStatus(sha, says string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		lines := w.statuses(sha, w.context())
		if len(lines) == 0 || !strings.Contains(lines[len(lines)-1], says) {
			return fmt.Errorf("want the last status of %.7s to say %q, got:\n%s", sha, says, strings.Join(lines, "\n"))
		}
		return nil
	})
}

func (w *forgeWorld) context() string { return "sluice/" + w.namespace + "/web" }

// pull is a pull request as the forge lists it.
type pull struct {
	Number int64
	State  string
	Title  string
	Body   string
	Head   struct{ Ref, SHA string }
	User   struct{ Login string }
}

// pulls returns all pull requests, oldest first.
func (w *forgeWorld) pulls() []pull {
	w.Helper()
	var listed []pull
	w.as("ada").Do("GET", "pulls?state=all&sort=created&direction=asc&per_page=100", nil, &listed)
	return listed
}

// awaitPull waits until the gate after a step has its pull request.
func (w *forgeWorld) awaitPull(step int32) int64 {
	w.Helper()
	return w.awaitPullOf(web, step)
}

func (w *forgeWorld) awaitPullOf(name subject, step int32) int64 {
	w.Helper()
	var number int64
	w.await(func(s *scene) error {
		gate := s.gateOf(string(name), step, v1alpha1.GatePullRequest)
		if gate == nil || gate.Status.PullRequest == nil || gate.Status.PullRequest.Number == 0 {
			return fmt.Errorf("want a pull request for the gate after step %d, got %+v", step+1, gate)
		}
		number = gate.Status.PullRequest.Number
		return nil
	})
	return number
}

// gateOf returns the gate that a release waits for after a step, nil if there is none.
func (s *scene) gateOf(release string, step int32, kind v1alpha1.GateType) *v1alpha1.Gate {
	r := s.releases[release]
	if r == nil || r.Status.CurrentStepIndex != step {
		return nil
	}
	for _, reference := range r.Status.Gates {
		if gate := s.gates[reference.Name]; reference.Type == kind && gate != nil {
			return gate
		}
	}
	return nil
}

// gateSays waits for the message of a gate.
func gateSays(step int32, kind v1alpha1.GateType, says string) check {
	return func(s *scene) error {
		gate := s.gateOf("web", step, kind)
		if gate == nil || !strings.Contains(gate.Status.Message, says) {
			return fmt.Errorf("want the %s gate after step %d to say %q, got %+v", kind, step+1, says, gate)
		}
		return nil
	}
}

func pullRequest(policy v1alpha1.PullRequestGate) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{PullRequest: &policy}
}

func commitStatus(context string, creators ...string) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: context, Creators: creators}}
}

// requestSync has the source looked at now, as a webhook would.
func (w *forgeWorld) requestSync() {
	w.Helper()
	source := named[v1alpha1.ReleaseSource]("shop")
	source.Namespace = w.namespace
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation, time.Now().Format(time.RFC3339Nano))
	if err := w.Patch(w.Context(), source, mergePatch(patch)); err != nil {
		w.Fatal(err)
	}
}
