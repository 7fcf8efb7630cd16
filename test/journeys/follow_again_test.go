package journeys

import (
	"errors"
	"fmt"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestFollowStopped: a release that no longer follows gives its workload the stable template, if
// another one waits there.
func TestFollowStopped(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.suspend(true)
		h.applies("web:2")
		h.await(web.status("to wait", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Queued != nil }))
		h.patchRelease(`{"spec":{"follow":null}}`)
		h.await(all(web.serves("web:1", 4), h.asInChart("web:1"), func(s *scene) error {
			if labelled(s) == nil {
				return errors.New("want no label")
			}
			return nil
		}))
		h.suspend(false)
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	})
}

// TestFollowAgain: a release that no longer follows reports what a tool applies as drift. When it
// follows again, it takes over the template that runs, and holds the next one.
func TestFollowAgain(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.patchRelease(`{"spec":{"follow":null}}`)
		h.await(func(s *scene) error {
			if _, copied := s.releases["web"].Annotations[v1alpha1.FollowedAnnotation]; copied || labelled(s) == nil {
				return errors.New("want neither the label nor a note of a copied template")
			}
			return nil
		})
		h.applies("web:2")
		h.await(all(web.reason(v1alpha1.ReasonDrifted), web.serves("web:2", 4)))
		h.patchRelease(`{"spec":{"follow":"Workload"}}`)
		h.await(all(labelled, web.completed, web.serves("web:2", 4), web.withoutCondition(v1alpha1.ConditionDrifted)))
		h.applies("web:3")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
	})
}

// TestFollowUnbound: a release whose policies go away in mid-release says so once Sluice has
// written its workload again, and goes on when they are back.
func TestFollowUnbound(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.applies("web:2")
		atGate := all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}))
		h.await(atGate)
		h.unbind()
		h.kubectl("set", "image", h.kind+"/web", "web=web:3")
		h.await(all(stalls("web", v1alpha1.ReasonUnguarded, "config/follow"), atGate))
		h.holdTemplates()
		h.await(all(atGate, notStalled))
		h.kubectl("set", "image", h.kind+"/web", "web=web:3")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:3": 1})))
	})
}

func notStalled(s *scene) error {
	stalled := meta.FindStatusCondition(s.releases["web"].Status.Conditions, v1alpha1.ConditionStalled)
	if stalled != nil && stalled.Status == metav1.ConditionTrue {
		return fmt.Errorf("want no stall, have %s: %s", stalled.Reason, stalled.Message)
	}
	return nil
}

// unbind removes the bindings of the policies about followed workloads, and waits until none acts.
func (h tool) unbind() {
	h.Helper()
	for _, policy := range []string{"followed", "own"} {
		binding := &admissionv1.MutatingAdmissionPolicyBinding{}
		binding.Name = h.namespace + "-" + policy
		if err := h.Delete(h.Context(), binding); err != nil {
			h.Fatalf("unbind %s: %v", policy, err)
		}
	}
	h.awaitHeld(false)
}
