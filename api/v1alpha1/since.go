package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StandsSince returns the time since which the release is in its state; zero if unknown. A stop, or
// a change after the end, began later than its step.
func (s *BatchReleaseStatus) StandsSince() metav1.Time {
	if found := meta.FindStatusCondition(s.Conditions, s.standsFor()); found != nil && found.Status == metav1.ConditionTrue {
		return found.LastTransitionTime
	}
	switch {
	case s.State == StateWaiting && s.Queued != nil:
		return s.Queued.Since
	case s.State == StatePausePoint && s.PausePoint != nil:
		return s.PausePoint.Since
	case s.LastUpdateTime != nil:
		return *s.LastUpdateTime
	default:
		return metav1.Time{}
	}
}

// standsFor returns the condition that explains why a release stands; Stalled if no other does.
func (s *BatchReleaseStatus) standsFor() string {
	switch stop := s.Stops(); {
	case s.StalledBy == StallWriteRefused:
		return ConditionStalled
	case stop == StopSuspended, stop == StopFrozen:
		return ConditionSuspended
	case stop == StopWorkloadChanged, stop == StopChangedPastGit, s.State.Differs():
		return ConditionDrifted
	default:
		return ConditionStalled
	}
}
