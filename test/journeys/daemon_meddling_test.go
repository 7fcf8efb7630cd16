package journeys

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// releaseOnNodes brings the release "web" a new image on the journey's own nodes.
func (w *world) releaseOnNodes(image string) {
	w.Helper()
	w.release(w.onEachOwnNode(image, nil))
}

// halfOfNodes has a release of web:2 stop after half of four nodes.
func (w *world) halfOfNodes() *appsv1.DaemonSet {
	w.Helper()
	w.ownNodes(4)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 4)
	w.create(w.toDaemon(step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), onDelete, web.runs(pods{"web:1": 2, "web:2": 2}), seenInPlace))
	return d
}

// A new template in mid-release takes the place of the one that is released, with its gates.
func TestDaemonSetSuperseded(t *testing.T) {
	w := newWorld(t)
	d := w.halfOfNodes()
	w.releaseOnNodes("web:3")
	w.await(all(web.attempt(2), web.blocksAt(0), onDelete, web.runs(pods{"web:1": 2, "web:3": 2})))
	w.wantUntouched(d, all(web.completed, web.serves("web:3", 4)))
}

// A release that is deleted in mid-release takes its pods back, or has the native controller finish, as its policy says.
func TestDaemonSetReleaseDeleted(t *testing.T) {
	for policy, image := range map[v1alpha1.DeletionPolicy]string{v1alpha1.DeletionRevert: "web:1", v1alpha1.DeletionProceed: "web:2"} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.ownNodes(4)
			w.startController()
			d := w.daemonSet()
			w.placed(d, 4)
			r := w.toDaemon(step("50%"), step("100%"))
			r.Spec.DeletionPolicy = policy
			w.create(r)
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
			w.kubectl("delete", "batchrelease", "web")
			w.catchUp()
			w.wantUntouched(d, all(nothingOfOurs, web.serves(image, 4)))
		})
	}
}

// A new version that never serves stops at what maxUnavailable lets it take. It is rolled back, or superseded by one that serves.
func TestDaemonSetBrokenVersion(t *testing.T) {
	for _, behaviour := range []string{controlplane.NeverReady, controlplane.CrashLoop, controlplane.ImagePullFailure} {
		for name, c := range map[string]struct {
			mend func(*world)
			ends check
		}{
			"RolledBack": {
				func(w *world) { w.rollBack() },
				all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 5)),
			},
			"Superseded": {
				func(w *world) { w.releaseOnNodes("web:3") },
				all(web.completed, web.attempt(2), web.serves("web:3", 5)),
			},
		} {
			t.Run(behaviour+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				w.ownNodes(5)
				w.startController()
				d := w.daemonSet()
				w.placed(d, 5)
				w.create(releaseTo("DaemonSet", w.onEachOwnNode("web:2", behaving(behaviour)), step("60%"), step("100%")))
				w.await(all(brokenPod, web.runs(pods{"web:1": 3, "web:2": 2})))
				c.mend(w)
				w.wantUntouched(d, c.ends)
				if least := w.findings(web).leastReady; least < 3 {
					t.Errorf("%d pods served at least, want 3 of 5", least)
				}
			})
		}
	}
}

// daemonPasts are changes out of band of a DaemonSet that is held, with the reason that is reported.
func daemonPasts() map[string]past {
	patch := func(reason, text string) past {
		return past{args: []string{"patch", "daemonset", "web", "-p", text}, reason: reason}
	}
	return map[string]past{
		"SetImage": {args: []string{"set", "image", "daemonset/web", "web=web:9"}, reason: v1alpha1.ReasonTemplateChanged},
		"Annotate": {args: []string{"annotate", "daemonset", "web", "rollouts.sluice.dev/hold-"}, reason: v1alpha1.ReasonHoldRemoved},
		"Strategy": patch(v1alpha1.ReasonStrategyChanged, `{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`),
		"Both": patch(v1alpha1.ReasonStrategyChanged,
			`{"spec":{"updateStrategy":{"type":"RollingUpdate"},"template":{"spec":{"containers":[{"name":"web","image":"web:9"}]}}}}`),
		"BadHold": patch(v1alpha1.ReasonHoldRemoved, `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":"{"}}}`),
		"Undo":    {args: []string{"rollout", "undo", "daemonset/web"}, reason: v1alpha1.ReasonTemplateChanged},
	}
}

// Whatever somebody changes of a DaemonSet that is held is put back at once and reported, and the release waits until a person acknowledges
// it. A rollback waits for nobody.
func TestDaemonSetMeddling(t *testing.T) {
	meddledInPlace(t, daemonPasts(), onDelete, func(w *world) client.Object { return w.halfOfNodes() })
}

// Somebody's apply of a template with its strategy is put back in one write. A pod that was made of it goes with the next batch, once
// somebody has acknowledged that.
func TestDaemonSetForeignPodsGo(t *testing.T) {
	for name, patch := range map[string]string{
		"Template": `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:9"}]}}}}`,
		"Both": `{"spec":{"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":1}},` +
			`"template":{"spec":{"containers":[{"name":"web","image":"web:9"}]}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.ownNodes(4)
			c := w.startController()
			d := w.daemonSet()
			w.placed(d, 4)
			w.create(w.toDaemon(step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), onDelete, web.runs(pods{"web:1": 2, "web:2": 2}), seenInPlace))
			w.excuses() // what is lost is lost by whom has done it
			w.excuse.races = []law{withinStep, neverFewer, heldShut, enoughRun}
			c.kill()
			w.kubectl("patch", "daemonset", "web", "-p", patch)
			if name == "Template" {
				w.kubectl("delete", "pod", w.now().podsOwned(w.now().daemon())[0].Name)
			}
			w.await(all(hasPods(4), somePodOf("web:9"), seenInPlace))
			w.catchUp()
			before := w.now().daemon().Generation
			w.startController()
			w.await(all(web.reason(v1alpha1.ReasonDrifted), onDelete, hasPods(4), seenInPlace))
			w.catchUp()
			if after := w.now().daemon().Generation; after != before+1 {
				t.Errorf("it is put back in %d writes, want 1", after-before)
			}
			w.wantUntouched(d, all(web.completed, web.serves("web:2", 4)))
		})
	}
}

// somePodOf wants a pod to be of an image.
func somePodOf(image string) check {
	return func(s *scene) error {
		if noPodOf(image)(s) == nil {
			return fmt.Errorf("want a pod of %s", image)
		}
		return nil
	}
}

// noPodOf wants no pod to be of an image.
func noPodOf(image string) check {
	return func(s *scene) error {
		for _, pod := range s.pods {
			if pod.Spec.Containers[0].Image == image {
				return fmt.Errorf("want no pod of %s", image)
			}
		}
		return nil
	}
}
