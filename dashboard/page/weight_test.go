package page

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/dashboard/view"
)

// TestFirstPageIsLight: the first page of a thousand releases, with all that it loads, is at most
// 100 KiB on its way to the browser. Pages are not compressed, since they have secrets in them;
// assets are.
func TestFirstPageIsLight(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)
	var rows []*view.Row
	for i := range 1000 {
		release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{
			Namespace: fmt.Sprintf("team-%02d", i%50), Name: fmt.Sprintf("service-%03d", i), CreationTimestamp: metav1.Time{Time: now.Add(-time.Hour)},
		}}
		release.Spec.WorkloadRef = v1alpha1.WorkloadReference{Kind: "Deployment", Name: release.Name}
		release.Spec.Strategy.Steps = make([]v1alpha1.Step, 4)
		release.Status = v1alpha1.BatchReleaseStatus{
			Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked, CurrentStepState: v1alpha1.StepBlocking, CurrentStepIndex: 1,
			Gates: []v1alpha1.GateReference{{Name: "g", Type: v1alpha1.GateManual}}, Commit: "0123456789abcdef", CommitAuthor: "Margaret Hamilton",
			CommitSubject: "Rank titles above texts when the search has one word", UpdateRevision: "58b88c8b56", Replicas: 12, TargetReplicas: 6,
			UpdatedReplicas: 6, UpdatedAvailableReplicas: 6, Message: "batch 2/4 done with 6 pods of 12, waiting for gate: manual", LastUpdateTime: &metav1.Time{Time: now},
		}
		row := view.RowOf(release, now)
		rows = append(rows, &row)
	}
	view.Order(rows)
	no := func(string) bool { return false }
	list := view.Select(rows, view.Query{Page: 1}, view.Viewer{Name: "ada", Approves: no, Operates: no}, now)
	document, err := Render(Releases, &Frame{Title: "Releases", Cluster: "production", Viewer: "ada@example.com", Live: "page=releases", Content: list})
	if err != nil {
		t.Fatal(err)
	}
	if shown := strings.Count(string(document), "<tr id="); shown != view.PageSize {
		t.Errorf("got %d releases, want %d", shown, view.PageSize)
	}
	weight := len(document)
	for _, asset := range []string{"style.css", "live.js", "idiomorph.min.js", "icon.svg"} {
		data, err := fs.ReadFile(Assets(), asset)
		if err != nil {
			t.Fatal(err)
		}
		var small bytes.Buffer
		to := gzip.NewWriter(&small)
		to.Write(data)
		to.Close()
		weight += small.Len()
	}
	t.Logf("the page has %d bytes, and %d with all that it loads", len(document), weight)
	if weight > 100<<10 {
		t.Errorf("it weighs %d bytes, want at most 100 KiB", weight)
	}
}
