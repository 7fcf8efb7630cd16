package view

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// TestRefusedRows: a release whose newest commit is not applied needs attention, for those who may
// see its source; the rows of others stay.
func TestRefusedRows(t *testing.T) {
	t.Parallel()
	web := release("web", v1alpha1.PhaseCompleted)
	web.Labels = map[string]string{v1alpha1.SourceLabel: "main"}
	one, two := RowOf(release("api", v1alpha1.PhaseCompleted), now), RowOf(web, now)
	rows := []*Row{&one, &two}
	source := v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "main"}}
	source.Status.Refused = []string{"shop/web", "shop/api"}
	marked := WithRefused(rows, []v1alpha1.ReleaseSource{source})
	if first := marked[0]; first.Name != "web" || first.Standing != "Refused" || first.Mark != Bad || first.WaitsFor != show.WaitsForGit || first.Message == "" {
		t.Errorf("want web first, refused, got %+v", first)
	}
	if second := marked[1]; second.Name != "api" || second.Mark != Good {
		t.Errorf("want api, which is not the source's, as it was, got %+v", second)
	}
	if two.Standing != "Completed" || two.Mark != Good || rows[1] != &two {
		t.Errorf("want the rows of others as they were, got %+v", two)
	}
	if got := WithRefused(rows, nil); got[1].Standing != "Completed" {
		t.Errorf("want nothing told of a source that the viewer may not see, got %+v", got[1])
	}
}

// TestWhatToMergeIsFirst: the open pull request of the gate that the release is at, and of no
// other.
func TestWhatToMergeIsFirst(t *testing.T) {
	t.Parallel()
	pull := func(n string) *Link { return &Link{"pull request #" + n, "https://example.com/pull/" + n} }
	page := &Release{Batches: []Batch{
		{Gates: []Gate{{Mark: Waiting, Pull: pull("1")}}},
		{Current: true, Gates: []Gate{{Mark: Good, Pull: pull("2")}, {Mark: Waiting, Pull: &Link{Text: "pull request #3"}}, {Mark: Waiting, Pull: pull("4")}}},
	}}
	got := page.toMerge(&v1alpha1.BatchReleaseStatus{})
	if len(got) != 1 || got[0] != (Link{"Open pull request #4", "https://example.com/pull/4"}) {
		t.Errorf("got %+v", got)
	}
}

// TestTheTimelineHasTheLog: actions of people and others stay in the timeline, with the account.
func TestTheTimelineHasTheLog(t *testing.T) {
	t.Parallel()
	web := release("web", v1alpha1.PhaseRollingUpdate)
	then := func(minutes int) metav1.Time { return metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute)) }
	web.Status.Log = []v1alpha1.LogEntry{
		{Type: v1alpha1.LogSuperseded, Time: then(5), Revision: "abc", Images: []string{"nginx:1.29"}, Commit: "2222222222", State: v1alpha1.StateRejected, Batch: "1/3"},
		{Type: v1alpha1.LogStopped, Time: then(4), Cause: v1alpha1.StopSuspended, By: "ada"},
		{Type: v1alpha1.LogResumed, Time: then(3), Cause: v1alpha1.StopSuspended, By: "grace"},
		{Type: v1alpha1.LogStopped, Time: then(2), Cause: v1alpha1.StopWorkloadChanged, Message: "the workload was unpaused by kubectl"},
		{Type: v1alpha1.LogRetried, Time: then(1), By: "ada"},
		{Type: "Unheard", Time: then(0)},
	}
	var got []string
	for _, entry := range timelineOf(&show.Sight{Whole: &show.Whole{Release: web}}) {
		got = append(got, entry.What+"|"+entry.By+"|"+entry.Detail)
	}
	want := []string{
		"Retried|ada|",
		"Stopped: changed workload||the workload was unpaused by kubectl",
		"Resumed: no longer paused|grace|",
		"Stopped: paused|ada|",
		"Superseded version 1.29, revision abc||commit 2222222; it stood at batch 1/3, Rejected",
	}
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d: want %q, got %q", i, want[i], got[i])
		}
	}
}
