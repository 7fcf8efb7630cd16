package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout"
)

// soon is how long the tests wait for what takes moments on a machine with nothing else to do.
const soon = 2 * time.Minute

// controller is a controller that runs until stop.
type controller struct {
	cancel context.CancelFunc
	ended  chan error
}

// start runs a controller. It ends with the test.
func start(t *testing.T, cfg *rest.Config, options app.Options) *controller {
	t.Helper()
	if options.Logger.IsZero() {
		options.Logger = logr.FromSlogHandler(slog.DiscardHandler)
	}
	mgr, err := app.New(cfg, options)
	if err != nil {
		t.Fatalf("make controller: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &controller{cancel: cancel, ended: make(chan error, 1)}
	go func() {
		err := mgr.Start(ctx)
		for errors.Is(err, rollout.ErrKindsChanged) && ctx.Err() == nil { // as Kubernetes starts it again
			if mgr, err = app.New(cfg, options); err == nil {
				err = mgr.Start(ctx)
			}
		}
		c.ended <- err
	}()
	t.Cleanup(func() { _ = c.stop() })
	return c
}

// stop ends the controller and returns what it ended with.
func (c *controller) stop() error {
	c.cancel()
	err := <-c.ended
	c.ended <- nil // for the next call
	return err
}

func newClient(t *testing.T) client.Client {
	t.Helper()
	c := cptest.Client(t)
	return c
}

// newDeployment has two pods of version 1.
func newDeployment(namespace string) *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(2)),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: template("v1"),
		},
	}
}

func template(version string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:" + version}}},
	}
}

// newRelease releases version 2 one pod at a time.
func newRelease(t *testing.T, namespace string) *v1alpha1.BatchRelease {
	t.Helper()
	raw, err := json.Marshal(template("v2"))
	if err != nil {
		t.Fatalf("encode template: %v", err)
	}
	return &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Template:    &runtime.RawExtension{Raw: raw},
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("100%")},
			}},
		},
	}
}

// awaitRelease waits for a release to be as the condition asks.
func awaitRelease(t *testing.T, c client.Client, release *v1alpha1.BatchRelease, what string, condition func(v1alpha1.BatchReleaseStatus) bool) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
			return fmt.Errorf("read release: %w", err)
		}
		if !condition(release.Status) {
			return fmt.Errorf("want the release %s, got phase %s, step %d %s: %s", what, release.Status.Phase,
				release.Status.CurrentStepIndex, release.Status.CurrentStepState, release.Status.Message)
		}
		return nil
	})
}

func blocking(status v1alpha1.BatchReleaseStatus) bool {
	return status.CurrentStepState == v1alpha1.StepBlocking && len(status.Gates) > 0
}

func completed(status v1alpha1.BatchReleaseStatus) bool {
	return status.Phase == v1alpha1.PhaseCompleted
}

