package journeys

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// nextFrom brings the release another image by a commit.
func (p inPlace) nextFrom(w *world, image, commit string) {
	w.Helper()
	w.patchRelease(fmt.Sprintf(`{"metadata":{"annotations":%s},"spec":{"template":%s}}`,
		encode(fromCommit(commit, "Ada", image)), encode(p.template(w, image, nil))))
}

// The history has who brought each template and who let it through, and any can be gone back to by its commit. What somebody changes at
// rest is reverted in steps where the release says so. A restart is no drift.
func TestInPlaceHistoryAndDrift(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
		before := p.served(w, 4)
		r := p.to(w, step(1), step("100%"))
		r.Annotations = fromCommit(secondCommit, "Ada", "web:2")
		w.create(r)
		w.approveAs("grace", w.await(web.blocksAt(0)))
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
		p.nextFrom(w, "web:3", thirdCommit)
		w.wantUntouched(before, all(web.attempt(2), web.completed, web.serves("web:3", 4)))
		w.wantHistory("web:1 Adopted <none> <none> <none>", "web:2 Released "+secondCommit+" web:2 grace",
			"web:3 Released "+thirdCommit+" web:3 <none>")
		w.kubectl("annotate", "batchrelease", "web", "rollback="+secondCommit[:10])
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerAnnotation, secondCommit[:10]), web.serves("web:2", 4)))

		w.patchRelease(`{"spec":{"drift":"Revert"}}`)
		w.kubectl("set", "image", strings.ToLower(p.kind)+"/web", "web=web:9")
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerDrift, "web:2 -> web:9"), web.serves("web:2", 4)))
		released := w.now().uids()
		w.kubectl("rollout", "restart", strings.ToLower(p.kind), "web")
		w.await(all(web.serves("web:2", 4), seenInPlace, noneOf(released), web.withoutCondition(v1alpha1.ConditionDrifted)))
	})
}

// noneOf wants none of these pods to be there any more.
func noneOf(uids map[string]string) check {
	return func(s *scene) error {
		for _, uid := range uids {
			for _, pod := range s.pods {
				if string(pod.UID) == uid {
					return fmt.Errorf("want another pod than %s", pod.Name)
				}
			}
		}
		return nil
	}
}

// A gate that is rejected, and a version that makes no progress, turn a release round where it says so.
func TestInPlaceTurnsRound(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
		before := p.served(w, 4)
		turning := manual()
		turning.OnReject = v1alpha1.RejectRollback
		r := p.to(w, step("50%", turning), step("100%"))
		r.Spec.Strategy.OnFailure = v1alpha1.FailureRollback
		w.create(r)
		gates := w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2}))).releases["web"].Status.Gates
		w.kubectl("patch", "gate", gates[0].Name, "--type=merge", "--subresource=status", "-p",
			`{"status":{"decision":"Rejected","message":"too slow"}}`)
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerGateRejected, "too slow"), web.quarantined, web.serves("web:1", 4)))

		w.release(p.template(w, "web:3", behaving(controlplane.CrashLoop)))
		w.await(podShows(crashed))
		w.patchRelease(`{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
		w.await(web.status("a rollback", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Attempt > 3 }))
		w.bePatient()
		w.wantUntouched(before, all(web.rolledBack(v1alpha1.TriggerDeadline, "no progress"), web.quarantined, web.serves("web:1", 4)))
		if least := w.findings(web).leastReady; least < 2 {
			t.Errorf("%d pods served at least, want 2 of 4", least)
		}
	})
}

// A take-over, or the deletion of a pod, that a policy of the cluster refuses is told with who refuses it, and changes nothing. When it
// is taken the release goes on.
func TestInPlaceRefused(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
		before := p.served(w, 4)
		allow := w.denied(strings.ToLower(p.kind)+"s", "UPDATE", "oldObject.spec.updateStrategy == object.spec.updateStrategy", func() error {
			workload, _ := before.DeepCopyObject().(client.Object)
			return w.Patch(w.Context(), workload, mergePatch(`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`), client.DryRunAll)
		})
		w.create(p.to(w, step("50%"), step("100%")))
		w.await(all(web.refused("take over the workload", "cost centre"), web.handedBack, web.serves("web:1", 4)))
		allow()
		letGo := w.deniedPods("web:1")
		w.kubectl("annotate", "batchrelease", "web", "retry=true")
		w.await(all(web.refused("delete pods", "cost centre"), web.takenOver, web.runs(pods{"web:1": 4})))
		w.awaitEvent(v1alpha1.ReasonWriteRefused, "cost centre")
		letGo()
		w.kubectl("annotate", "batchrelease", "web", "--overwrite", "retry=true")
		w.await(all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": 2, "web:2": 2})))
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
	})
}

// denied has nobody change workloads unless an expression holds, until what it returns is called.
func (w *world) denied(plural, operations, unless string, try func() error) (end func()) {
	w.Helper()
	end = w.ruled("Validating", plural, operations, fmt.Sprintf(deny, unless, plural))
	w.awaitRule(func() error {
		if err := try(); err == nil || !strings.Contains(err.Error(), "cost centre") {
			return errors.Join(errors.New("want a write refused"), err)
		}
		return nil
	})
	return end
}

// deniedPods has nobody delete pods.
func (w *world) deniedPods(image string) (end func()) {
	w.Helper()
	pod := named[corev1.Pod](w.podOf(image))
	pod.Namespace = w.namespace
	return w.denied("pods", "DELETE", "false", func() error { return w.Delete(w.Context(), pod.DeepCopy(), client.DryRunAll) })
}

// A DaemonSet pauses before the pod with a pause point, in the order that the release says, until it is confirmed or taken away.
func TestDaemonSetPausePoints(t *testing.T) {
	w := newWorld(t)
	w.ownNodes(4)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 4)
	old := w.now().oldPods(byName)
	for _, place := range []int{1, 3} {
		w.kubectl("annotate", "pod", old[place].Name, v1alpha1.PausePointAnnotation+"=true")
	}
	r := w.toDaemon(step("100%"))
	r.Spec.Strategy.Order = []v1alpha1.OrderKey{{Name: v1alpha1.Ascending}}
	w.create(r)
	w.await(holdsBefore(old, 1))
	w.confirmPausePoint(old[1])
	w.await(holdsBefore(old, 3))
	w.takePausePoint(old[3])
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 4)))
}
