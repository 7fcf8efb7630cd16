package view

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
)

var now = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

func TestOnlyWebAddressesAreLinks(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"https://example.com/a?b=c#d":                          "https://example.com/a?b=c#d",
		"http://example.com":                                   "http://example.com",
		"HTTPS://example.com":                                  "https://example.com",
		"javascript:alert(1)":                                  "",
		"JaVaScRiPt://example.com/%0aalert(1)":                 "",
		"data:text/html,<script>alert(1)</script>":             "",
		"//example.com":                                        "",
		"/releases":                                            "",
		"https:example.com":                                    "",
		"https://user:password@example.com/":                   "",
		"ssh://git@example.com/repo":                           "",
		"git@example.com:repo":                                 "",
		"https://exa mple.com":                                 "",
		"https://example.com/\x00":                             "",
		"https://example.com/" + strings.Repeat("a", mostText): "",
		"": "",
	}
	for address, want := range tests {
		if got := link(address); got != want {
			t.Errorf("link(%.60q) = %q, want %q", address, got, want)
		}
	}
}

func TestPasswordsOfSourcesAreNotShown(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"https://me:secret@example.com/shop.git": "https://example.com/shop.git",
		"https://a@b:secret@example.com/shop":    "https://example.com/shop",
		"https://example.com/shop":               "https://example.com/shop",
		"git@example.com:shop.git":               "git@example.com:shop.git",
	}
	for address, want := range tests {
		source := &v1alpha1.ReleaseSource{Spec: v1alpha1.ReleaseSourceSpec{URL: address}}
		if got := sourceOf(source); got.URL.Text != want || strings.Contains(got.URL.Address, "secret") {
			t.Errorf("source at %s: got %+v, want the text %s", address, got.URL, want)
		}
	}
}

// release returns one whose texts are as long as an attacker likes.
func release(name string, phase v1alpha1.Phase) *v1alpha1.BatchRelease {
	return &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "uid"},
		Spec:       v1alpha1.BatchReleaseSpec{WorkloadRef: v1alpha1.WorkloadReference{Kind: "Deployment", Name: name}},
		Status:     v1alpha1.BatchReleaseStatus{Phase: phase},
	}
}

func TestTextsInRowsAreBounded(t *testing.T) {
	t.Parallel()
	long := release("web", v1alpha1.PhaseRollingUpdate)
	text := strings.Repeat("ä\n", 100_000)
	long.Status.Message, long.Status.CommitSubject, long.Status.CommitAuthor, long.Status.Commit = text, text, text, "c"
	row := RowOf(long, now)
	for name, got := range map[string]string{"message": row.Message, "subject": row.Subject, "author": row.Author, "waits for": row.WaitsFor} {
		if len(got) > mostCell || strings.Contains(got, "\n") {
			t.Errorf("%s: a text of a row has at most %d bytes on one line, got %d", name, mostCell, len(got))
		}
	}
	if len(row.found) > 10*mostCell {
		t.Errorf("what is searched is bounded, too: %d bytes", len(row.found))
	}
}

func TestQueriesSurviveTheirAddress(t *testing.T) {
	t.Parallel()
	for _, query := range []Query{
		{Page: 1},
		{Namespace: "shop", Standing: "Waiting", Search: "a&b=c \"'<", Mine: true, Page: 7},
	} {
		address, err := url.Parse(query.Address())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(query, QueryOf(address.Query())); diff != "" {
			t.Errorf("%s is another query (-want +got):\n%s", query.Address(), diff)
		}
	}
	long := QueryOf(url.Values{"search": {strings.Repeat("a", 1<<20)}, "page": {"-3"}})
	if len(long.Search) > mostCell || long.Page != 1 {
		t.Errorf("a query is bounded: %d bytes, page %d", len(long.Search), long.Page)
	}
	if far := QueryOf(url.Values{"page": {"288230376151711745"}}); far.Page != 1 {
		t.Errorf("no page is so far that its place can't be counted: %d", far.Page)
	}
}

