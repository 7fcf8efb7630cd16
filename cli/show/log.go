package show

import (
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// CauseWords returns why a release stops, as people say it.
func CauseWords(cause v1alpha1.StopCause) string {
	switch cause {
	case v1alpha1.StopSuspended:
		return "paused"
	case v1alpha1.StopFrozen:
		return "frozen"
	case v1alpha1.StopWorkloadChanged:
		return "changed workload"
	case v1alpha1.StopChangedPastGit:
		return "changed without Git"
	case v1alpha1.StopInvalidStrategy:
		return "invalid strategy"
	case v1alpha1.StopTrainReturns:
		return "its train returns"
	case v1alpha1.StopTooManyMembers:
		return "too many members"
	case v1alpha1.StopGuardRejected:
		return "rejected by a guard"
	default:
		return string(cause)
	}
}

// Log returns what happened to a release beside what its history has, one line for each, the oldest
// first.
func Log(release *v1alpha1.BatchRelease, now time.Time) []string {
	var lines []string
	for i := range release.Status.Log {
		one := &release.Status.Log[i]
		words := string(one.Type)
		switch one.Type {
		case v1alpha1.LogStopped:
			words = "Stopped: " + CauseWords(one.Cause)
		case v1alpha1.LogResumed:
			words = "Resumed: no longer " + CauseWords(one.Cause)
		case v1alpha1.LogSuperseded:
			continue // the table has it
		case v1alpha1.LogRollbackStarted:
			words = "Rollback to revision " + one.Revision + " began"
		case v1alpha1.LogRetried:
		}
		if one.By != "" {
			words += ", by " + one.By
		}
		if one.Message != "" {
			words += ": " + one.Message
		}
		lines = append(lines, line(fmt.Sprintf("%s ago %s", since(one.Time, now), strings.TrimSpace(words))))
	}
	return lines
}
