package rollout

import (
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout/plan"
)

func TestMain(m *testing.M) { cptest.Main(m) }

// opener opens one gate of a release, again and again.
type opener struct {
	*testing.T
	*Reconciler
	release *v1alpha1.BatchRelease
	action  plan.OpenGate
}

func newOpener(t *testing.T) *opener {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c, err := client.NewWithWatch(cptest.Config(t), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: cptest.Namespace(t), Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
		},
	}
	if err := c.Create(t.Context(), release); err != nil { // gates without an owner are collected
		t.Fatal(err)
	}
	return &opener{
		T: t, Reconciler: NewReconciler(c, c, c, events.NewFakeRecorder(1), clock.RealClock{}), release: release,
		action: plan.OpenGate{Name: "web-v2-1-0-0", Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: release.UID}, Revision: "v2", Attempt: 1,
			Type: v1alpha1.GateManual, Policy: v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}},
		}},
	}
}

// open opens the gate in a pass of its own and returns what the plan sees of the gates after it.
func (o *opener) open() (*view, error) {
	v := &view{process: newProcess(clock.RealClock{}), release: o.release}
	return v, o.objects.openGate(o.Context(), v, o.action)
}

// present returns the gate that has the name, which something on a forge was opened for.
func (o *opener) present(of types.UID) *v1alpha1.Gate {
	o.Helper()
	spec := o.action.Spec
	spec.ReleaseRef.UID, spec.Nonce = of, "n"
	g := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.release.Namespace, Name: o.action.Name, Finalizers: []string{v1alpha1.ForgeFinalizer},
		},
		Spec: spec,
	}
	if err := o.client.Create(o.Context(), g); err != nil {
		o.Fatal(err)
	}
	return g
}

// letGo takes the finalizer off, as happens once there is nothing on the forge any more.
func (o *opener) letGo() {
	o.Helper()
	g := &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Namespace: o.release.Namespace, Name: o.action.Name}}
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := client.IgnoreNotFound(o.client.Patch(o.Context(), g, patch)); err != nil {
		o.Error(err)
	}
}

// mustWait expects that a plan asked now sees the gate that is to go, and opens none.
func (o *opener) mustWait(reason string) {
	o.Helper()
	v, err := o.open()
	if err != nil || len(v.gates) != 1 || v.gates[0].DeletionTimestamp == nil {
		o.Fatalf("%s: want the gate that is being deleted, got %d gates and error %v", reason, len(v.gates), err)
	}
	if v.process.gates.Ahead() {
		o.Errorf("%s: what goes away must not be remembered: nothing would tell that it is gone", reason)
	}
}

func (o *opener) mustOpen(reason string) {
	o.Helper()
	v, err := o.open()
	if err != nil || len(v.gates) != 1 || v.gates[0].DeletionTimestamp != nil || v.gates[0].Spec.Nonce == "n" {
		o.Fatalf("%s: want a new gate, got %v and error %v", reason, v.gates, err)
	}
}

func TestAGateWaitsForOneOfItsNameToGo(t *testing.T) {
	t.Parallel()
	o := newOpener(t)
	old := o.present(o.release.UID)
	if err := o.client.Delete(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	o.mustWait("a user has deleted the gate, and its pull request is still open")
	o.letGo()
	cptest.Eventually(t, time.Minute, func() error { return o.isGone(old) })
	o.mustOpen("the gate is gone")
	if _, err := o.open(); !outdated(err) {
		t.Errorf("a gate that is there and as it should be means that the caches are behind, got %v", err)
	}
}

func TestAGateOfAnEarlierReleaseMakesRoom(t *testing.T) {
	t.Parallel()
	o := newOpener(t)
	old := o.present("uid-of-a-release-that-was-deleted")
	if _, err := o.open(); !outdated(err) {
		t.Fatalf("want it deleted, and decided anew, got %v", err)
	}
	o.mustWait("it is kept until its pull request is closed")
	o.letGo()
	cptest.Eventually(t, time.Minute, func() error { return o.isGone(old) })
	o.mustOpen("the gate is gone")
}

// TestAGateIsClosedAsItWasDecidedOn: a gate that was decided since a plan closed it stays as
// evidence, and the next plan sees the decision. So does another gate of its name.
func TestAGateIsClosedAsItWasDecidedOn(t *testing.T) {
	t.Parallel()
	o := newOpener(t)
	v, err := o.open()
	if err != nil {
		t.Fatal(err)
	}
	gate := v.gates[0].DeepCopy()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"status":{"decision":"Passed"}}`))
	if err := o.client.Status().Patch(t.Context(), gate.DeepCopy(), patch); err != nil {
		t.Fatal(err)
	}
	closing := plan.CloseGate{Name: gate.Name}
	if err := o.objects.closeGate(t.Context(), v, closing); !outdated(err) {
		t.Errorf("the gate has passed since, and the error is %v, want that it is decided anew", err)
	}
	seen := v.process.gates.List(nil)
	if len(seen) != 1 || seen[0].Status.Decision != v1alpha1.DecisionPassed {
		t.Fatalf("the next plan sees %v, want the gate that has passed", seen)
	}
	v.gates = []v1alpha1.Gate{*seen[0]}
	v.gates[0].UID = "of a gate that was deleted"
	if err := o.objects.closeGate(t.Context(), v, closing); !outdated(err) {
		t.Errorf("another gate has the name, and the error is %v, want that it is decided anew", err)
	}
	v.gates = []v1alpha1.Gate{*seen[0]}
	if err := o.objects.closeGate(t.Context(), v, closing); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, time.Minute, func() error { return o.isGone(gate) })
}

func (o *opener) isGone(g *v1alpha1.Gate) error {
	err := o.client.Get(o.Context(), client.ObjectKeyFromObject(g), &v1alpha1.Gate{})
	if err == nil {
		return errors.New("the gate is still there")
	}
	return client.IgnoreNotFound(err)
}
