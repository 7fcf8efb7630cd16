package journeys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// drifted wants the release to report an external change.
func (name subject) drifted(reason string) check {
	return name.status("condition Drifted with reason "+reason, func(status *v1alpha1.BatchReleaseStatus) bool {
		drifted := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionDrifted)
		return drifted != nil && drifted.Reason == reason
	})
}

// acknowledge resumes a release whose workload was put back, once each time.
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

// past is an external change of a held workload, where no policy forbids it, and the reported
// reason.
type past struct {
	kind, name string
	stdin      string
	args       []string
	reason     string
}

// pasts returns changes of each kind: by kubectl, by another tool, and of template and strategy at
// once.
func pasts() []past {
	setImage := func(kind string) []string {
		return []string{"set", "image", kind + "/web", "web=web:9", "--field-manager", "meddler"}
	}
	patched := func(kind, text string) []string { return []string{"patch", kind, "web", "-p", text} }
	return []past{
		{"Deployment", "SetImage", "", setImage("deployment"), v1alpha1.ReasonTemplateChanged},
		{"Deployment", "Replace", manifestOf(deployment(4, rolling(1, 1))), []string{"replace", "-f", "-"}, v1alpha1.ReasonWorkloadUnpaused},
		{"Deployment", "BadHold", "", patched("deployment", `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":"{"}}}`), v1alpha1.ReasonHoldRemoved},
		{"StatefulSet", "Undo", "", []string{"rollout", "undo", "statefulset/web"}, v1alpha1.ReasonTemplateChanged},
		{"StatefulSet", "Partition", "", patched("statefulset", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`), v1alpha1.ReasonStrategyChanged},
		{"StatefulSet", "Both", "", patched("statefulset", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}},`+webOf("web:9")+`}}`), v1alpha1.ReasonStrategyChanged},
		{"DaemonSet", "SetImage", "", setImage("daemonset"), v1alpha1.ReasonTemplateChanged},
		{"DaemonSet", "Strategy", "", patched("daemonset", `{"spec":{"updateStrategy":{"type":"RollingUpdate"}}}`), v1alpha1.ReasonStrategyChanged},
		{"DaemonSet", "Both", "", patched("daemonset", `{"spec":{"updateStrategy":{"type":"RollingUpdate"},`+webOf("web:9")+`}}`), v1alpha1.ReasonStrategyChanged},
	}
}

// TestMeddling: an external change of a held workload is put back at once and reported. The release
// waits until a person acknowledges it; a rollback does not wait. The two take turns, unless it is
// with -every-moment: the same is put back after each change.
func TestMeddling(t *testing.T) {
	ends := []struct {
		name string
		goOn func(*world)
		end  check
	}{
		{"Acknowledged", func(*world) {}, all(web.completed, web.serves("web:2", 4))},
		{"RolledBack", (*world).rollBack, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4))},
	}
	t.Parallel()
	for i, change := range pasts() {
		for j, end := range ends {
			if *everyMoment || i%len(ends) == j {
				t.Run(change.kind+"/"+change.name+"/"+end.name, func(t *testing.T) {
					meddled(newWorld(t), workloadKinds()[change.kind], change, end.goOn, end.end)
				})
			}
		}
	}
}

// meddled changes a workload with half of its pods updated, and lets the release go on. The native
// controller may delete and make pods until the workload is put back.
func meddled(w *world, p workloadKind, change past, goOn func(*world), end check) {
	workload := p.atHalf(w, 4)
	w.excuses()
	w.excuse.races = append([]law{withinStep, heldPaused, heldShut}, putBackLate...)
	cptest.Eventually(w, soon, func() error { // kubectl replace writes the version that it read before
		_, err := w.tryKubectl(change.stdin, change.args...)
		return err
	})
	s := w.await(all(web.drifted(change.reason), web.reason(v1alpha1.ReasonDrifted)))
	if said := drift(s); slices.Contains(change.args, "meddler") && !strings.Contains(said, "changed by meddler at 20") {
		w.Errorf("the condition says %q, want it to name the meddler", said)
	}
	w.await(all(web.drifted(change.reason), p.shut, standsAtHalf))
	w.Logf("least pods that served: %d of 4; %s", w.findings(web).leastReady, drift(s))
	goOn(w)
	w.wantUntouched(workload, end)
	w.await(web.withoutCondition(v1alpha1.ConditionDrifted))
}

// standsAtHalf wants the pods that are due, all ready, of which no more are updated than were
// approved. Any number may be in a DaemonSet, whose native controller makes no old pod again.
func standsAtHalf(s *scene) error {
	workload := s.workload("web")
	have := s.podsOf(workload)
	all := 0
	for _, n := range have {
		all += n
	}
	if have["web:2"] > 2 && s.daemon() == nil || all < 4 {
		return fmt.Errorf("want four pods, of which at most two run web:2, have %v", have)
	}
	if ready := s.readyPods(workload); int(ready) != all {
		return fmt.Errorf("want all %d pods ready, have %d", all, ready)
	}
	return nil
}

func drift(s *scene) string {
	return meta.FindStatusCondition(s.releases["web"].Status.Conditions, v1alpha1.ConditionDrifted).Message
}
