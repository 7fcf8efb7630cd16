package traces_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/collector"
	"github.com/sluice-dev/sluice/telemetry/story"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

const commit = "c0ffeec0ffeec0ffeec0ffeec0ffeec0ffeec0ff"

var noon = time.Date(2026, time.October, 5, 12, 0, 0, 0, time.UTC)

func minute(n int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(n) * time.Minute)) }

// scene is a release whose status changes, and who is told of it.
type scene struct {
	release *v1alpha1.BatchRelease
	facts   []story.Fact
}

func newScene() *scene {
	return &scene{release: &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "8b1f3a4e-uid"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: make([]v1alpha1.Step, 2)},
		},
	}}
}

// then changes the status, so many minutes after noon.
func (s *scene) then(after int, change func(*v1alpha1.BatchReleaseStatus)) *scene {
	before := s.release.DeepCopy()
	s.release.Status.LastUpdateTime = new(minute(after))
	change(&s.release.Status)
	s.facts = append(s.facts, story.OfRelease(before, s.release, minute(after).Time)...)
	return s
}

// begins releases a template.
func (s *scene) begins(after int, revision string) *scene {
	return s.then(after, func(status *v1alpha1.BatchReleaseStatus) {
		status.Attempt++
		status.StartedAt, status.StepStartedAt = new(minute(after)), new(minute(after))
		status.UpdateRevision, status.Phase, status.Rollback = revision, v1alpha1.PhaseRollingUpdate, nil
		status.Commit, status.CommitAuthor, status.CommitSubject = commit, "Ada <ada@example.com>", "Sell hats"
		status.CurrentStepIndex, status.CurrentStepState = 0, v1alpha1.StepUpgrade
	})
}

func (s *scene) step(after int, index int32, state v1alpha1.StepState) *scene {
	return s.then(after, func(status *v1alpha1.BatchReleaseStatus) {
		if status.CurrentStepIndex != index {
			status.StepStartedAt = new(minute(after))
		}
		status.CurrentStepIndex, status.CurrentStepState = index, state
	})
}

func (s *scene) completes(after int) *scene {
	return s.then(after, func(status *v1alpha1.BatchReleaseStatus) { status.Phase = v1alpha1.PhaseCompleted })
}

// goesBack begins a rollback.
func (s *scene) goesBack(after int, trigger v1alpha1.RollbackTrigger) *scene {
	return s.then(after, func(status *v1alpha1.BatchReleaseStatus) {
		status.Rollback = &v1alpha1.RollbackRecord{Trigger: trigger, From: status.UpdateRevision}
		status.Attempt++
		status.Adopted = false
		status.StartedAt, status.StepStartedAt = new(minute(after)), new(minute(after))
		status.UpdateRevision, status.Phase = "aaaa", v1alpha1.PhaseRollingBack
		status.CurrentStepIndex, status.CurrentStepState = 0, v1alpha1.StepUpgrade
	})
}

// gate returns opened for the current batch, and decided.
func (s *scene) gate(opened, after int, decision v1alpha1.Decision, change func(*v1alpha1.Gate)) *scene {
	g := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-bbbb-1-0-0", UID: "6a7e-uid", CreationTimestamp: minute(opened)},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: s.release.UID}, Type: v1alpha1.GatePullRequest,
			Attempt: s.release.Status.Attempt, Revision: s.release.Status.UpdateRevision, Commit: commit, Step: s.release.Status.CurrentStepIndex,
		},
	}
	decided := g.DeepCopy()
	decided.Status.Decision, decided.Status.DecidedAt = decision, new(minute(after))
	decided.Status.Evidence = []v1alpha1.Evidence{{Actor: "grace", URL: "https://forge.example.com/pull/12"}}
	if change != nil {
		change(decided)
	}
	s.facts = append(s.facts, story.OfGate(nil, g, minute(opened).Time)...)
	s.facts = append(s.facts, story.OfGate(g, decided, minute(after).Time)...)
	return s
}

func stuck(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }

// whole returns a release of two batches with a gate between them.
func whole() *scene {
	return newScene().begins(0, "bbbb").
		step(2, 0, v1alpha1.StepBlocking).gate(2, 30, v1alpha1.DecisionPassed, nil).
		step(31, 1, v1alpha1.StepUpgrade).step(33, 1, v1alpha1.StepBlocking).completes(34)
}

func newExporter(t *testing.T, o traces.Options) *traces.Exporter {
	t.Helper()
	o.Logger = logr.FromSlogHandler(slog.DiscardHandler)
	exporter, err := traces.New(o)
	if err != nil {
		t.Fatalf("make exporter: %v", err)
	}
	t.Cleanup(func() { exporter.Shutdown(context.WithoutCancel(t.Context())) })
	return exporter
}

