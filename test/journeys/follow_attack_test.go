package journeys

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// loose has the fields of each kind that let its native controller roll.
var loose = map[string]string{
	"Deployment":  `"paused":false`,
	"StatefulSet": `"updateStrategy":{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`,
	"DaemonSet":   `"updateStrategy":{"type":"RollingUpdate"}`,
}

// withImage returns a patch with another image, which lets the native controller loose.
func (h tool) withImage(image string) string {
	return fmt.Sprintf(`{"spec":{%s,"template":{"spec":{"containers":[{"name":"web","image":%q}]}}}}`, loose[h.kind], image)
}

// patches patches the workload with kubectl.
func (h tool) patches(patch string, to ...string) {
	h.Helper()
	h.kubectl(append([]string{"patch", h.kind, "web", "--type=strategic", "-p", patch}, to...)...)
}

// contained wants the native controller kept from rolling.
func (h tool) contained(s *scene) error {
	w, err := workload.Of(s.workload("web").(kinds.Object))
	if err != nil {
		return err
	}
	if !hold.Mover(w).Native().Contained {
		return fmt.Errorf("want the native controller kept from rolling, have %s", rollingOf(w.Object()))
	}
	return nil
}

// TestFollowHoldForged: a hold that is forged at rest lets no template past the policy, nor past
// the controller.
func TestFollowHoldForged(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.controllers[0].kill()
		h.judged = nil // the native controller may roll what the forged hold says is held
		release := h.now().releases["web"]
		forged := plan.Hold{Release: "web", UID: release.UID, Stable: release.Status.StableRevision}
		forged.Strategy = `{"type":"RollingUpdate"}`
		h.forgeHold(h.kind, "", func(held *plan.Hold) { *held = forged })
		h.patches(h.withImage("web:2"))
		h.catchUp()
		h.await(all(web.serves("web:1", 4), h.contained))
		h.suspend(true)
		h.startController()
		h.await(web.observed)
		h.lookedAgain()
		h.await(web.serves("web:1", 4))
	})
}

// TestFollowLetGoAndApplied: a chart that Helm 4 applies after the release is deleted, or its
// workload handed back, meets no conflict.
func TestFollowLetGoAndApplied(t *testing.T) {
	for _, by := range []string{"deleted", "handed back"} {
		t.Run(by, func(t *testing.T) {
			onFollowed(t, func(h tool) {
				h.applies("web:2")
				h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
				if by == "deleted" {
					h.drop(named[v1alpha1.BatchRelease]("web"))
				} else {
					h.controllers[0].kill()
					h.handBackAll(handback.Options{})
				}
				h.await(web.serves("web:1", 4))
				h.applies("web:3")
				h.await(web.serves("web:3", 4))
			})
		})
	}
}

// TestFollowLabelAlone: a workload that has the label of no release keeps a new template waiting.
// The command sluice handback lets it go, and so does break-glass.
func TestFollowLabelAlone(t *testing.T) {
	for kind := range loose {
		for _, out := range []string{"sluice handback", "break-glass"} {
			t.Run(kind+"/"+out, func(t *testing.T) {
				w := newFollowingWorld(t)
				if kind == "DaemonSet" {
					w.ownNodes(4)
				}
				h := tool{w, kind, w.charts()[kind]}
				h.applies("web:1")
				w.await(web.serves("web:1", 4))
				h.patches(`{"metadata":{"labels":{"rollouts.sluice.dev/follow":"nobody"}}}`)
				h.applies("web:2")
				h.patches(`{"metadata":{"labels":{"rollouts.sluice.dev/follow":null}}}`)
				h.catchUp()
				w.await(all(web.serves("web:1", 4), labelledFor("nobody")))
				if out == "break-glass" {
					h.patches(`{"metadata":{"labels":{"rollouts.sluice.dev/follow":null},"annotations":{"rollouts.sluice.dev/break-glass":"no release"}},"spec":{` + loose[kind] + `}}`)
				} else if said := h.handBackAll(handback.Options{}); !strings.Contains(said, "no longer followed") {
					t.Errorf("want to be told, got %q", said)
				}
				w.await(all(web.serves("web:2", 4), labelledFor("")))
			})
		}
	}
}

