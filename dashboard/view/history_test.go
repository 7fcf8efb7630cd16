package view

import (
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestAYoungHistory: figures are over the time that there is, at least a day, and a release that
// gave way after its check failed is a failure.
func TestAYoungHistory(t *testing.T) {
	t.Parallel()
	at := func(minutes int) time.Time { return now.Add(-time.Duration(minutes) * time.Minute) }
	revisions := []appsv1.ControllerRevision{kept(1, v1alpha1.OutcomeReleased, at(7), at(6), nil)}
	for i := range 9 {
		revisions = append(revisions, kept(i+2, v1alpha1.OutcomeReleased, at(5), at(5), nil))
	}
	left := SupersededOf([]*Row{{Namespace: "shop", Name: "web", log: []v1alpha1.LogEntry{
		{Type: v1alpha1.LogSuperseded, Time: metav1.NewTime(at(3)), State: v1alpha1.StateRejected, Images: []string{"nginx:1.29"}, Revision: "abc"},
		{Type: v1alpha1.LogSuperseded, Time: metav1.NewTime(at(2)), State: v1alpha1.StateBlocked, Revision: "def"},
		{Type: v1alpha1.LogStopped, Time: metav1.NewTime(at(1)), Cause: v1alpha1.StopSuspended},
	}}})
	h := HistoryOf(revisions, left, HistoryQuery{Days: 30}, now)
	if h.Frequency != "9.0" || h.Failures != "10%" || h.Total != 12 || h.Most != 10 {
		t.Errorf("want 9 releases in a day that has just begun, and one failure, got %+v", h)
	}
	if one := h.Entries[1]; one.Version != "1.29" || one.Mark != Bad || one.Outcome != "Superseded when Rejected" {
		t.Errorf("want what gave way with its version, and why, got %+v", one)
	}
	if old := HistoryOf(append(revisions, kept(20, v1alpha1.OutcomeAdopted, at(24*60*9), at(24*60*9), nil)), nil, HistoryQuery{Days: 30}, now); old.Frequency != "1.0" {
		t.Errorf("want 9 releases in the 9 days that are known, got %s a day", old.Frequency)
	}
}