func manyRows(n int) []*Row {
	var rows []*Row
	for i := range n {
		one := release(fmt.Sprintf("web-%03d", i), []v1alpha1.Phase{v1alpha1.PhaseCompleted, v1alpha1.PhaseFailed}[i%2])
		one.Namespace = fmt.Sprintf("ns-%d", i%3)
		one.Status.CommitSubject, one.Status.Commit = fmt.Sprintf("Change %d", i), "c"
		row := RowOf(one, now)
		rows = append(rows, &row)
	}
	Order(rows)
	return rows
}

func nobody() Viewer {
	no := func(string) bool { return false }
	return Viewer{Name: "ada", Approves: no, Operates: no}
}

func TestListsAreCutIntoPages(t *testing.T) {
	t.Parallel()
	rows := manyRows(120)
	tests := map[string]struct {
		query        Query
		rows, total  int
		before, next string
	}{
		"first":            {Query{Page: 1}, 50, 120, "", "/?page=2"},
		"last":             {Query{Page: 3}, 20, 120, "/?page=2", ""},
		"past the end":     {Query{Page: 99}, 0, 120, "/?page=3", ""},
		"far past the end": {Query{Page: mostPages}, 0, 120, "/?page=3", ""},
		"a namespace":      {Query{Namespace: "ns-1", Page: 1}, 40, 40, "", ""},
		"a phase":          {Query{Standing: "Failed", Page: 1}, 50, 60, "", "/?page=2&phase=Failed"},
		"all words":        {Query{Search: "CHANGE web-007", Page: 1}, 1, 1, "", ""},
		"none":             {Query{Search: "change web-007 x", Page: 1}, 0, 0, "", ""},
		"mine":             {Query{Mine: true, Page: 1}, 0, 0, "", ""},
	}
	for name, tc := range tests {
		list := Select(rows, tc.query, nobody(), now)
		if len(list.Rows) != tc.rows || list.Total != tc.total || list.Before != tc.before || list.Next != tc.next {
			t.Errorf("%s: got %d of %d, before %q, next %q", name, len(list.Rows), list.Total, list.Before, list.Next)
		}
		if list.All != 120 || list.Counts["bad"] != 60 || list.Counts["good"] != 60 || len(list.Namespaces) != 3 {
			t.Errorf("%s: counts are of all, whatever is shown: %d, %v, %v", name, list.All, list.Counts, list.Namespaces)
		}
	}
}

