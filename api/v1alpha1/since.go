package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// StandsSince is since when a release stands as it does; zero where that is not known. What stops it, or has changed since its
// end, began later than its step.
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

// standsFor is the condition that says why a release stands; Stalled if no other does.
func (s *BatchReleaseStatus) standsFor() string {
	switch stop := s.Stops(); {
	case s.StalledBy == StallWriteRefused:
		return ConditionStalled
	case stop == StopSuspended, stop == StopFrozen:
		return ConditionSuspended
	case stop == StopWorkloadChanged, stop == StopChangedPastGit, s.State == StateDrifted, s.State == StateChangedPastGit:
		return ConditionDrifted
	default:
		return ConditionStalled
	}
}
