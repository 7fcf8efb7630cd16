package journeys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// handBackAll runs sluice handback --all in the namespace of the journey, and returns its output.
func (w *world) handBackAll(options handback.Options) string {
	w.Helper()
	c := cptest.Client(w)
	options.Namespace = w.namespace
	var said []string
	if err := handback.New(c, clock.RealClock{}, options, func(line string) { said = append(said, line) }).Run(w.Context()); err != nil {
		w.Fatalf("hand back: %v", err)
	}
	return strings.Join(said, "\n")
}

// heldAt is a place in a release at which its controller has died.
type heldAt struct {
	name string
	// reach brings a release there, and returns what the pods need to go on after the hand-back.
	reach   func(*world, workloadKind) (before client.Object, after func())
	options handback.Options
	// image is the version that all pods run in the end.
	image string
	// kinds has the kinds of which the place is tried, all if it is empty.
	kinds []string
}

func atGate(w *world, p workloadKind) (client.Object, func()) { return p.halfway(w), nil }

// releaseGone has the release deleted without its controller, and with it the templates kept for
// it.
func releaseGone(w *world, p workloadKind) (client.Object, func()) {
	before := p.halfway(w)
	w.patchRelease(`{"metadata":{"finalizers":null}}`)
	w.kubectl("delete", "batchrelease", "web")
	w.await(func(s *scene) error {
		if len(s.releases)+len(s.kept) > 0 {
			return errors.New("want the release and its templates gone")
		}
		return nil
	})
	return before, nil
}

// inBatch stops while the pods of a batch go.
func inBatch(w *world, p workloadKind) (client.Object, func()) {
	before := p.begin(w, 4)
	letGo := w.hang("web:1")
	c := w.startController()
	w.create(p.to(w, step("50%"), step("100%")))
	w.await(goingPod("web:1"))
	c.kill()
	return before, letGo
}

// goingPod wants a pod of an image to be going.
func goingPod(image string) check {
	return func(s *scene) error {
		for _, pod := range s.pods {
			if pod.DeletionTimestamp != nil && pod.Spec.Containers[0].Image == image {
				return nil
			}
		}
		return fmt.Errorf("want a pod of %s that goes", image)
	}
}

// inRollback stops while the pods of the new version go.
func inRollback(w *world, p workloadKind) (client.Object, func()) {
	before := p.halfway(w)
	letGo := w.hang("web:2")
	w.rollBack()
	c := w.startController()
	w.await(goingPod("web:2"))
	c.kill()
	return before, letGo
}