func labelledFor(release string) check {
	return func(s *scene) error {
		if have := s.workload("web").GetLabels()[v1alpha1.FollowLabel]; have != release {
			return fmt.Errorf("want the label of %q, have that of %q", release, have)
		}
		return nil
	}
}

// TestFollowLabelEmpty: an empty label names no release, and holds nothing.
func TestFollowLabelEmpty(t *testing.T) {
	w := newFollowingWorld(t)
	h := tool{w, "Deployment", w.charts()["Deployment"]}
	h.applies("web:1")
	w.await(web.serves("web:1", 4))
	h.patches(`{"metadata":{"labels":{"rollouts.sluice.dev/follow":""}}}`)
	h.applies("web:2")
	w.await(web.serves("web:2", 4))
}

// TestFollowStatus: a write of the status changes no notes.
func TestFollowStatus(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.controllers[0].kill()
		h.applies("web:2")
		stripped := `{"metadata":{"labels":{"rollouts.sluice.dev/follow":null},"annotations":{"rollouts.sluice.dev/waiting":null,"rollouts.sluice.dev/guard":null}}}`
		h.patches(stripped, "--subresource=status")
		h.catchUp()
		h.await(all(labelled, func(s *scene) error {
			have := s.workload("web").GetAnnotations()
			if have[v1alpha1.WaitingAnnotation] == "" || have[v1alpha1.GuardAnnotation] != v1alpha1.Guarded {
				return errors.New("want the notes kept")
			}
			return nil
		}))
		h.patches(`{"spec":{` + loose[h.kind] + `}}`)
		h.catchUp()
		h.await(web.serves("web:1", 4))
	})
}

// TestFollowUndone: kubectl rollout undo and restart of a followed workload.
func TestFollowUndone(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.judged = nil // pods of a restart have the image of those before
		h.applies("web:2")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		h.confirm("web")
		h.await(all(web.completed, web.serves("web:2", 4)))
		h.kubectl("rollout", "restart", h.kind, "web")
		h.await(all(web.blocksAt(0), web.attempt(3)))
		h.confirm("web")
		h.await(all(web.completed, web.serves("web:2", 4), h.asInChart("web:2")))
		h.kubectl("rollout", "undo", h.kind, "web", "--to-revision=1")
		h.catchUp()
		h.await(all(web.completed, web.serves("web:1", 4), labelled, h.asInChart("web:1")))
	})
}

// TestFollowRecreated: a workload that is deleted and created again is followed again.
func TestFollowRecreated(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.applies("web:2")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		object := h.mine(h.chart("web:2"))
		if err := h.Delete(h.Context(), object, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
			t.Fatal(err)
		}
		h.applies("web:2")
		h.await(all(web.completed, web.serves("web:2", 4), labelled))
		h.applies("web:3")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
	})
}

// TestFollowGuardForged: where the policies of config/follow do not act, nobody claims that they do
// for a workload that is held.
func TestFollowGuardForged(t *testing.T) {
	w := newGuardedWorld(t)
	w.startController()
	w.placed(statefulSet(4), 4)
	w.create(toStateful(step(1), step("100%", none())))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	forged := `{"metadata":{"labels":{"rollouts.sluice.dev/follow":"web"},"annotations":{"rollouts.sluice.dev/guard":"policy"}}}`
	if _, err := w.tryKubectl("", "patch", "statefulset", "web", "--type=merge", "-p", forged); err == nil || !strings.Contains(err.Error(), v1alpha1.GuardAnnotation) {
		t.Errorf("want a forged guard refused, got %v", err)
	}
}