func confirm(t *testing.T, c client.Client, release *v1alpha1.BatchRelease) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"status":{"currentStepState":"Completed"}}`))
	if err := c.Status().Patch(t.Context(), release.DeepCopy(), patch, client.FieldOwner("kubectl-patch")); err != nil {
		t.Fatalf("confirm release: %v", err)
	}
}

// TestNamespaces: a controller leaves alone what is not in its namespaces.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	c, watched, other := newClient(t), cptest.Namespace(t), cptest.Namespace(t)
	start(t, cptest.Config(t), app.Options{Namespaces: []string{watched}})
	releases := map[string]*v1alpha1.BatchRelease{}
	for _, namespace := range []string{other, watched} {
		releases[namespace] = newRelease(t, namespace)
		for _, object := range []client.Object{newDeployment(namespace), releases[namespace]} {
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatalf("create %T: %v", object, err)
			}
		}
	}
	awaitRelease(t, c, releases[watched], "blocking", blocking)
	awaitRelease(t, c, releases[other], "untouched", func(status v1alpha1.BatchReleaseStatus) bool { return status.Phase == "" })
}

// TestProbes: the controller says that it is alive, and ready once its cache has caught up.
func TestProbes(t *testing.T) {
	t.Parallel()
	namespace, address := cptest.Namespace(t), freeAddress(t)
	start(t, cptest.Config(t), app.Options{Namespaces: []string{namespace}, ProbeAddress: address})
	for _, path := range []string{"/healthz", "/readyz"} {
		cptest.Eventually(t, soon, func() error { return get(t, "http://"+address+path) })
	}
}

func get(t *testing.T, url string) error {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("make request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("ask %s: %w", url, err)
	}
	if err := response.Body.Close(); err != nil {
		return fmt.Errorf("close answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: want 200, got %s", url, response.Status)
	}
	return nil
}

// freeAddress returns a port on loopback that nobody listened on a moment ago.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find free port: %v", err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// TestStopsWhileItStarts: a controller that waits for its cache, because the API server refuses
// what it lists, stops when it is told to.
func TestStopsWhileItStarts(t *testing.T) {
	t.Parallel()
	namespace, address := cptest.Namespace(t), freeAddress(t)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "stranger"}}
	if err := newClient(t).Create(t.Context(), account); err != nil {
		t.Fatalf("create account: %v", err)
	}
	cfg, err := cptest.Access(t).ServiceAccountConfig(t.Context(), namespace, account.Name)
	if err != nil {
		t.Fatalf("log in: %v", err)
	}
	c := start(t, cfg, app.Options{Namespaces: []string{namespace}, ProbeAddress: address})
	cptest.Eventually(t, soon, func() error { return get(t, "http://"+address+"/healthz") })
	if err := get(t, "http://"+address+"/readyz"); err == nil {
		t.Fatal("want a controller without rights never to be ready")
	}
	c.cancel()
	select {
	case err := <-c.ended:
		c.ended <- nil
		if err != nil {
			t.Errorf("a controller that is told to stop ends without error, got %v", err)
		}
	case <-time.After(soon):
		t.Fatal("want the controller to end although its cache has not synced")
	}
}

// TestTakeTurns: of two controllers one acts, and the other takes over at once when it stops.
func TestTakeTurns(t *testing.T) {
	t.Parallel()
	c, namespace := newClient(t), cptest.Namespace(t)
	options := app.Options{Namespaces: []string{namespace}, LeaderElection: true, LeaseNamespace: namespace}
	first := start(t, cptest.Config(t), options)
	leader := awaitLeader(t, c, namespace, "")
	start(t, cptest.Config(t), options)
	if err := first.stop(); err != nil {
		t.Errorf("a controller that is told to stop ends without error, got %v", err)
	}
	awaitLeader(t, c, namespace, leader)

	release := newRelease(t, namespace)
	for _, object := range []client.Object{newDeployment(namespace), release} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	awaitRelease(t, c, release, "blocking", blocking)
}

// TestLostLease: a controller whose lease is taken ends with an error, for its process to exit.
func TestLostLease(t *testing.T) {
	t.Parallel()
	c, namespace := newClient(t), cptest.Namespace(t)
	robbed := start(t, cptest.Config(t), app.Options{
		Namespaces: []string{namespace}, LeaderElection: true, LeaseNamespace: namespace,
	})
	awaitLeader(t, c, namespace, "")
	cptest.Eventually(t, soon, func() error { return steal(t, c, namespace) })
	select {
	case err := <-robbed.ended:
		robbed.ended <- nil
		if err == nil || !strings.Contains(err.Error(), "leader election lost") {
			t.Errorf("want the loss of the lease, got %v", err)
		}
	case <-time.After(soon):
		t.Error("want the controller to end when its lease is taken")
	}
}

// steal writes another holder into the Lease.
func steal(t *testing.T, c client.Client, namespace string) error {
	t.Helper()
	lease, err := readLease(t, c, namespace)
	if err != nil {
		return err
	}
	lease.Spec.HolderIdentity = new("thief")
	lease.Spec.LeaseDurationSeconds = new(int32(3600))
	lease.Spec.RenewTime = new(metav1.NowMicro())
	if err := c.Update(t.Context(), lease); err != nil {
		return fmt.Errorf("steal lease: %w", err)
	}
	return nil
}

func readLease(t *testing.T, c client.Client, namespace string) (*coordinationv1.Lease, error) {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "sluice-controller"}, lease); err != nil {
		return nil, fmt.Errorf("read lease: %w", err)
	}
	return lease, nil
}

// awaitLeader waits for a leader other than the one before.
func awaitLeader(t *testing.T, c client.Client, namespace, before string) (leader string) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		lease, err := readLease(t, c, namespace)
		if err != nil {
			return err
		}
		if holder := lease.Spec.HolderIdentity; holder == nil || *holder == "" || *holder == before {
			return errors.New("want a new leader")
		}
		leader = *lease.Spec.HolderIdentity
		return nil
	})
	return leader
}
