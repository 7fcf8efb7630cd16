package plan

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestCommitTimeIsRecorded: the recorded time of a commit is bounded, because every writer of a
// BatchRelease may claim any time.
func TestCommitTimeIsRecorded(t *testing.T) {
	t.Parallel()
	for claim, want := range map[string]string{
		"2026-03-02T11:00:00Z": "2026-03-02T11:00:00Z",
		"2036-03-02T11:00:00Z": "2026-03-02T12:00:00Z",
		"1984-03-02T11:00:00Z": "",
		"at noon":              "",
	} {
		scene := held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3").but(from("c3", "Cid", "Three")).but(func(o *Observation) {
			o.Release.Annotations[v1alpha1.CommitTimeAnnotation] = claim
			o.Release.Status.CommitTime = &metav1.Time{Time: noon.Add(-tenMinutes)}
		})
		status, got := next(t, scene).Status, ""
		if status.CommitTime != nil {
			got = status.CommitTime.Format(time.RFC3339)
		}
		if got != want || status.Commit != "c3" {
			t.Errorf("commit time %q: got %q of commit %q, want %q of c3", claim, got, status.Commit, want)
		}
	}
}
