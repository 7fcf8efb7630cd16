package plan

import (
	"strings"
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

// TestReferenceIsRecorded: the commit that a commit was made from goes into the status with it, and
// into the history after it. A claim that can't be read is none.
func TestReferenceIsRecorded(t *testing.T) {
	t.Parallel()
	whole := &v1alpha1.ReferenceCommit{SHA: "abc1234", Author: "Ann", Subject: "Fix", Time: "2026-03-02T11:00:00Z"}
	for claim, want := range map[string]string{whole.Text(): "abc1234", "": "", "abc1234": "", `{"author":"Ann"}`: "", `{"sha":"` + strings.Repeat("a", 5000) + `"}`: ""} {
		scene := held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3").but(from("c3", "Cid", "Three")).but(func(o *Observation) {
			o.Release.Annotations[v1alpha1.ReferenceAnnotation] = claim
			o.Release.Status.CommitReference = &v1alpha1.ReferenceCommit{SHA: "before"}
		})
		status, got := next(t, scene).Status, ""
		if status.CommitReference != nil {
			got = status.CommitReference.SHA
		}
		if got != want || status.Commit != "c3" {
			t.Errorf("%.100s: got %q of commit %q, want %q of c3", claim, got, status.Commit, want)
		}
	}
	s := held(10).but(from("c2", "Ann", "Two")).but(func(o *Observation) { o.Release.Annotations[v1alpha1.ReferenceAnnotation] = whole.Text() })
	if got := origin(s.look(), "c2").Reference; got != whole.Text() {
		t.Errorf("want it in the history, got %q", got)
	}
}

// TestClaimIsRecorded: the commit of a template that was copied from the workload goes into the
// history as a claim, also if the release follows no more, and that of Git's next one does not.
func TestClaimIsRecorded(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		follow v1alpha1.FollowPolicy
		copied string
		want   bool
	}{
		"followed":    {v1alpha1.FollowWorkload, "another", true},
		"mid-release": {"", held(10).look().record.Resolved.Digest, true},
		"Git's":       {"", "", false},
		"Git's next":  {"", "another", false},
	} {
		s := held(10).but(from("c2", "Ann", "Two")).but(func(o *Observation) {
			o.Release.Spec.Follow, o.Release.Status.Commit = tc.follow, "c2"
			o.Release.Annotations[v1alpha1.FollowedAnnotation] = tc.copied
		})
		if got := releasedRecord(s.look()); got.Claimed != tc.want || got.Commit != "c2" {
			t.Errorf("%s: got %+v, want commit c2, claimed: %t", name, got, tc.want)
		}
	}
}
