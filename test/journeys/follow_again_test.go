package journeys

import (
	"errors"
	"testing"

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
