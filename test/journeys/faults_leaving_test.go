package journeys

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// writesOfRelease is how many writes a controller makes in a release of two steps, about.
const writesOfRelease = 14

// departure is how something leaves in the middle of a release, and what is wanted then.
type departure struct {
	leave func(*world) error
	left  check
	// breaks are the laws that it breaks itself.
	breaks []law
}

func departures() map[string]departure {
	return map[string]departure{
		"Release":    {(*world).deleteRelease, releaseLeft(), nil},
		"Deployment": {(*world).deleteDeployment, web.reason(v1alpha1.ReasonWorkloadNotFound), nil},
		"Replaced":   {(*world).replaceDeployment, all(web.completed, web.serves("web:2", 4)), nil},
		"Namespace":  {(*world).deleteNamespace, emptied, []law{enoughRun}},
	}
}

func (w *world) deleteRelease() error {
	return w.Delete(w.Context(), w.mine(named[v1alpha1.BatchRelease]("web")))
}

// releaseLeft wants the Deployment to be as any other, all pods of one version, and nothing left of
// Sluice.
func releaseLeft() check {
	return all(nothingOfOurs, web.handedBack, either(web.serves("web:1", 4), web.serves("web:2", 4)),
		web.spec("the strategy that it had", func(d *appsv1.Deployment) bool {
			return !d.Spec.Paused && d.Spec.Strategy.Type == appsv1.RollingUpdateDeploymentStrategyType
		}))
}

func (w *world) deleteDeployment() error {
	return w.Delete(w.Context(), w.mine(named[appsv1.Deployment]("web")), client.PropagationPolicy(metav1.DeletePropagationBackground))
}

func (w *world) replaceDeployment() error {
	if err := w.deleteDeployment(); err != nil {
		return err
	}
	return w.Create(w.Context(), w.mine(deployment(4, rolling(2, 1))))
}

func (w *world) deleteNamespace() error {
	_, err := w.tryKubectl("", "delete", "namespace", w.namespace, "--wait=false")
	return err
}

// emptied wants nothing left in the namespace.
func emptied(s *scene) error {
	if n := len(s.releases) + len(s.deployments) + len(s.gates) + len(s.kept) + len(s.sets) + len(s.pods); n > 0 {
		return fmt.Errorf("want everything in the namespace gone, %d objects are left", n)
	}
	return nil
}

// mine puts an object into the namespace of the journey.
func (w *world) mine(object client.Object) client.Object {
	object.SetNamespace(w.namespace)
	return object
}

// TestLeavesBeforeEachWrite: whether the release, the CRDs or the controller leaves, before any
// write of a release or after the last, no Deployment stays held, and no object stays behind.
func TestLeavesBeforeEachWrite(t *testing.T) {
	for name, d := range departures() {
		gone := excused(t, d.breaks...)
		for _, write := range moments(name, writesOfRelease) {
			t.Run(name+"/"+momentName(write, writesOfRelease), func(t *testing.T) {
				w := newWorld(t)
				w.share(gone)
				w.deployed(deployment(4, rolling(2, 1)))
				w.create(release("web:2", step("50%"), step("100%")))
				c := w.startControllerHalting(write)
				w.awaitConfirming(either(c.halt.reached, web.completed))
				if err := d.leave(w); err != nil {
					t.Fatal(err)
				}
				w.catchUp()
				c.halt.goOn()
				w.awaitConfirming(d.left)
			})
		}
	}
}
