package traces

import (
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// What spans are about. These words are part of IDs: one that changes begins new spans.
const (
	kindRelease  = "release"
	kindBatch    = "batch"
	kindGate     = "gate"
	kindFailure  = "failure"
	kindRollback = "rollback"
)

// span is a span that has ended.
type span struct {
	name       string
	trace      trace.TraceID
	id         trace.SpanID
	parent     trace.SpanID // zero for the root
	start, end time.Time
	attributes []attribute.KeyValue
	// wrong says what went wrong; empty where nothing did.
	wrong string
	links []trace.Link
	// unsure says that it may have ended earlier: it has not if its trace was seen to go on, and no end
	// of it.
	unsure bool
}

// spansOf returns the spans that end with a fact.
func spansOf(f *story.Fact) []span {
	if f.UID == "" {
		return nil
	}
	switch f.Kind {
	case story.BatchDone:
		return []span{batchSpan(f)}
	case story.GatePassed, story.GateRejected:
		if f.Gate == nil {
			return nil
		}
		return []span{gateSpan(f)}
	case story.ReleaseFailed:
		return []span{failureSpan(f)}
	case story.ReleaseCompleted, story.ReleaseSuperseded, story.JumpedBack, story.ReleaseDeleted:
		return []span{releaseSpan(f, endOf(f))}
	case story.RolledBack:
		return []span{releaseSpan(f, endOf(f)), rollbackSpan(f)}
	case story.RollbackStarted:
		return leftSpans(f)
	case story.ReleaseStarted, story.ReleaseAdopted, story.BatchStarted, story.GateOpened, story.GateUndecided, story.ApprovalRefused, story.ReleaseStopped, story.ReleaseResumed, story.Drifted:
		return nil
	default:
		return nil
	}
}

// root returns where the root of an attempt's trace is.
func root(f *story.Fact, attempt int64) trace.SpanContext {
	in := traceID(f.Release.Namespace, f.UID, attempt)
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: in, SpanID: spanID(in, part{kind: kindRelease}), TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// child returns a span below the root.
func child(f *story.Fact, name string, of part) span {
	top := root(f, f.Attempt)
	s := span{name: name, trace: top.TraceID(), id: spanID(top.TraceID(), of), parent: top.SpanID()}
	s.start, s.end = between(f.Since, f.Time)
	return s
}

func batchSpan(f *story.Fact) span {
	s := child(f, fmt.Sprintf("batch %d", f.Batch), part{kind: kindBatch, batch: f.Batch})
	s.attributes = append(taskAttributes(f, s.name, resultSuccess), batchAttributes(f)...)
	return s
}

func gateSpan(f *story.Fact) span {
	s := child(f, "gate "+fit(string(f.Gate.Type)), part{kind: kindGate, batch: f.Batch, gate: f.Gate.UID})
	result := resultSuccess
	if f.Kind == story.GateRejected {
		result, s.wrong = resultFailure, "rejected"
	}
	s.attributes = append(taskAttributes(f, s.name, result), gateAttributes(f)...)
	if s.wrong != "" {
		s.attributes = append(s.attributes, errorType("rejected"))
		s.wrong = because(s.wrong, f.Message)
	}
	return s
}

// failureSpan marks not the end of the release: it can be retried, and completes without that if
// its pods come after all.
func failureSpan(f *story.Fact) span {
	// One that is retried can fail again in the same batch. The time is from the status: any process
	// gives the same ID.
	s := child(f, "no progress", part{kind: fmt.Sprintf("%s %d", kindFailure, f.Time.Unix()), batch: f.Batch})
	s.wrong = because("no progress within the deadline", f.Message)
	s.attributes = append(taskAttributes(f, s.name, resultTimeout), errorType("deadline"))
	s.attributes = append(s.attributes, batchAttributes(f)...)
	return s
}

// releaseSpan returns the root of a trace.
func releaseSpan(f *story.Fact, how end) span {
	top := root(f, f.Attempt)
	s := span{name: "release " + fit(f.Release.String()), trace: top.TraceID(), id: top.SpanID()}
	s.start, s.end = between(f.Since, f.Time)
	s.attributes = releaseAttributes(f, how)
	if how.wrong {
		s.wrong = because(how.outcome, f.Message)
	}
	if isRollback(f) {
		s.name = "rollback " + fit(f.Release.String())
		s.links = linkTo(root(f, f.Attempt-1), "leaves")
	}
	return s
}

// leftSpans returns the root of the release that a rollback leaves, if that had not ended. Where it
// was stuck or rejected it had not; of any other rollback the fact does not say.
func leftSpans(f *story.Fact) []span {
	left := *f
	left.Attempt, left.Revision, left.From, left.Trigger = f.Attempt-1, f.From, "", ""
	s := releaseSpan(&left, endOf(f))
	s.unsure = !f.Failed && f.Trigger != v1alpha1.TriggerDeadline && f.Trigger != v1alpha1.TriggerGateRejected
	s.attributes = append(s.attributes, text("sluice.rollback.trigger", string(f.Trigger))...)
	s.links = linkTo(root(f, f.Attempt), "rollback")
	return []span{s}
}

func linkTo(where trace.SpanContext, why string) []trace.Link {
	return []trace.Link{{SpanContext: where, Attributes: []attribute.KeyValue{attribute.String("sluice.link", why)}}}
}

// rollbackSpan shows a rollback in the trace of what it left, and leads to its own.
func rollbackSpan(f *story.Fact) span {
	before := *f
	before.Attempt--
	s := child(&before, "rollback", part{kind: kindRollback})
	s.wrong = because("rolled back", f.Message)
	s.attributes = append(taskAttributes(&before, s.name, resultSuccess), rollbackAttributes(f)...)
	s.links = linkTo(root(f, f.Attempt), "rollback")
	return s
}

func isRollback(f *story.Fact) bool { return f.Trigger != "" }

// earliest and latest are the times that a span can have.
var (
	earliest = time.Unix(0, 0)
	latest   = time.Date(2200, 1, 1, 0, 0, 0, 0, time.UTC)
)

// between returns the times of a span. No span ends before it begins, whatever the clocks and the
// writers of objects say.
func between(since, until time.Time) (time.Time, time.Time) {
	if until.Before(earliest) || until.After(latest) {
		until = earliest
	}
	if since.Before(earliest) || since.After(until) {
		since = until
	}
	return since, until
}

// runID tells the attempts of all releases apart.
func runID(uid types.UID, attempt int64) string { return fit(fmt.Sprintf("%s/%d", uid, attempt)) }
