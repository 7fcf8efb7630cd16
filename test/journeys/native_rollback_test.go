package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// askNative asks the native controller to roll the Deployment back.
func (w *world) askNative(revision string) {
	w.Helper()
	w.kubectl("annotate", "deployment", "web", appsv1.DeprecatedRollbackTo+"="+revision)
}

// settled wants the native controller to have seen the present spec, and no request for a rollback.
func (name subject) settled(s *scene) error {
	return name.spec("the present spec seen, and no request for a rollback", func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration == d.Generation && d.Annotations[appsv1.DeprecatedRollbackTo] == ""
	})(s)
}

// TestHandbackAsDecided: a request that comes between the decision and the write is not overlooked:
// the write does not hold for it.
func TestHandbackAsDecided(t *testing.T) {
	w := newWorld(t)
	workloadKinds()["Deployment"].halfway(w)
	read := workload.New("Deployment")
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(w.named("web")), read.Object()); err != nil {
		t.Fatal(err)
	}
	w.askNative("1")
	patch, err := kube.PatchOf(hold.HandBack(read, plan.LetGo(&plan.Workload{Hold: hold.Of(read), Mover: hold.Mover(read)}, v1alpha1.DeletionProceed, nil).HeldWorkload, nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Patch(w.Context(), w.named("web"), patch); !apierrors.IsInvalid(err) {
		t.Errorf("a hand-back decided before the request: want it refused as invalid, have %v", err)
	}
	w.await(web.takenOver)
}

// TestNativeRollbackIsDropped: T8, a native rollback requested on a held Deployment does not undo
// an approved release. Revision 0 means the one before, as without Sluice.
func TestNativeRollbackIsDropped(t *testing.T) {
	const before = "0"
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step(1), step("100%")))
	w.await(web.blocksAt(0))
	w.askNative(before)
	w.confirm("web")
	w.await(all(web.completed, web.settled, web.serves("web:2", 4)))
	w.awaitEvent(v1alpha1.ReasonNativeRollbackDropped, "sluice rollback web")

	w.askNative(before) // at rest the native controller follows it
	w.await(all(web.settled, web.serves("web:1", 4), web.reason(v1alpha1.ReasonDrifted)))
}
