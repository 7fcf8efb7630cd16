package show

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestStanding: a release in progress rolls, waits or is on hold, by its state.
func TestStanding(t *testing.T) {
	t.Parallel()
	frozen := []v1alpha1.StopCause{v1alpha1.StopFrozen}
	tests := map[string]struct {
		status v1alpha1.BatchReleaseStatus
		want   string
	}{
		"pods move":        {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateRolling}, "Rolling"},
		"requests move":    {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateShifting}, "Rolling"},
		"at a gate":        {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateBlocked}, "Waiting"},
		"approval refused": {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateApprovalRefused}, "Waiting"},
		"at a pause point": {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StatePausePoint}, "Waiting"},
		"no room":          {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseInitial, State: v1alpha1.StateWillNotFit}, "Waiting"},
		"stopped":          {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateStopped}, "OnHold"},
		"frozen before it": {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseInitial, State: v1alpha1.StateWaiting, StoppedBy: frozen}, "OnHold"},
		"waits its turn":   {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseInitial, State: v1alpha1.StateWaiting}, "Waiting"},
		"rollback":         {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingBack, State: v1alpha1.StateRolling}, "RollingBack"},
		"rollback at gate": {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingBack, State: v1alpha1.StateBlocked}, "Waiting"},
		"handed back":      {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseFinalizing, State: v1alpha1.StateFinishing}, "Finalizing"},
		"the next is held": {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, State: v1alpha1.StateWaiting, StoppedBy: frozen}, "OnHold"},
		"the next waits":   {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, State: v1alpha1.StateWaiting}, "Waiting"},
		"held at rest":     {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseCompleted, State: v1alpha1.StateCompleted, StoppedBy: frozen}, "Completed"},
		"rejected":         {v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, State: v1alpha1.StateRejected}, "Rejected"},
		"new":              {v1alpha1.BatchReleaseStatus{}, ""},
	}
	for name, test := range tests {
		if got := Standing(&v1alpha1.BatchRelease{Status: test.status}); got != test.want {
			t.Errorf("%s: want %q, got %q", name, test.want, got)
		}
	}
}

func TestVersionOf(t *testing.T) {
	t.Parallel()
	for images, want := range map[string]string{
		"":                                      "",
		"nginx":                                 "latest",
		"nginx:1.29":                            "1.29",
		"registry.example.com:5000/web":         "latest",
		"registry.example.com:5000/shop/web:v2": "v2",
		"web:1@sha256:" + strings.Repeat("a", 64):   "1",
		"web@sha256:6bc5cb23e5ab98db58aaaa":         "sha256:6bc5cb23e5ab",
		"shop/web:1.29,envoy@sha256:6bc5cb23e5ab98": "web:1.29,envoy@sha256:6bc5cb23e5ab",
		":": "", "@": "latest", ",": ":latest,:latest",
	} {
		if got := VersionOf(images); got != want {
			t.Errorf("version of %q: want %q, got %q", images, want, got)
		}
	}
}

// TestRefusedByASource: an error of a source counts for its own releases alone.
func TestRefusedByASource(t *testing.T) {
	t.Parallel()
	release := v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web", Labels: map[string]string{v1alpha1.SourceLabel: "main"},
		Annotations: map[string]string{v1alpha1.FileAnnotation: "web/release.yaml"},
	}}
	release.Status.Phase = v1alpha1.PhaseCompleted
	source := v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "main"}}
	source.Status.Refused = []string{"shop/api", "shop/web"}
	source.Status.Errors = []v1alpha1.FileError{{File: "api.yaml", Message: "bad"}, {File: "web/release.yaml", Line: 3, Message: "unknown field"}}
	tests := map[string]struct {
		change func(*v1alpha1.ReleaseSource)
		want   string
	}{
		"refused":         {func(*v1alpha1.ReleaseSource) {}, "web/release.yaml:3: unknown field"},
		"no error of it":  {func(s *v1alpha1.ReleaseSource) { s.Status.Errors = nil }, "the newest commit is not applied"},
		"unread":          {func(s *v1alpha1.ReleaseSource) { s.Status.Unread, s.Status.Refused = true, nil }, "the newest commit is not applied"},
		"another release": {func(s *v1alpha1.ReleaseSource) { s.Status.Refused = []string{"shop/api"} }, ""},
		"another source":  {func(s *v1alpha1.ReleaseSource) { s.Name = "other" }, ""},
		"a stranger's":    {func(s *v1alpha1.ReleaseSource) { s.Namespace = "evil" }, ""},
	}
	for name, test := range tests {
		one := *source.DeepCopy()
		test.change(&one)
		got := Refused(&release, &one)
		if got != test.want {
			t.Errorf("%s: want %q, got %q", name, test.want, got)
		}
		cells := Releases([]v1alpha1.BatchRelease{release}, Sources{one}, noon, false).Rows[0].Cells
		if isRefused := cells[1] == "Refused" && cells[5] == WaitsForGit; isRefused != (test.want != "") {
			t.Errorf("%s: the list shows %v", name, cells)
		}
	}
	if got := Refused(&release, nil); got != "" {
		t.Errorf("nobody knows of a source: got %q", got)
	}
}

// TestHistoryOfWhatGaveWay: a version that another one superseded keeps its revision, its images,
// its author, and when and where it stood.
func TestHistoryOfWhatGaveWay(t *testing.T) {
	t.Parallel()
	release := &v1alpha1.BatchRelease{}
	release.Status = v1alpha1.BatchReleaseStatus{
		Superseded: []string{"2222222222"},
		Log: []v1alpha1.LogEntry{
			{Type: v1alpha1.LogSuperseded, Time: at(0), Revision: "abc", Commit: "2222222222", Author: "ada", Images: []string{"nginx:1.29"}, State: v1alpha1.StateRejected},
			{Type: v1alpha1.LogStopped, Time: at(0), Cause: v1alpha1.StopSuspended, By: "grace"},
		},
	}
	rows := History(release, nil, noon).Rows
	if len(rows) != 1 || strings.Join(texts(rows[0].Cells), "|") != "|-|abc|nginx:1.29|Superseded when Rejected|0s ago|-|2222222|ada|-|-" {
		t.Errorf("got %v", rows)
	}
	if got := strings.Join(Log(release, noon), "\n"); got != "0s ago Stopped: paused, by grace" {
		t.Errorf("got %q", got)
	}
}

func texts(cells []any) []string {
	all := make([]string, len(cells))
	for i, cell := range cells {
		all[i], _ = cell.(string)
	}
	return all
}
