package traces

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// maxNote is how many bytes of text an event may have.
const maxNote = 1024

// Events returns a recorder that adds the ID of the trace to events about the beginning and the end
// of a release.
func Events(recorder events.EventRecorder) events.EventRecorder { return &traced{recorder} }

type traced struct{ events.EventRecorder }

// Unwrap returns the recorder of events as they are.
func (t *traced) Unwrap() events.EventRecorder { return t.EventRecorder }

// Eventf records an event.
func (t *traced) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) { //nolint:revive // the interface has it so
	release, is := regarding.(*v1alpha1.BatchRelease)
	if !is || !hasTrace(release) || !tellsOfTrace(reason) {
		t.EventRecorder.Eventf(regarding, related, kind, reason, action, note, args...)
		return
	}
	trace := "; trace " + TraceID(release.Namespace, release.UID, release.Status.Attempt)
	text := plain.UpTo(plain.Line(fmt.Sprintf(note, args...)), maxNote-len(trace))
	t.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s", text+trace)
}

// hasTrace reports whether there is a trace of the present attempt of a release, or will be one.
func hasTrace(release *v1alpha1.BatchRelease) bool {
	return release.Status.Attempt > 0 && !release.Status.Adopted
}

// tellsOfTrace reports whether people look for the trace after an event like this.
func tellsOfTrace(reason string) bool {
	switch reason {
	case v1alpha1.ReasonTakingOver, "Superseded", v1alpha1.ReasonRollingBack, // it begins
		v1alpha1.ReasonCompleted, v1alpha1.ReasonRolledBack, // it ends
		v1alpha1.ReasonDeadlineExceeded, v1alpha1.ReasonGateRejected: // it is stuck
		return true
	default:
		return false
	}
}

// placeholder stands for the ID of a trace in the URL of a page.
const placeholder = "{traceID}"

// Page says where people see the trace of a release.
type Page struct{ template string }

// NewPage makes a Page of a URL with {traceID} in it. An empty URL gives no links.
func NewPage(template string) (Page, error) {
	if template == "" {
		return Page{}, nil
	}
	address, err := url.Parse(template) // which refuses braces in the name of a host
	switch {
	case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" || plain.Line(template) != template:
		return Page{}, errors.New("the URL of traces is not an http or https URL, such as https://jaeger.example.com/trace/{traceID}")
	case address.User != nil:
		return Page{}, errors.New("the URL of traces has a password in it, and would be posted to the forge: remove it")
	case !strings.Contains(template, placeholder):
		return Page{}, errors.New("the URL of traces does not say which trace: put {traceID} into it")
	}
	return Page{template}, nil
}

// Of returns the address for a release; empty before it has released anything, and where there is
// no page.
func (p Page) Of(release *v1alpha1.BatchRelease) string {
	if p.template == "" || !hasTrace(release) {
		return ""
	}
	return strings.ReplaceAll(p.template, placeholder, TraceID(release.Namespace, release.UID, release.Status.Attempt))
}
