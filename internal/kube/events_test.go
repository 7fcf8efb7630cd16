package kube

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestLogEvents: the text of an event is also logged, without any --log-level.
func TestLogEvents(t *testing.T) {
	t.Parallel()
	var lines []string
	logger := funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{})
	fake := events.NewFakeRecorder(1)
	object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	LogEvents(fake, logger).Eventf(object, nil, corev1.EventTypeNormal, "Completed", "Release", "all pods run %s", "v2")
	want := []string{`"level"=0 "msg"="all pods run v2" "reason"="Completed" "type"="Normal" "namespace"="shop" "name"="web"`}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if got := <-fake.Events; got != "Normal Completed all pods run v2" {
		t.Errorf("want the event recorded all the same, got %q", got)
	}
	// The API server refuses an event of more than 1024 bytes, so that somebody could force a gate
	// without one.
	LogEvents(fake, logger).Eventf(object, nil, corev1.EventTypeWarning, "GateForced", "PassGate", "%s", "no\n\x1b[2Jreason"+strings.Repeat("é", 1024))
	got := <-fake.Events
	note, found := strings.CutPrefix(got, "Warning GateForced no [2Jreasonééé")
	if !found || len(got) > len("Warning GateForced ")+1024 || !strings.HasSuffix(note, "…") || !strings.Contains(lines[1], `"msg"="no [2Jreason`) {
		t.Errorf("want a line that fits into an event, got %d bytes: %q, and in the log: %q", len(got), got, lines[1])
	}
}

// TestLogEventsOfReleases: a line about a release names it, its part, and the person who decided a
// gate; texts for the log alone are not recorded.
func TestLogEventsOfReleases(t *testing.T) {
	t.Parallel()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Status: v1alpha1.BatchReleaseStatus{
		UpdateRevision: "7f9c", Commit: "0123456789abcdef0123456789abcdef01234567",
	}}
	bare := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "new"}}
	back := release.DeepCopy()
	back.Status.Rollback, back.Status.Commit = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerDeadline}, "\x1b[2J\n"
	gate := func(facts ...v1alpha1.Evidence) *v1alpha1.Gate {
		return &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}, Status: v1alpha1.GateStatus{Evidence: facts}}
	}
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "git"}}
	crowd := make([]v1alpha1.Evidence, 100)
	for i := range crowd {
		crowd[i].Actor = fmt.Sprintf("p%d", i)
	}
	cases := map[string]struct {
		regarding, related runtime.Object
		want               string
	}{
		"a release":    {release, nil, `"release"="shop/web" "revision"="7f9c" "commit"="01234567"`},
		"a first one":  {bare, nil, `"release"="shop/new" "revision"="" "commit"=""`},
		"a rollback":   {back, nil, `"release"="shop/web" "revision"="7f9c" "commit"="[2J" "trigger"="Deadline"`},
		"a gate":       {release, gate(v1alpha1.Evidence{Kind: "Review", Actor: "grace"}, v1alpha1.Evidence{Kind: "Merged", Actor: "ada"}, v1alpha1.Evidence{Actor: "ada"}), `"release"="shop/web" "revision"="7f9c" "commit"="01234567" "gate"="web-1" "by"="grace,ada"`},
		"a soak":       {release, gate(v1alpha1.Evidence{Kind: "SoakElapsed"}), `"release"="shop/web" "revision"="7f9c" "commit"="01234567" "gate"="web-1" "by"="SoakElapsed"`},
		"a crowd":      {release, gate(crowd...), `"release"="shop/web" "revision"="7f9c" "commit"="01234567" "gate"="web-1" "by"="p0,p1,p2,p3,p4"`},
		"a source":     {source, nil, `"source"="shop/git"`},
		"with another": {source, bare, `"source"="shop/git" "release"="shop/new" "revision"="" "commit"=""`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			fake := events.NewFakeRecorder(1)
			recorder := LogEvents(fake, funcr.New(func(_, line string) { got = line }, funcr.Options{}))
			recorder.Eventf(tc.regarding, tc.related, corev1.EventTypeNormal, "Word", "Release", "note")
			if want := `"level"=0 "msg"="note" "reason"="Word" "type"="Normal" ` + tc.want; got != want {
				t.Errorf("want %s\ngot  %s", want, got)
			}
			<-fake.Events
			LogOnly(recorder, tc.regarding, "Quiet", "note")
			if !strings.HasPrefix(got, `"level"=0 "msg"="note" "reason"="Quiet" "type"="Normal"`) || len(fake.Events) > 0 {
				t.Errorf("want a line and no event, got %d events and %s", len(fake.Events), got)
			}
		})
	}
}
