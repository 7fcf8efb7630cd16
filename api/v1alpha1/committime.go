package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// firstCommit is when Git began: no honest commit is older.
var firstCommit = time.Date(2005, time.April, 7, 0, 0, 0, 0, time.UTC)

// CommitTime is when a commit was made, to the second, as its committer claims; nil where that can't be. Anybody can claim any
// time: one that is to come counts as now.
func CommitTime(claimed, now time.Time) *metav1.Time {
	if claimed.Before(firstCommit) {
		return nil
	}
	if claimed.After(now) {
		claimed = now
	}
	return new(metav1.NewTime(claimed.UTC().Truncate(time.Second)))
}

// ParseCommitTime is CommitTime of the text of an annotation.
func ParseCommitTime(annotation string, now time.Time) *metav1.Time {
	claimed, err := time.Parse(time.RFC3339, annotation)
	if err != nil {
		return nil
	}
	return CommitTime(claimed, now)
}