func TestWhatNeedsAttentionComesFirst(t *testing.T) {
	t.Parallel()
	rows := []*Row{
		{Name: "done", Mark: Good}, {Name: "new", Mark: Plain}, {Name: "moves", Mark: Moving}, {Name: "waits", Mark: Waiting},
		{Name: "b", Mark: Bad}, {Name: "a", Mark: Bad}, {Namespace: "a", Name: "z", Mark: Bad},
	}
	Order(rows)
	var got []string
	for _, row := range rows {
		got = append(got, row.Name)
	}
	if want := []string{"a", "b", "z", "waits", "moves", "new", "done"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReleasesAskWhoCanLetThemGoOn(t *testing.T) {
	t.Parallel()
	in := func(names ...string) func(string) bool {
		return func(namespace string) bool { return slices.Contains(names, namespace) }
	}
	failed, manual, pull := release("web", v1alpha1.PhaseFailed), release("web", v1alpha1.PhaseRollingUpdate), release("web", v1alpha1.PhaseRollingUpdate)
	manual.Status.State, manual.Status.Gates = v1alpha1.StateBlocked, []v1alpha1.GateReference{{Type: v1alpha1.GateManual}}
	pull.Status.State, pull.Status.Gates = v1alpha1.StateBlocked, []v1alpha1.GateReference{{Type: v1alpha1.GatePullRequest}}
	pull.Spec.Strategy.Steps = []v1alpha1.Step{{Gates: []v1alpha1.GatePolicy{{PullRequest: &v1alpha1.PullRequestGate{Approvers: []string{"Ada#17"}}}}}}
	passed := manual.DeepCopy()
	passed.Status.Gates[0].Decision = v1alpha1.DecisionPassed
	undecided, guarded := manual.DeepCopy(), release("web", v1alpha1.PhaseRollingUpdate)
	undecided.Status.Gates[0] = v1alpha1.GateReference{Type: v1alpha1.GateMetrics, Undecided: true}
	guarded.Status.Guards = []v1alpha1.GateReference{{Type: v1alpha1.GateMetrics, Undecided: true}}
	measured := undecided.DeepCopy()
	measured.Status.Gates[0].Undecided = false
	tests := map[string]struct {
		release *v1alpha1.BatchRelease
		viewer  Viewer
		want    bool
	}{
		"a failed one an operator":       {failed, Viewer{Approves: in(), Operates: in("shop")}, true},
		"... not an approver":            {failed, Viewer{Approves: in("shop"), Operates: in()}, false},
		"a manual gate an approver":      {manual, Viewer{Approves: in("shop"), Operates: in()}, true},
		"... not of another namespace":   {manual, Viewer{Approves: in("other"), Operates: in("other")}, false},
		"... not once it has passed":     {passed, Viewer{Approves: in("shop"), Operates: in()}, false},
		"metrics that can't decide":      {undecided, Viewer{Approves: in("shop"), Operates: in()}, true},
		"... of a guard":                 {guarded, Viewer{Approves: in("shop"), Operates: in()}, true},
		"... not while they measure":     {measured, Viewer{Approves: in("shop"), Operates: in()}, false},
		"a pull request whom it names":   {pull, Viewer{Name: "ADA@example.com", Approves: in(), Operates: in()}, true},
		"... not others who may approve": {pull, Viewer{Name: "bob", Approves: in("shop"), Operates: in("shop")}, false},
	}
	for name, tc := range tests {
		row := RowOf(tc.release, now)
		if got := row.AsksFor(tc.viewer); got != tc.want {
			t.Errorf("%s: got %v, want %v", name, got, tc.want)
		}
	}
}

func kept(i int, outcome v1alpha1.Outcome, began, ended time.Time, more map[string]string) appsv1.ControllerRevision {
	annotations := map[string]string{
		v1alpha1.OutcomeAnnotation: string(outcome), v1alpha1.StartedAtAnnotation: began.Format(time.RFC3339), v1alpha1.ReleasedAtAnnotation: ended.Format(time.RFC3339),
	}
	maps.Copy(annotations, more)
	return appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%d", i), Annotations: annotations,
			Labels: map[string]string{v1alpha1.ReleaseLabel: "web", v1alpha1.RevisionLabel: fmt.Sprintf("r%d", i)},
		},
		Revision: int64(i),
	}
}

func TestHistoryOfNothing(t *testing.T) {
	t.Parallel()
	for _, days := range []int{0, -1, 7, 8, 1 << 40} {
		h := HistoryOf(nil, nil, HistoryQuery{Days: days}, now)
		if h.Total != 0 || h.Frequency != "0.0" || h.LeadTime != "not known" || h.Duration != "not known" || h.Restore != "not known" || h.Failures != "none" {
			t.Errorf("%d days: nothing is known of nothing: %+v", days, h)
		}
		if !slices.Contains(historyChoices, h.Days) || len(h.Bars) != h.Days {
			t.Errorf("%d days: got %d days and %d bars, want one of %v", days, h.Days, len(h.Bars), historyChoices)
		}
	}
}

