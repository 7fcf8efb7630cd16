package traces_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

// recorded are the notes of events.
type recorded []string

// Eventf records an event.
func (r *recorded) Eventf(_, _ runtime.Object, _, _, _, note string, args ...any) { //nolint:revive // the interface has it so
	*r = append(*r, fmt.Sprintf(note, args...))
}

// TestEventsSayTheTrace: events of the beginning and the end name the trace, however long the
// message is, and no others.
func TestEventsSayTheTrace(t *testing.T) {
	t.Parallel()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "8b1f3a4e-uid"}, Status: v1alpha1.BatchReleaseStatus{Attempt: 1}}
	trace := "; trace " + traces.TraceID("shop", "8b1f3a4e-uid", 1)
	var notes recorded
	recorder := traces.Events(&notes)
	adopted := release.DeepCopy() // nothing was released, so that there is no trace
	adopted.Status.Adopted = true
	for _, test := range []struct {
		about  runtime.Object
		reason string
		text   string
		want   string
	}{
		{release, v1alpha1.ReasonCompleted, "100% of the pods", "100% of the pods" + trace},
		{release, v1alpha1.ReasonBlocking, "waits", "waits"},
		{&v1alpha1.BatchRelease{}, v1alpha1.ReasonCompleted, "nothing", "nothing"},
		{adopted, v1alpha1.ReasonCompleted, "adopted", "adopted"},
		{&v1alpha1.Gate{}, v1alpha1.ReasonGateRejected, "closed", "closed"},
	} {
		notes = nil
		recorder.Eventf(test.about, nil, "Normal", test.reason, "Release", "%s", test.text)
		if len(notes) != 1 || notes[0] != test.want {
			t.Errorf("%s: the events are %q, want %q", test.reason, notes, test.want)
		}
	}
	notes = nil
	recorder.Eventf(release, nil, "Warning", v1alpha1.ReasonDeadlineExceeded, "Release", "%s", strings.Repeat("pods crash\n", 500))
	if got := notes[0]; len(got) > 1024 || !strings.HasSuffix(got, trace) || strings.Contains(got, "\n") {
		t.Errorf("the event has %d bytes: %q", len(got), got)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "8b1f3a4e-uid"}, Status: v1alpha1.BatchReleaseStatus{Attempt: 1}}
	page, err := traces.NewPage("https://jaeger.example.com/trace/{traceID}?x={traceID}")
	if err != nil {
		t.Fatalf("make page: %v", err)
	}
	id := traces.TraceID("shop", "8b1f3a4e-uid", 1)
	if got, want := page.Of(release), "https://jaeger.example.com/trace/"+id+"?x="+id; got != want {
		t.Errorf("the trace is at %q, want %q", got, want)
	}
	if got := page.Of(&v1alpha1.BatchRelease{}); got != "" {
		t.Errorf("what has released nothing has a trace at %q", got)
	}
	adopted := release.DeepCopy()
	adopted.Status.Adopted = true
	if got := page.Of(adopted); got != "" {
		t.Errorf("what was adopted has a trace at %q", got)
	}
	if got := (traces.Page{}).Of(release); got != "" {
		t.Errorf("without a page the trace is at %q", got)
	}
}
