package journeys

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// drifted wants the release to say what somebody has changed.
func (name subject) drifted(reason string) check {
	return name.status("condition Drifted with reason "+reason, func(status *v1alpha1.BatchReleaseStatus) bool {
		drifted := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDrifted)
		return drifted != nil && drifted.Reason == reason
	})
}

// acknowledge lets a release go on whose workload was put back, once for each time that it was.
func (w *world) acknowledge(s *scene) {
	w.Helper()
	release, workload := s.releases["web"], s.workload("web")
	if release == nil || workload == nil || release.Annotations[v1alpha1.RetryAnnotation] != "" ||
		!strings.Contains(workload.GetAnnotations()[v1alpha1.HoldAnnotation], `"meddling"`) {
		return
	}
	patch := mergePatch(`{"metadata":{"annotations":{"retry":"true"}}}`)
	if err := w.Patch(w.Context(), release.DeepCopy(), patch); err != nil {
		w.Errorf("acknowledge: %v", err)
	}
}

// past is what somebody does to a Deployment that is held, where no policy forbids it.
type past struct {
	stdin  string
	args   []string
	reason string
}

// pasts are changes out of band, with the reason that is reported.
func pasts() map[string]past {
	patch := func(reason, text string) past {
		return past{args: []string{"patch", "deployment", "web", "-p", text}, reason: reason}
	}
	original := manifestOf(deployment(4, rolling(2, 1)))
	serverSide := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"strategy":{"type":"RollingUpdate"}}}`
	return map[string]past{
		"Resume":    {args: []string{"rollout", "resume", "deployment", "web"}, reason: v1alpha1.ReasonWorkloadUnpaused},
		"SetImage":  {args: []string{"set", "image", "deployment/web", "web=web:9"}, reason: v1alpha1.ReasonTemplateChanged},
		"Annotate":  {args: []string{"annotate", "deployment", "web", "rollouts.sluice.dev/hold-"}, reason: v1alpha1.ReasonHoldRemoved},
		"Apply":     {stdin: original, args: []string{"apply", "-f", "-"}, reason: v1alpha1.ReasonStrategyChanged},
		"ApplySide": {stdin: serverSide, args: []string{"apply", "--server-side", "--force-conflicts", "-f", "-"}, reason: v1alpha1.ReasonStrategyChanged},
		"Replace":   {stdin: original, args: []string{"replace", "-f", "-"}, reason: v1alpha1.ReasonWorkloadUnpaused},
		"Template":  patch(v1alpha1.ReasonTemplateChanged, `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:9"}]}}}}`),
		"Strategy":  patch(v1alpha1.ReasonStrategyChanged, `{"spec":{"strategy":{"type":"RollingUpdate"}}}`),
		"Unpaused":  patch(v1alpha1.ReasonWorkloadUnpaused, `{"spec":{"paused":false,"strategy":{"type":"RollingUpdate"}}}`),
		"BadHold":   patch(v1alpha1.ReasonHoldRemoved, `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":"{"}}}`),
	}
}

// Whatever somebody changes of a Deployment that is held is put back at once and reported, the release waits until
// a person acknowledges it, and what they meant for later is kept. A rollback waits for nobody.
func TestMeddling(t *testing.T) {
	// What is lost is lost by whom has done it. A gate that was opened before the workload was held anew is no evidence here,
	// and pods that the native controller has taken away, or added, are put back.
	lost := excused(t, withinStep, heldPaused)
	lost.races = putBackLate
	for name, p := range pasts() {
		for end, goOn := range map[string]func(*world){
			"Acknowledged": func(w *world) { w.awaitConfirming(all(web.completed, web.serves("web:2", 4))) },
			"RolledBack": func(w *world) {
				w.rollBack()
				w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
			},
		} {
			t.Run(name+"/"+end, func(t *testing.T) {
				w := newWorld(t)
				w.startController()
				w.applied(deployment(4, rolling(2, 1)))
				before := w.now().deployments["web"]
				w.create(release("web:2", step("50%"), step("100%")))
				half := all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2}), allReady)
				w.await(half)
				w.share(lost)
				cptest.Eventually(t, soon, func() error { // kubectl replace writes what it has read a moment ago
					_, err := w.tryKubectl(p.stdin, p.args...)
					return err
				})
				w.await(all(web.drifted(p.reason), web.reason(v1alpha1.ReasonDrifted)))
				w.confirm("web")
				s := w.await(all(w.putBack(w.version()), web.drifted(p.reason), standsAtHalf, allReady))
				t.Logf("least pods that served: %d of 4; %s", w.findings(web).leastReady, drift(s))
				goOn(w)
				s = w.await(web.status("no condition Drifted", func(status *v1alpha1.BatchReleaseStatus) bool {
					return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDrifted) == nil
				}))
				wantStrategy(t, s, before)
			})
		}
	}
}

// standsAtHalf wants what is left of a batch of two of four pods, however somebody has disturbed it: all pods
// there that are due, and no more updated ones than were.
func standsAtHalf(s *scene) error {
	have := s.podsOf(s.deployments["web"])
	if have["web:2"] > 2 || have["web:1"]+have["web:2"] < 4 {
		return fmt.Errorf("want four pods, of which at most two run web:2, have %v", have)
	}
	return nil
}

func drift(s *scene) string {
	return meta.FindStatusCondition(s.releases["web"].Status.Conditions, v1alpha1.ConditionDrifted).Message
}

// Somebody who changes it over and over costs one write each time, and is reported once.
func TestMeddlingOverAndOver(t *testing.T) {
	const times = 20
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4, rolling(2, 1)))
	w.create(release("web:2", step("50%"), step("100%")))
	before := w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2}), allReady)).deployments["web"].Generation
	w.excuses()
	w.excuse.races = []law{neverFewer} // of pods that the native controller adds
	for range times {
		d := named[appsv1.Deployment]("web")
		d.Namespace = w.namespace
		if err := w.Patch(w.Context(), d, mergePatch(`{"spec":{"strategy":{"type":"RollingUpdate"}}}`)); err != nil {
			t.Fatal(err)
		}
		version := revisionOf(d)
		w.await(web.spec("the strategy put back", func(d *appsv1.Deployment) bool {
			return revisionOf(d) > version && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
		}))
	}
	s := w.await(all(web.drifted(v1alpha1.ReasonStrategyChanged), web.reason(v1alpha1.ReasonDrifted), allReady))
	// Of other writes there may be more: pods that the native controller has added go again.
	if specs := s.deployments["web"].Generation - before; specs != 2*times {
		t.Errorf("the spec has changed %d times, want %d: each change and one write that puts it back", specs, 2*times)
	}
	w.awaitEvent(v1alpha1.ReasonDrifted, "")
	if n := strings.Count(w.kubectl("get", "events", "--field-selector", "reason="+v1alpha1.ReasonDrifted), corev1.EventTypeWarning); n != 1 {
		t.Errorf("%d events, want one", n)
	}
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
}

// By whom, where the API server knows.
func TestMeddlerIsNamed(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(2))
	w.create(release("web:2", step(1), step("100%")))
	w.await(all(web.blocksAt(0), allReady))
	w.kubectl("set", "image", "deployment/web", "web=web:9", "--field-manager", "meddler")
	s := w.await(web.drifted(v1alpha1.ReasonTemplateChanged))
	if said := drift(s); !strings.Contains(said, "changed by meddler at 20") {
		t.Errorf("the condition says %q, want it to name the meddler", said)
	}
}
