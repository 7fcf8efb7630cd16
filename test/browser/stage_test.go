package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/test/browser"
)

// soon is how long a test waits for what takes moments on a quiet machine.
const soon = time.Minute

// stage is a namespace on the real control plane, in which people release.
type stage struct {
	*testing.T
	client.WithWatch

	namespace string
}

// newStage returns a namespace of a test.
func newStage(t *testing.T) *stage {
	t.Helper()
	cfg := cptest.Config(t)
	c, err := client.NewWithWatch(cfg, cptest.ClientOptions(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	return &stage{t, c, cptest.Namespace(t)}
}

// startController runs the controller for the namespace.
func (s *stage) startController() {
	s.Helper()
	options := app.Options{Version: s.Name(), Logger: logr.Discard(), Namespaces: []string{s.namespace}}
	options.Git.AllowHTTP, options.Git.Networks.Allowed = true, dialer.Loopback()
	mgr, err := app.New(cptest.Config(s.T), options)
	if err != nil {
		s.Fatalf("make controller: %v", err)
	}
	s.during("controller", mgr.Start)
}

// during runs something until the test ends.
func (s *stage) during(what string, run func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	s.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil && ctx.Err() == nil {
			s.Errorf("%s: %v", what, err)
		}
	})
}

// served is a dashboard, and its door.
type served struct {
	*access.Local

	address string
}

// dashboard serves a dashboard of some namespaces for whom a configuration is of.
func (s *stage) dashboard(cfg *rest.Config, namespaces ...string) *served {
	s.Helper()
	scheme := kube.NewScheme()
	door, err := access.NewLocal(s.Context(), cfg, scheme)
	if err != nil {
		s.Fatal(err)
	}
	return &served{door, s.serve(door, namespaces...)}
}

// serve serves a dashboard of some namespaces behind a door, by a cache of the administrator's, and
// returns its host and port.
func (s *stage) serve(door access.Door, namespaces ...string) string {
	s.Helper()
	objects, err := dashboard.NewCache(cptest.Config(s.T), kube.NewScheme(), namespaces...)
	if err != nil {
		s.Fatal(err)
	}
	pages := dashboard.New(dashboard.Options{
		Objects: objects, Door: door, Cluster: "demo", Version: "v0.0.0", Logger: logr.Discard(), Clock: clock.RealClock{},
	})
	listener, err := access.Listen(s.Context(), "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	s.during("dashboard", func(ctx context.Context) error { return pages.Serve(ctx, listener, func() {}) })
	return listener.Addr().String()
}

// visit opens a tab in the dashboard at a path.
func (d *served) visit(t *testing.T, path string) *browser.Tab {
	t.Helper()
	return d.enter(t, chromium(t).Person(t), path)
}

// enter has a tab let in, and opens a path there.
func (d *served) enter(t *testing.T, tab *browser.Tab, path string) *browser.Tab {
	t.Helper()
	tab.Open(d.URL(d.address))
	tab.Await(`location.pathname === "/" && document.readyState === "complete"`, soon)
	if path != "/" {
		tab.Open(d.at(tab, path))
	}
	return tab
}

// at returns the address of a path where a tab is.
func (*served) at(tab *browser.Tab, path string) string {
	return browser.Ask[string](tab, "location.origin") + path
}

// page returns the path of a release's page.
func (s *stage) page(name string) string { return "/releases/" + s.namespace + "/" + name }

// list returns the path of the list of the namespace's releases.
func (s *stage) list() string { return "/?namespace=" + s.namespace }

// create creates objects in the namespace, with their status if they have one.
func (s *stage) create(objects ...client.Object) {
	s.Helper()
	for _, object := range objects {
		object.SetNamespace(s.namespace)
		if err := s.Create(s.Context(), object); err != nil {
			s.Fatalf("create %T %s: %v", object, object.GetName(), err)
		}
	}
}

// template runs an image; the annotations tell KWOK what becomes of the pods.
func template(name, image string, annotations map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

// deployed creates a Deployment and waits until all its pods are available.
func (s *stage) deployed(name, image string, replicas int32) {
	s.Helper()
	s.create(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template(name, image, nil),
	}})
	cptest.Eventually(s, soon, func() error {
		var d appsv1.Deployment
		if err := s.Get(s.Context(), s.key(name), &d); err != nil {
			return err
		}
		if d.Status.AvailableReplicas != replicas {
			return fmt.Errorf("want %d pods available, have %d", replicas, d.Status.AvailableReplicas)
		}
		return nil
	})
}

func (s *stage) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: s.namespace, Name: name}
}

// released returns a BatchRelease of a Deployment of its name, with a commit that brought it.
func released(name string, pods corev1.PodTemplateSpec, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	return &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{
			v1alpha1.CommitAnnotation: "0123456789abcdef0123456789abcdef01234567", v1alpha1.AuthorAnnotation: "Ada", v1alpha1.SubjectAnnotation: "Serve faster",
		}},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Template:    &runtime.RawExtension{Raw: encode(pods)},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: steps},
		},
	}
}

func encode(value any) []byte {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return data
}

// step returns a step to so many pods, or a percentage of them.
func step(replicas any, gates ...v1alpha1.GatePolicy) v1alpha1.Step {
	return v1alpha1.Step{Replicas: intstr.Parse(fmt.Sprint(replicas)), Gates: gates}
}

func manual() v1alpha1.GatePolicy { return v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}} }

// patch changes an object by a merge patch.
func (s *stage) patch(object client.Object, name, patch string) {
	s.Helper()
	object.SetNamespace(s.namespace)
	object.SetName(name)
	if err := s.Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.Fatalf("patch %T %s: %v", object, name, err)
	}
}

// patchStatus changes the status of an object by a merge patch.
func (s *stage) patchStatus(object client.Object, name, patch string) {
	s.Helper()
	object.SetNamespace(s.namespace)
	object.SetName(name)
	if err := s.Status().Patch(s.Context(), object, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		s.Fatalf("patch the status of %T %s: %v", object, name, err)
	}
}

// await waits until a release is as wanted.
func (s *stage) await(name, want string, done func(*v1alpha1.BatchRelease) bool) *v1alpha1.BatchRelease {
	s.Helper()
	release := &v1alpha1.BatchRelease{}
	cptest.Eventually(s, soon, func() error {
		if err := s.Get(s.Context(), s.key(name), release); err != nil {
			return err
		}
		if !done(release) {
			return fmt.Errorf("want %s %s; it is at step %d, %s, %s: %s", name, want, release.Status.CurrentStepIndex, release.Status.Phase, release.Status.State, release.Status.Message)
		}
		return nil
	})
	return release
}

// blocksAt waits until a release waits at the gates of a step.
func (s *stage) blocksAt(name string, step int32) *v1alpha1.BatchRelease {
	s.Helper()
	return s.await(name, fmt.Sprintf("to block at step %d", step), func(r *v1alpha1.BatchRelease) bool {
		return r.Status.CurrentStepIndex == step && r.Status.State == v1alpha1.StateBlocked && len(r.Status.Gates) > 0
	})
}

// approve answers the manual gate at which a release waits.
func (s *stage) approve(release *v1alpha1.BatchRelease, by, message string) {
	s.Helper()
	var gate v1alpha1.Gate
	if err := s.Get(s.Context(), s.key(release.Status.Gates[0].Name), &gate); err != nil {
		s.Fatal(err)
	}
	s.patchStatus(&v1alpha1.BatchRelease{}, release.Name, fmt.Sprintf(
		`{"status":{"answers":[{"gate":%q,"verdict":"Approve","by":%q,"message":%q}]}}`, gate.UID, by, message))
}