// emptiedAtGate stops after the workload has lost all of its places.
func emptiedAtGate(w *world, p workloadKind) (client.Object, func()) {
	before := p.halfway(w)
	w.empty(before)
	c := w.startController()
	w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`)
	w.await(all(web.observed, web.runs(pods{})))
	c.kill()
	return before, func() { w.fill(before) }
}

// TestHandbackWithoutController: the command hands a held workload back where no controller is
// left. It gives the stable template back unless the release was to proceed, and finds nothing to
// do afterwards.
func TestHandbackWithoutController(t *testing.T) {
	t.Parallel()
	inPlace := []string{"StatefulSet", "DaemonSet"}
	for _, at := range []heldAt{
		{"AtGate", atGate, handback.Options{}, "web:1", nil},
		{"Proceed", atGate, handback.Options{Proceed: true}, "web:2", []string{"StatefulSet"}},
		{"ReleaseGone", releaseGone, handback.Options{}, "web:1", []string{"Deployment", "DaemonSet"}},
		{"InBatch", inBatch, handback.Options{}, "web:1", []string{"OrderedReady", "DaemonSet"}},
		{"InRollback", inRollback, handback.Options{}, "web:1", []string{"OrderedReady", "DaemonSet"}},
		{"Emptied", emptiedAtGate, handback.Options{}, "web:1", inPlace},
	} {
		for kind, p := range workloadKinds() {
			if at.kinds != nil && !slices.Contains(at.kinds, kind) || at.kinds == nil && kind == "OrderedReady" {
				continue
			}
			t.Run(kind+"/"+at.name, func(t *testing.T) { handsBack(newWorld(t), p, at) })
		}
	}
}

// handsBack runs the command with the policies in place where the release is gone: the annotation
// alone has the template then, and the command gives a reason in the one write.
func handsBack(w *world, p workloadKind, at heldAt) {
	w.judged = nil // the native controller acts freely afterwards
	guarded := at.name == "ReleaseGone"
	if guarded {
		w.guardWorkloads()
	}
	before, after := at.reach(w, p)
	if said := w.handBackAll(handback.Options{Proceed: at.options.Proceed, DryRun: true}); !strings.Contains(said, "web: would be handed back: ") {
		w.Errorf("a dry run says %q", said)
	}
	w.catchUp()
	if err := web.takenOver(w.now()); err != nil {
		w.Errorf("after a dry run: %v", err)
	}
	if said := w.handBackAll(at.options); !strings.Contains(said, "web: handed back: ") {
		w.Errorf("the command says %q", said)
	}
	w.catchUp()
	s := w.await(func(s *scene) error {
		if held(s.workload("web")) {
			return errors.New("want the workload handed back")
		}
		return nil
	})
	wantOwnStrategy(w.T, s, before)
	if reason, found := s.workload("web").GetAnnotations()[v1alpha1.BreakGlassAnnotation]; found {
		w.Errorf("the annotation that broke the glass is still there: %q", reason)
	}
	if after != nil {
		after()
	}
	w.await(all(web.handedBack, web.serves(at.image, 4), seenNatively))
	if said := w.handBackAll(handback.Options{}); said != "nothing to do: no workload is held" {
		w.Errorf("a second run says %q", said)
	}
	if guarded && p.kind == "Deployment" {
		w.wantAudited("sluice handback")
	}
}

// empty takes all pods of a workload away, and fill has it have four again.
func (w *world) empty(workload client.Object) {
	w.Helper()
	if _, is := workload.(*appsv1.StatefulSet); is {
		w.resizeSet(0)
	} else {
		w.eachNode("taint", "away=true:NoExecute")
	}
	w.await(web.runs(pods{}))
}

func (w *world) fill(workload client.Object) {
	w.Helper()
	if _, is := workload.(*appsv1.StatefulSet); is {
		w.resizeSet(4)
	} else {
		w.eachNode("taint", "away-")
	}
}

func (w *world) eachNode(verb, what string) {
	w.Helper()
	for i := range 4 {
		w.kubectl(verb, "node", fmt.Sprintf("%s-%d", w.namespace, i), what)
	}
}

// TestUninstalledWithoutController: Sluice is uninstalled without its controller. Nothing waits for
// it, and no workload is held.
func TestUninstalledWithoutController(t *testing.T) {
	w := newWorld(t)
	before := workloadKinds()["Deployment"].halfway(w)
	w.kubectl("delete", "batchrelease", "web", "--wait=false")
	w.await(func(s *scene) error {
		if r := s.releases["web"]; r == nil || r.DeletionTimestamp == nil {
			return errors.New("want the release to wait for its finalizer")
		}
		return nil
	})
	if said := w.handBackAll(handback.Options{RemoveFinalizers: true}); !strings.Contains(said, "finalizers taken off its BatchRelease") {
		t.Errorf("the command says %q", said)
	}
	wantOwnStrategy(t, w.await(all(web.handedBack, web.serves("web:1", 4), nothingOfOurs)), before)
}

// nothingOfOurs wants nothing left that Sluice has made.
func nothingOfOurs(s *scene) error {
	if n := len(s.releases) + len(s.gates) + len(s.kept); n > 0 {
		return fmt.Errorf("want no release, gate or template left, have %d", n)
	}
	return nil
}

// TestControllerAfterHandback: a controller that comes back takes the workload over again, and
// waits until a person acknowledges that.
func TestControllerAfterHandback(t *testing.T) {
	w := newWorld(t)
	workloadKinds()["Deployment"].halfway(w)
	if said := w.handBackAll(handback.Options{}); !strings.Contains(said, "takes the Deployment over again") {
		t.Errorf("the command says %q", said)
	}
	w.await(all(web.handedBack, web.serves("web:1", 4)))
	w.excuses(withinStep) // the gate is older than this take-over
	w.startController()
	w.await(web.drifted(v1alpha1.ReasonWorkloadUnpaused))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
}
