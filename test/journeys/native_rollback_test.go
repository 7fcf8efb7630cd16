package journeys

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
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

// TestNativeRollbackIsDropped: a native rollback requested on a held Deployment does not undo an approved release.
// "0" names the revision before, as without Sluice.
func TestNativeRollbackIsDropped(t *testing.T) {
	for _, revision := range []string{"0", "1"} {
		t.Run("to "+revision, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			w.create(release("web:2", step(1), step("100%")))
			w.await(web.blocksAt(0))
			w.askNative(revision)
			w.confirm("web")
			w.await(all(web.completed, web.settled, web.serves("web:2", 4)))
			w.awaitEvent(v1alpha1.ReasonNativeRollbackDropped, "sluice rollback web")

			w.askNative(revision) // which works where nothing is held
			w.await(all(web.settled, web.serves("web:1", 4), web.reason(v1alpha1.ReasonDrifted)))
		})
	}
}

// A release that is rolled back, or deleted, leaves what Sluice went back to.
func TestNativeRollbackIsDroppedOnTheWayBack(t *testing.T) {
	for name, leave := range map[string]func(*world){
		"RolledBack": (*world).rollBack,
		"Deleted":    func(w *world) { w.kubectl("delete", "batchrelease", "web", "--wait=false") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			w.create(release("web:2", step(1), step("100%")))
			w.await(web.blocksAt(0))
			w.askNative("2") // which is web:2
			leave(w)
			w.await(all(web.handedBack, web.settled, web.serves("web:1", 4)))
		})
	}
}

// The command without a controller drops it too, and says so.
func TestHandbackDropsNativeRollback(t *testing.T) {
	w := newWorld(t)
	w.halfway(nil)
	w.askNative("1")
	if said, want := w.handBackAll(handback.Options{Proceed: true}), "without the annotation "+appsv1.DeprecatedRollbackTo+"=1"; !strings.Contains(said, want) {
		t.Errorf("the command says %q, want it to have %q", said, want)
	}
	w.await(all(web.handedBack, web.settled, web.serves("web:2", 4)))
}

// A request that comes between the decision and the write is not overlooked: the write does not hold for it.
func TestHandbackAsDecided(t *testing.T) {
	w := newWorld(t)
	w.halfway(nil)
	read := &workload.Deployment{Deployment: w.named("web")}
	if err := w.Get(w.Context(), client.ObjectKeyFromObject(read), read.Deployment); err != nil {
		t.Fatal(err)
	}
	w.askNative("1")
	patch, err := hold.HandBack(read, plan.LetGo(&plan.Workload{Hold: hold.Of(read), Mover: hold.Mover(read)}, v1alpha1.DeletionProceed, nil).HeldWorkload, nil).Patch()
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Patch(w.Context(), w.named("web"), patch); !apierrors.IsInvalid(err) {
		t.Errorf("a hand-back decided before the request: want it refused as invalid, have %v", err)
	}
	w.await(web.takenOver)
}