// told returns the spans that come of facts.
func told(t *testing.T, facts []story.Fact) []collector.Span {
	t.Helper()
	to := collector.New(t)
	exporter := newExporter(t, traces.Options{Endpoint: to.URL})
	exporter.Tell(facts)
	if err := exporter.Flush(t.Context()); err != nil {
		t.Fatalf("send spans: %v", err)
	}
	return to.Spans()
}

// lines returns spans as people would draw them, sorted by what they are about.
func lines(spans []collector.Span) []string {
	names := map[string]string{}
	for _, s := range spans {
		names[string(s.TraceId)+string(s.SpanId)] = s.Name
	}
	after := func(nano uint64) int64 { return (int64(nano) - noon.UnixNano()) / int64(time.Minute) }
	var all []string
	for _, s := range spans {
		line := fmt.Sprintf("%d: %s %d-%d", attemptOf(s), s.Name, after(s.StartTimeUnixNano), after(s.EndTimeUnixNano))
		if len(s.ParentSpanId) > 0 {
			line += " in " + names[string(s.TraceId)+string(s.ParentSpanId)]
		}
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			line += " ERROR " + s.Status.GetMessage()
		}
		for _, link := range s.Links {
			line += " -> " + names[string(link.TraceId)+string(link.SpanId)]
		}
		all = append(all, line)
	}
	slices.Sort(all)
	return all
}

// attemptOf returns the attempt whose trace a span is in.
func attemptOf(s collector.Span) int64 {
	for attempt := range int64(9) {
		if hex.EncodeToString(s.TraceId) == traces.TraceID("shop", "8b1f3a4e-uid", attempt) {
			return attempt
		}
	}
	return -1
}

