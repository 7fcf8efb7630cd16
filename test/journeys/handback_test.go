package journeys

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// handBackAll is sluice handback --all in the namespace of the journey. It returns what was said.
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

// halfway has a release of web:2 stop after half of four pods, and no controller any more.
func (w *world) halfway(change func(*v1alpha1.BatchRelease)) {
	w.Helper()
	c := w.startController()
	w.applied(deployment(4, rolling(2, 1)))
	r := release("web:2", step("50%"), step("100%"))
	if change != nil {
		change(r)
	}
	w.create(r)
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	c.kill()
}

// orphaned has the release gone, and the templates that were kept for it, with the hold still there.
func (w *world) orphaned() {
	w.Helper()
	w.halfway(nil)
	w.patchRelease(`{"metadata":{"finalizers":null}}`)
	w.kubectl("delete", "batchrelease", "web")
	w.await(func(s *scene) error {
		if len(s.releases)+len(s.kept) > 0 {
			return errors.New("want the release and its templates gone")
		}
		return nil
	})
}

// A Deployment that is held when there is no controller any more is handed back by the command, with the
// stable template unless it was meant to go on, and with nothing left behind; once.
func TestHandbackWithoutController(t *testing.T) {
	cases := map[string]struct {
		before  func(*world)
		options handback.Options
		image   string
		says    string
	}{
		"Release": {
			func(w *world) { w.halfway(nil) }, handback.Options{}, "web:1", "strategy RollingUpdate, not paused, back to the stable revision",
		},
		"Proceed": {func(w *world) { w.halfway(nil) }, handback.Options{Proceed: true}, "web:2", "with the template that it has"},
		"DeletionPolicyProceed": {
			func(w *world) {
				w.halfway(func(r *v1alpha1.BatchRelease) { r.Spec.DeletionPolicy = v1alpha1.DeletionProceed })
			}, handback.Options{}, "web:2", "with the template that it has",
		},
		"ReleaseGone": {(*world).orphaned, handback.Options{}, "web:1", "back to the stable revision"},
		"RollbackUnderWay": {
			func(w *world) {
				w.halfway(nil)
				w.patchRelease(`{"spec":{"rollback":{"steps":[{"replicas":3,"gates":[{"manual":{}}]},{"replicas":"100%"}]}}}`)
				w.rollBack()
				c := w.startController()
				w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
				c.kill()
			}, handback.Options{}, "web:1", "with the template that it has",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			tc.before(w)
			w.wantHandedBack(tc.options, tc.says)
			w.await(web.serves(tc.image, 4))
		})
	}
}

// The policy lets the command through, which gives a reason in the one write and takes it away again.
func TestHandbackPastThePolicy(t *testing.T) {
	for name, before := range map[string]func(*world){"Release": func(w *world) { w.halfway(nil) }, "ReleaseGone": (*world).orphaned} {
		t.Run(name, func(t *testing.T) {
			w := newGuardedWorld(t)
			before(w)
			w.wantHandedBack(handback.Options{}, "back to the stable revision")
			w.await(web.serves("web:1", 4))
			w.wantAudited("sluice handback")
		})
	}
}

// wantHandedBack wants the command to try, to hand back, and then to find nothing to do.
func (w *world) wantHandedBack(options handback.Options, says string) {
	w.Helper()
	if said := w.handBackAll(handback.Options{Proceed: options.Proceed, DryRun: true}); !strings.Contains(said, "web: would be handed back: ") {
		w.Errorf("a dry run says %q", said)
	}
	w.catchUp()
	if err := web.takenOver(w.now()); err != nil {
		w.Errorf("after a dry run: %v", err)
	}
	if said := w.handBackAll(options); !strings.Contains(said, "web: handed back: ") || !strings.Contains(said, says) {
		w.Errorf("the command says %q, want it to have %q", said, says)
	}
	w.catchUp() // by two writes
	s := w.await(web.handedBack)
	wantStrategy(w.T, s, deployment(4, rolling(2, 1)))
	if reason, found := s.deployments["web"].Annotations[v1alpha1.BreakGlassAnnotation]; found {
		w.Errorf("the annotation that broke the glass is still there: %q", reason)
	}
	if said := w.handBackAll(handback.Options{}); said != "nothing to do: no workload is held" {
		w.Errorf("a second run says %q", said)
	}
}

// A run that died between its two writes is finished by the next.
func TestHandbackIsFinished(t *testing.T) {
	w := newWorld(t)
	w.deployed(deployment(1, func(d *appsv1.Deployment) {
		d.Annotations = map[string]string{v1alpha1.BreakGlassAnnotation: "sluice handback"}
	}))
	if said := w.handBackAll(handback.Options{}); !strings.Contains(said, "handed back before") {
		t.Errorf("the command says %q", said)
	}
	w.await(web.spec("no annotation", func(d *appsv1.Deployment) bool { return d.Annotations[v1alpha1.BreakGlassAnnotation] == "" }))
}

// Sluice is uninstalled although its controller is gone: nothing waits for it, and no workload is held.
func TestUninstalledWithoutController(t *testing.T) {
	w := newWorld(t)
	w.halfway(nil)
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
	s := w.await(all(web.handedBack, web.serves("web:1", 4), nothingOfOurs))
	wantStrategy(t, s, deployment(4, rolling(2, 1)))
}

// nothingOfOurs wants nothing left that Sluice has made.
func nothingOfOurs(s *scene) error {
	if n := len(s.releases) + len(s.gates) + len(s.kept); n > 0 {
		return fmt.Errorf("want no release, gate or template left, have %d", n)
	}
	return nil
}

// The controller that comes back takes over what it had, and waits for somebody to say so.
func TestControllerAfterHandback(t *testing.T) {
	w := newWorld(t)
	w.halfway(nil)
	if said := w.handBackAll(handback.Options{}); !strings.Contains(said, "takes the Deployment over again") {
		t.Errorf("the command says %q", said)
	}
	w.await(all(web.handedBack, web.serves("web:1", 4)))
	w.excuses(withinStep) // the gate is older than this take-over
	w.startController()
	w.await(web.drifted(v1alpha1.ReasonWorkloadUnpaused))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
}