func TestFiguresOfAHistory(t *testing.T) {
	t.Parallel()
	at := func(hours int) time.Time { return now.Add(-time.Duration(hours) * time.Hour) }
	revisions := []appsv1.ControllerRevision{
		kept(1, v1alpha1.OutcomeReleased, at(60), at(59), nil), // the first deployment is not a release
		kept(13, v1alpha1.OutcomeReleased, at(50), at(49), map[string]string{v1alpha1.Prefix + "commit-time": at(51).Format(time.RFC3339)}),
		kept(2, v1alpha1.OutcomeReleased, at(30), at(27), map[string]string{v1alpha1.Prefix + "commit-time": at(31).Format(time.RFC3339)}),
		kept(3, v1alpha1.OutcomeReleased, at(5), at(3), map[string]string{v1alpha1.Prefix + "commit-time": "yesterday"}),
		kept(4, v1alpha1.OutcomeRolledBackTo, at(2), at(1), nil),
		kept(5, v1alpha1.OutcomeRolledBack, at(2), at(1), nil),         // what was rolled back never ended
		kept(6, v1alpha1.OutcomeReleased, at(24*8), at(24*8), nil),     // before the days that are asked for
		kept(12, v1alpha1.OutcomeReleased, at(24*7), at(24*7), nil),    // at the very moment when they begin
		kept(7, v1alpha1.OutcomeReleased, at(-5), at(-5), nil),         // not yet
		kept(8, v1alpha1.OutcomeReleased, at(1), time.Time{}, nil),     // nobody knows when
		kept(9, "<script>", at(1), at(1), nil),                         // somebody else's
		kept(10, v1alpha1.OutcomeReleased, at(1), now.Add(1<<40), nil), // far ahead
		kept(11, v1alpha1.OutcomeAdopted, at(1), at(1), nil),           // not released
	}
	h := HistoryOf(revisions, nil, HistoryQuery{Days: 7}, now)
	got := []string{h.Frequency, h.LeadTime, h.Duration, h.Failures, h.Restore, fmt.Sprint(h.Total)}
	if diff := cmp.Diff([]string{"0.4", "4h", "120m", "25%", "60m", "5"}, got); diff != "" {
		t.Errorf("releases a day, lead time, duration, failures, time to restore, and how many (-want +got):\n%s", diff)
	}
	if first := h.Entries[0]; first.Revision != "r4" || first.Mark != Waiting {
		t.Errorf("the newest comes first: %+v", first)
	}
	for _, bar := range h.Bars {
		if bar.Released < 0 || bar.Failed < 0 || bar.FailedY < 0 || bar.Released+bar.Failed > historyHigh {
			t.Errorf("a bar is as high as the drawing at most: %+v", bar)
		}
	}
}

func TestAHistoryListsTheLast(t *testing.T) {
	t.Parallel()
	var revisions []appsv1.ControllerRevision
	for i := range 3 * mostHistory {
		at := now.Add(-time.Duration(i) * time.Minute)
		revisions = append(revisions, kept(i, v1alpha1.OutcomeReleased, at, at, nil))
	}
	if h := HistoryOf(revisions, nil, HistoryQuery{Days: 7}, now); len(h.Entries) != mostHistory || h.Total != 3*mostHistory {
		t.Errorf("got %d of %d", len(h.Entries), h.Total)
	}
}

func TestATimelineTellsTheLastFirst(t *testing.T) {
	t.Parallel()
	sight := &lookup.Sight{Whole: &show.Whole{Release: release("web", v1alpha1.PhaseRollingUpdate)}}
	sight.Release.Status.StartedAt = &metav1.Time{Time: now.Add(time.Hour)}
	for i := range 3 * mostEntries {
		at := now.Add(-time.Duration((i*37)%(3*mostEntries)) * time.Minute)
		sight.Kept = append(sight.Kept, kept(i, v1alpha1.OutcomeReleased, at, at, map[string]string{v1alpha1.SubjectAnnotation: strings.Repeat("long", 1000)}))
	}
	sight.Gates = []v1alpha1.Gate{{Spec: v1alpha1.GateSpec{ReleaseRef: v1alpha1.ReleaseReference{UID: "of another release"}}, ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()}}}
	entries := timelineOf(sight)
	if len(entries) != mostEntries {
		t.Errorf("got %d entries, want the last %d", len(entries), mostEntries)
	}
	if !slices.IsSortedFunc(entries, func(a, b Entry) int { return b.Time.Compare(a.Time.Time) }) || !strings.Contains(entries[0].What, "began") {
		t.Errorf("the newest comes first: %+v", entries[:2])
	}
	for _, entry := range entries {
		if len(entry.Detail) > mostText || strings.Contains(entry.What, "gate") {
			t.Errorf("an entry is bounded, and of this release: %+v", entry)
		}
	}
}