func TestTraceOfRelease(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"a whole release": {whole(), []string{
			"1: batch 1 0-2 in release shop/web", "1: batch 2 31-33 in release shop/web",
			"1: gate pullRequest 2-30 in release shop/web", "1: release shop/web 0-34",
		}},
		"rejected, and rolled back": {
			newScene().begins(0, "bbbb").step(2, 0, v1alpha1.StepBlocking).
				gate(2, 9, v1alpha1.DecisionRejected, func(g *v1alpha1.Gate) { g.Status.Message = "pull request #12 was closed" }).
				goesBack(10, v1alpha1.TriggerGateRejected).step(12, 0, v1alpha1.StepBlocking).completes(13),
			[]string{
				"1: batch 1 0-2 in release shop/web", "1: gate pullRequest 2-9 in release shop/web ERROR rejected: pull request #12 was closed",
				"1: release shop/web 0-10 ERROR rolled back -> rollback shop/web", "1: rollback 10-13 in release shop/web ERROR rolled back -> rollback shop/web",
				"2: batch 1 10-12 in rollback shop/web", "2: rollback shop/web 10-13 ERROR rolled back -> release shop/web",
			},
		},
		"rolled back after it was released": {
			whole().goesBack(60, v1alpha1.TriggerAnnotation).step(62, 0, v1alpha1.StepBlocking).completes(63),
			[]string{
				"1: batch 1 0-2 in release shop/web", "1: batch 2 31-33 in release shop/web", "1: gate pullRequest 2-30 in release shop/web",
				"1: release shop/web 0-34", "1: rollback 60-63 in release shop/web ERROR rolled back -> rollback shop/web",
				"2: batch 1 60-62 in rollback shop/web", "2: rollback shop/web 60-63 ERROR rolled back -> release shop/web",
			},
		},
		"rolled back before it was released": {
			newScene().begins(0, "bbbb").goesBack(10, v1alpha1.TriggerAnnotation),
			[]string{"1: release shop/web 0-10 ERROR rolled back -> "},
		},
		"rolled back, of which this process knows nothing": {
			newScene().begins(0, "bbbb").but(func(s *scene) { s.facts = nil }).goesBack(10, v1alpha1.TriggerAnnotation),
			nil,
		},
		"rolled back after it was adopted": {
			newScene().begins(0, "bbbb").but(func(s *scene) { s.release.Status.Adopted, s.facts = true, nil }).completes(1).
				goesBack(60, v1alpha1.TriggerAnnotation).step(62, 0, v1alpha1.StepBlocking).completes(63),
			[]string{"2: batch 1 60-62 in rollback shop/web", "2: rollback shop/web 60-63 ERROR rolled back -> "},
		},
		"drifted after a restart, and taken back": {
			whole().but(func(s *scene) { s.facts = nil }).then(50, func(s *v1alpha1.BatchReleaseStatus) { s.State = v1alpha1.StateDrifted }).
				goesBack(60, v1alpha1.TriggerDrift),
			nil,
		},
		"stuck, then superseded": {
			newScene().begins(0, "bbbb").then(10, func(s *v1alpha1.BatchReleaseStatus) { s.Phase, s.Message = v1alpha1.PhaseFailed, "pods crash" }).begins(20, "cccc"),
			[]string{
				"1: no progress 0-10 in release shop/web ERROR no progress within the deadline: pods crash",
				"1: release shop/web 0-20 ERROR failed: pods crash",
			},
		},
		"stuck twice in a batch": {
			newScene().begins(0, "bbbb").then(10, stuck).then(12, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseRollingUpdate }).then(20, stuck).begins(30, "cccc"),
			[]string{
				"1: no progress 0-10 in release shop/web ERROR no progress within the deadline",
				"1: no progress 0-20 in release shop/web ERROR no progress within the deadline",
				"1: release shop/web 0-30 ERROR failed",
			},
		},
		"superseded": {newScene().begins(0, "bbbb").begins(20, "cccc"), []string{"1: release shop/web 0-20"}},
		"stuck, then rolled back by somebody": {
			newScene().begins(0, "bbbb").then(10, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }).
				but(func(s *scene) { s.facts = nil }).goesBack(20, v1alpha1.TriggerAnnotation),
			[]string{"1: release shop/web 0-20 ERROR rolled back -> "},
		},
		"deleted": {
			newScene().begins(0, "bbbb").but(func(s *scene) { s.facts = append(s.facts, story.Deleted(s.release, minute(5).Time)...) }),
			[]string{"1: release shop/web 0-5"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, lines(told(t, test.scene.facts))); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

func (s *scene) but(change func(*scene)) *scene {
	change(s)
	return s
}

// TestAttributes: spans have the names that the semantic conventions for CI/CD give to what they
// say.
func TestAttributes(t *testing.T) {
	t.Parallel()
	to := collector.New(t)
	exporter := newExporter(t, traces.Options{Endpoint: to.URL, Cluster: "eu", Version: "v1.2.3", Headers: map[string]string{"authorization": "Bearer hunter2"}})
	exporter.Tell(whole().facts)
	exporter.Shutdown(t.Context())
	want := map[string]map[string]string{
		"release shop/web": {
			"cicd.pipeline.name": "shop/web", "cicd.pipeline.run.id": "8b1f3a4e-uid/1", "cicd.pipeline.result": "success", "cicd.pipeline.action.name": "RUN",
			"vcs.ref.head.revision": commit, "k8s.namespace.name": "shop", "k8s.deployment.name": "web", "sluice.attempt": "1", "sluice.revision": "bbbb",
			"sluice.outcome": "completed", "sluice.batches": "2", "sluice.commit.author": "Ada <ada@example.com>", "sluice.commit.subject": "Sell hats",
		},
		"batch 2": {"cicd.pipeline.task.name": "batch 2", "cicd.pipeline.task.type": "deploy", "cicd.pipeline.task.run.result": "success", "sluice.batch": "2", "sluice.batches": "2"},
		"gate pullRequest": {
			"sluice.gate.name": "web-bbbb-1-0-0", "sluice.gate.type": "pullRequest", "sluice.gate.by": "grace", "sluice.gate.forced": "false", "sluice.batch": "1",
			"cicd.pipeline.task.run.url.full": "https://forge.example.com/pull/12", "cicd.pipeline.task.run.result": "success",
		},
	}
	found := 0
	for _, s := range to.Spans() {
		for key, value := range want[s.Name] {
			if got := s.Text(key); got != value {
				t.Errorf("%s has %s %q, want %q", s.Name, key, got, value)
			}
		}
		if want[s.Name] != nil {
			found++
		}
		for key, value := range map[string]string{"service.name": "sluice", "service.version": "v1.2.3", "deployment.environment.name": "eu", "k8s.cluster.name": "eu"} {
			if got := s.Resource[key]; got != value {
				t.Errorf("the exporter says of itself that %s is %q, want %q", key, got, value)
			}
		}
	}
	if found != len(want) {
		t.Errorf("%d of the %d spans came", found, len(want))
	}
	for _, header := range to.Headers() {
		if got := header.Get("Authorization"); got != "Bearer hunter2" {
			t.Errorf("the collector gets authorization %q, want that of the options", got)
		}
	}
}

// TestRestartInMidRelease: two processes, one after the other, tell one trace, and no span of it
// twice.
func TestRestartInMidRelease(t *testing.T) {
	t.Parallel()
	facts := whole().facts
	want := lines(told(t, facts))
	for cut := range len(facts) + 1 {
		to := collector.New(t)
		for _, part := range [][]story.Fact{facts[:cut], facts[cut:]} {
			exporter := newExporter(t, traces.Options{Endpoint: to.URL})
			exporter.Tell(part)
			if err := exporter.Flush(t.Context()); err != nil {
				t.Fatalf("send spans: %v", err)
			}
			exporter.Shutdown(t.Context())
		}
		if diff := cmp.Diff(want, lines(to.Spans())); diff != "" {
			t.Errorf("spans with another process after %d facts (-want +got):\n%s", cut, diff)
		}
	}
}

// TestDoneTwice: pods of a batch that are lost, and come again, make no second span of it.
func TestDoneTwice(t *testing.T) {
	t.Parallel()
	s := newScene().begins(0, "bbbb").step(2, 0, v1alpha1.StepBlocking).step(3, 0, v1alpha1.StepUpgrade).step(4, 0, v1alpha1.StepBlocking)
	want := []string{"1: batch 1 0-2 in "}
	if diff := cmp.Diff(want, lines(told(t, s.facts))); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func TestGRPC(t *testing.T) {
	t.Parallel()
	to := collector.NewGRPC(t)
	exporter := newExporter(t, traces.Options{Endpoint: to.URL, Protocol: traces.GRPC})
	exporter.Tell(whole().facts)
	exporter.Shutdown(t.Context())
	if got := len(to.Spans()); got != 4 {
		t.Errorf("%d spans came by grpc, want 4", got)
	}
}

// TestHostileTexts: texts of commits, gates and messages can't make a span large, nor control a
// terminal that shows it, nor lead people to a script, nor make it last from before the epoch to
// the year 2250.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	nasty := "\x1b[2J\u202e::error::##vso[task]\r\n\xff<script>" + strings.Repeat("é", 1<<20)
	s := newScene()
	s.release.Spec.WorkloadRef.Kind, s.release.Spec.WorkloadRef.Name = nasty, nasty
	s.then(0, func(status *v1alpha1.BatchReleaseStatus) {
		status.Attempt, status.Phase, status.UpdateRevision, status.Commit = 1, v1alpha1.PhaseRollingUpdate, nasty, nasty
		status.CommitAuthor, status.CommitSubject, status.Message, status.StartedAt = nasty, nasty, nasty, new(metav1.NewTime(time.Time{}))
	})
	s.gate(0, 1, v1alpha1.DecisionRejected, func(g *v1alpha1.Gate) {
		g.Spec.Commit, g.Spec.Revision, g.Status.Message = nasty, nasty, nasty
		g.Status.Evidence[0].Actor, g.Status.Evidence[0].URL = nasty, "javascript:alert(1)"
	})
	s.then(3, func(status *v1alpha1.BatchReleaseStatus) { status.Phase, status.Message = v1alpha1.PhaseFailed, nasty })
	s.completes(4)
	for i := range s.facts { // whoever writes a Gate is not held to what the API server would take
		if g := s.facts[i].Gate; g != nil {
			g.Name, g.UID, g.Type = nasty, types.UID(nasty), v1alpha1.GateType(nasty)
			s.facts[i].Since, s.facts[i].Time = time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2250, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	spans := told(t, s.facts)
	if len(spans) != 3 {
		t.Errorf("%d spans came, want 3", len(spans))
	}
	for _, span := range spans {
		all := map[string]string{"name": span.Name, "status": span.Status.GetMessage()}
		for _, one := range span.Attributes {
			all[one.GetKey()] = span.Text(one.GetKey())
		}
		for key, text := range all {
			if len(text) > 300 || strings.ContainsAny(text, "\x1b\r\n\u202e") || !utf8.ValidString(text) || strings.Contains(text, "##vso[") || strings.HasPrefix(text, "javascript") {
				t.Errorf("%s of %.20q is %d bytes: %.80q", key, span.Name, len(text), text)
			}
		}
		begun, ended := time.Unix(0, int64(span.StartTimeUnixNano)), time.Unix(0, int64(span.EndTimeUnixNano))
		wrong := strings.HasPrefix(span.Name, "gate") && (begun.Unix() != 0 || ended.Unix() != 0) // whose times are none
		if wrong || ended.Before(begun) || ended.Year() > 2200 {
			t.Errorf("%.20q lasts from %v to %v", span.Name, begun, ended)
		}
	}
}

// TestGateOfAnotherNamespace: a Gate can name any release of its namespace, and is written to no
// trace of another.
func TestGateOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	s := whole()
	for i := range s.facts {
		if s.facts[i].Gate != nil {
			s.facts[i].Release.Namespace = "tenant"
		}
	}
	for _, span := range told(t, s.facts) {
		if got := attemptOf(span); (got == 1) != (span.Name != "gate pullRequest") {
			t.Errorf("%s is in the trace of attempt %d", span.Name, got)
		}
	}
}

func TestTraceIDIsStable(t *testing.T) {
	t.Parallel()
	const want = "43194bbed67a37e628d335a0300a6ac3"
	if got := traces.TraceID("shop", "8b1f3a4e-uid", 1); got != want {
		t.Errorf("the trace is %s, want %s: links in events and statuses lead there", got, want)
	}
}
