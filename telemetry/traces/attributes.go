package traces

import (
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// maxText is how many bytes a text may have in a span: they come from Git, the forge and people.
const maxText = 256

// fit makes a text from outside fit into a span.
func fit(text string) string {
	if len(text) > 8*maxText { // the rest would be cut off anyway
		text = text[:8*maxText]
	}
	return plain.UpTo(plain.Line(text), maxText)
}

// because returns what went wrong, with what there is to say of it.
func because(what, message string) string {
	if message == "" {
		return what
	}
	return fit(what + ": " + message)
}

// text returns an attribute, if there is something to say.
func text(key, value string) []attribute.KeyValue {
	if value = fit(value); value == "" {
		return nil
	}
	return []attribute.KeyValue{attribute.String(key, value)}
}

func errorType(kind string) attribute.KeyValue { return semconv.ErrorTypeKey.String(kind) }

// The results of what was done, as the conventions for CI/CD have them.
var (
	resultSuccess = semconv.CICDPipelineTaskRunResultSuccess
	resultFailure = semconv.CICDPipelineTaskRunResultFailure
	resultTimeout = semconv.CICDPipelineTaskRunResultTimeout
)

// end is the outcome of a release.
type end struct {
	outcome string
	result  attribute.KeyValue
	wrong   bool
	// kind is the class of what went wrong.
	kind string
}

func endOf(f *story.Fact) end {
	switch f.Kind {
	case story.ReleaseCompleted:
		return end{"completed", semconv.CICDPipelineResultSuccess, false, ""}
	case story.RolledBack, story.RollbackStarted:
		result := semconv.CICDPipelineResultFailure
		switch f.Trigger {
		case v1alpha1.TriggerDeadline:
			result = semconv.CICDPipelineResultTimeout
		case v1alpha1.TriggerAnnotation, v1alpha1.TriggerGitRevert:
			result = semconv.CICDPipelineResultCancellation
		case v1alpha1.TriggerGateRejected, v1alpha1.TriggerDrift, v1alpha1.TriggerHistory:
		}
		return end{"rolled back", result, true, "rollback." + fit(string(f.Trigger))}
	case story.JumpedBack:
		return end{"jumped back", semconv.CICDPipelineResultCancellation, false, ""}
	case story.ReleaseDeleted:
		return end{"deleted", semconv.CICDPipelineResultCancellation, false, ""}
	default:
		if f.Failed {
			return end{"failed", semconv.CICDPipelineResultTimeout, true, "deadline"}
		}
		return end{"superseded", semconv.CICDPipelineResultCancellation, false, ""}
	}
}

// runAttributes returns those of every span.
func runAttributes(f *story.Fact) []attribute.KeyValue {
	all := []attribute.KeyValue{
		semconv.CICDPipelineName(fit(f.Release.String())),
		semconv.CICDPipelineRunID(runID(f.UID, f.Attempt)),
		semconv.K8SNamespaceName(fit(f.Release.Namespace)),
		attribute.Int64("sluice.attempt", f.Attempt),
	}
	all = append(all, text(string(semconv.VCSRefHeadRevisionKey), f.Commit)...)
	return append(all, text("sluice.revision", f.Revision)...)
}

// taskAttributes returns those of a part of a release.
func taskAttributes(f *story.Fact, name string, result attribute.KeyValue) []attribute.KeyValue {
	return append(runAttributes(f), semconv.CICDPipelineTaskName(name), semconv.CICDPipelineTaskTypeDeploy, result)
}

func batchAttributes(f *story.Fact) []attribute.KeyValue {
	return []attribute.KeyValue{attribute.Int("sluice.batch", f.Batch), attribute.Int("sluice.batches", f.Batches)}
}

func gateAttributes(f *story.Fact) []attribute.KeyValue {
	all := []attribute.KeyValue{
		attribute.Int("sluice.batch", f.Batch),
		semconv.CICDPipelineTaskRunID(fit(string(f.Gate.UID))),
		attribute.String("sluice.gate.name", fit(f.Gate.Name)),
		attribute.String("sluice.gate.type", fit(string(f.Gate.Type))),
		attribute.Bool("sluice.gate.forced", f.Gate.Forced),
	}
	all = append(all, text("sluice.gate.by", f.Gate.By)...)
	return append(all, text(string(semconv.CICDPipelineTaskRunURLFullKey), page(f.Gate.URL))...)
}

func releaseAttributes(f *story.Fact, how end) []attribute.KeyValue {
	all := append(runAttributes(f), semconv.CICDPipelineActionNameRun, how.result,
		attribute.String("sluice.outcome", how.outcome), attribute.Int("sluice.batches", f.Batches))
	all = append(all, workloadAttributes(f.Workload)...)
	all = append(all, text("sluice.train", f.Train)...)
	all = append(all, text("sluice.commit.author", f.Author)...)
	all = append(all, text("sluice.commit.subject", f.Subject)...)
	if isRollback(f) {
		all = append(all, rollbackAttributes(f)...)
	}
	if how.wrong {
		all = append(all, errorType(how.kind))
	}
	return all
}

func rollbackAttributes(f *story.Fact) []attribute.KeyValue {
	return append(text("sluice.rollback.trigger", string(f.Trigger)), text("sluice.rollback.from", f.From)...)
}

// workloadAttributes names a workload as the semantic conventions of OpenTelemetry do, such as
// k8s.deployment.name.
func workloadAttributes(w v1alpha1.WorkloadReference) []attribute.KeyValue {
	if w.Kind == "" { // of a train
		return nil
	}
	if kinds.Named(w.Kind) == nil {
		return text("sluice.workload", fmt.Sprintf("%s/%s", w.Kind, w.Name))
	}
	return text("k8s."+strings.ToLower(w.Kind)+".name", w.Name)
}

// page returns an address that people can open, whole; nothing for any other, and for one that does
// not fit: half an address leads elsewhere.
func page(address string) string {
	if !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "http://") || fit(address) != address {
		return ""
	}
	return address
}