func TestDiffs(t *testing.T) {
	t.Parallel()
	text := func(lines int, what string) []byte {
		return []byte(`{"a":"` + strings.Repeat(what+`\n`, lines) + `"}`)
	}
	of := func(before, after []byte) *Diff {
		t.Helper()
		from, to := kept(1, v1alpha1.OutcomeReleased, now, now, nil), kept(2, v1alpha1.OutcomeReleased, now, now, nil)
		from.Data, to.Data = runtime.RawExtension{Raw: before}, runtime.RawExtension{Raw: after}
		shown, found := DiffOf(release("web", v1alpha1.PhaseCompleted), []appsv1.ControllerRevision{from, to}, "r1", "r2")
		if !found {
			t.Fatal("both are kept")
		}
		return shown
	}
	if small := of([]byte(`{"image":"web:1"}`), []byte(`{"image":"web:2\u202e"}`)); !slices.Contains(small.Lines, DiffLine{"del", "-image: web:1"}) {
		t.Errorf("what differs is shown: %+v", small.Lines)
	}
	if same := of(text(1, "a"), text(1, "a")); len(same.Lines) > 0 || same.Note == "" {
		t.Errorf("what is the same is said: %+v", same)
	}
	if many := of(text(3*mostDiffLines, "a"), text(3*mostDiffLines, "b")); len(many.Lines) > mostDiffLines+1 {
		t.Errorf("got %d lines, want about %d", len(many.Lines), mostDiffLines)
	}
	if large := of(text(1, "a"), text(mostTemplate, "b")); len(large.Lines) > 0 || !strings.Contains(large.Note, "sluice history") {
		t.Errorf("what is too large is said, with the command that shows it: %d lines, %q", len(large.Lines), large.Note)
	}
	for _, names := range [][2]string{{"r1", "r9"}, {"", ""}, {"r1", ""}} {
		if _, found := DiffOf(release("web", ""), []appsv1.ControllerRevision{kept(1, "", now, now, nil)}, names[0], names[1]); found {
			t.Errorf("%q is not kept", names)
		}
	}
}

func TestPodsAreDrawnUpToABound(t *testing.T) {
	t.Parallel()
	whole := &show.Whole{
		Release:  release("web", v1alpha1.PhaseRollingUpdate),
		Workload: &appsv1.Deployment{},
		Sets:     []appsv1.ReplicaSet{{ObjectMeta: metav1.ObjectMeta{Name: "web-r1", UID: "set", Labels: map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "r1"}}}},
	}
	whole.Release.Status.UpdateRevision = "r1"
	for i := range mostPods + 500 {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name:            fmt.Sprintf("web-%d", i),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(&whole.Sets[0], appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		}}
		pod.Status.Message = strings.Repeat("message ", 1000)
		whole.Pods = append(whole.Pods, pod)
	}
	pods := podsOf(whole, false, now)
	drawn := 0
	for _, group := range pods.Groups {
		drawn += len(group.Pods)
		for _, pod := range group.Pods {
			if len(pod.Text) > mostCell {
				t.Fatalf("the text of a pod has %d bytes", len(pod.Text))
			}
		}
	}
	if drawn != mostPods || pods.More != 500 || pods.Total() != mostPods+500 {
		t.Errorf("got %d pods drawn, %d only counted, %d in all", drawn, pods.More, pods.Total())
	}
}

// TestStepsOfARollback: a rollback of each kind is foreseen with the bounds that its kind has.
func TestStepsOfARollback(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		one := release("web", v1alpha1.PhaseRollingUpdate)
		one.Spec.WorkloadRef.Kind = kind
		one.Spec.Strategy.Steps = []v1alpha1.Step{{Replicas: intstr.FromString("50%")}, {Replicas: intstr.FromString("100%")}}
		if steps := rollbackSteps(one, 10); len(steps) == 0 || steps[len(steps)-1].Pods != 10 {
			t.Errorf("%s: a rollback ends with all pods: %+v", kind, steps)
		}
	}
	one := release("web", v1alpha1.PhaseRollingUpdate)
	one.Spec.WorkloadRef.Kind = "Job"
	if steps := rollbackSteps(one, 10); steps != nil {
		t.Errorf("nothing is foreseen for a kind that nobody knows: %+v", steps)
	}
}
