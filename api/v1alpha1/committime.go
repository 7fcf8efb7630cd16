package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// firstCommit is the beginning of Git: no honest commit is older.
var firstCommit = time.Date(2005, time.April, 7, 0, 0, 0, 0, time.UTC)

// CommitTime returns the time of a commit, to the second, as its committer claims; nil if it is
// before the first release of Git. A claimed time in the future counts as now.
func CommitTime(claimed, now time.Time) *metav1.Time {
	if claimed.Before(firstCommit) {
		return nil
	}
	if claimed.After(now) {
		claimed = now
	}
	return new(metav1.NewTime(claimed.UTC().Truncate(time.Second)))
}

// ParseCommitTime returns the CommitTime of the text of an annotation.
func ParseCommitTime(annotation string, now time.Time) *metav1.Time {
	claimed, err := time.Parse(time.RFC3339, annotation)
	if err != nil {
		return nil
	}
	return CommitTime(claimed, now)
}
