package journeys

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A template that is given in a rollback, while a pod of an earlier version does not go and takes up the room of maxSurge, waits and
// says so; after the progress deadline an event says so, too. It is released once the pod is gone.
func TestANewTemplateWaitsForRoomAndSaysSo(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	for _, pod := range w.now().pods { // one of them
		w.edit(named[corev1.Pod](pod.Name), mergePatch(hangs), "kubectl-patch")
		defer w.letGo(pod.Name)
		break
	}
	r := release("web:2", step("100%"))
	r.Spec.Strategy.MaxSurge, r.Spec.Strategy.MaxUnavailable = share("2"), share("1")
	r.Spec.Strategy.PodReplacement = v1alpha1.ReplaceWhenTerminated
	w.create(r)
	s := w.await(all(web.completed, web.serves("web:2", 4), goingPod("web:1")))
	w.patchRelease(`{"spec":{"strategy":{"maxSurge":1,"maxUnavailable":0}}}`)
	w.rollBack()
	w.await(all(web.phase(v1alpha1.PhaseRollingBack), web.status("a step", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Entered() })))
	w.releaseImage("web:3")
	waits := all(web.reason(v1alpha1.ReasonAwaitingRoom), web.status("a template that awaits room", func(s *v1alpha1.BatchReleaseStatus) bool {
		return s.State == v1alpha1.StateWaiting && s.Queued != nil && s.Queued.Awaits == v1alpha1.AwaitedRoom
	}))
	w.await(all(waits, web.status("no stall", func(s *v1alpha1.BatchReleaseStatus) bool { return s.StalledBy == "" })))
	w.patchRelease(`{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
	w.await(all(waits, web.status("a stall", func(s *v1alpha1.BatchReleaseStatus) bool { return s.StalledBy == v1alpha1.StallDeadlineExceeded })))
	w.awaitEvent(v1alpha1.ReasonDeadlineExceeded, "other pods must be deleted first")
	w.bePatient()
	for _, pod := range s.pods {
		if pod.DeletionTimestamp != nil {
			w.letGo(pod.Name)
		}
	}
	w.await(all(web.completed, web.serves("web:3", 4)))
}
