package app_test

import (
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/collector"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

// TestTraces: a release is one trace, although the controller is replaced at its gate, and a
// rollback is another that leads to it. Events say which.
func TestTraces(t *testing.T) {
	t.Parallel()
	c, namespace, to := newClient(t), cptest.Namespace(t), collector.New(t)
	options := app.Options{Namespaces: []string{namespace}, Cluster: "eu", Version: "v1.2.3", Traces: traces.Options{Endpoint: to.URL}}
	log := &page{}
	options.Logger = logr.FromSlogHandler(slog.NewTextHandler(log, nil))
	release := newRelease(t, namespace)
	first := start(t, cptest.Config(t), options)
	create(t, c, newDeployment(namespace), release)
	awaitRelease(t, c, release, "blocking", blocking)
	began := release.Status.StartedAt.Time
	cptest.Eventually(t, soon, func() error { // what a controller has not seen when it ends is in no trace
		if !slices.ContainsFunc(to.Spans(), func(s collector.Span) bool { return s.Name == "batch 1" }) {
			return errors.New("the collector has no span of the first batch")
		}
		return nil
	})
	stop(t, first)

	second := start(t, cptest.Config(t), options)
	awaitScaled(t, c, release, 3)
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)
	ended, id := release.Status.LastUpdateTime.Time, traces.TraceID(namespace, release.UID, release.Status.Attempt)
	setAnnotation(t, c, release, v1alpha1.RollbackAnnotation, "true")
	awaitRelease(t, c, release, "rolled back", func(s v1alpha1.BatchReleaseStatus) bool { return completed(s) && s.Rollback != nil })

	back := traces.TraceID(namespace, release.UID, release.Status.Attempt)
	called := map[string]string{id: "one", back: "back"}
	want := []string{
		"back: batch 1 in rollback NS/web", "back: batch 2 in rollback NS/web", "back: rollback NS/web ERROR -> one",
		"one: batch 1 in release NS/web", "one: batch 2 in release NS/web", "one: gate manual in release NS/web", "one: release NS/web",
		"one: rollback in release NS/web ERROR -> back",
	}
	spans := func() error {
		if diff := cmp.Diff(want, drawn(to.Spans(), called, namespace)); diff != "" {
			return fmt.Errorf("spans (-want +got):\n%s", diff)
		}
		return nil
	}
	cptest.Eventually(t, soon, spans)          // this test may see the end of the rollback before the controller does
	for _, trace := range []string{id, back} { // events that are on their way end with the controller
		awaitEvent(t, c, namespace, "; trace "+trace)
	}
	stop(t, second)
	if err := spans(); err != nil {
		t.Errorf("once the controller has ended: %v", err)
	}
	for _, want := range []string{"; trace " + id, "; trace " + back, "reason=" + v1alpha1.ReasonStepDone} { // the last one is not recorded, and logged all the same
		if !strings.Contains(log.String(), want) {
			t.Errorf("want %q in the log, got %s", want, log)
		}
	}
	for _, span := range to.Spans() {
		from, until := time.Unix(0, int64(span.StartTimeUnixNano)), time.Unix(0, int64(span.EndTimeUnixNano))
		if span.Name == "release "+namespace+"/web" && (!from.Equal(began) || !until.Equal(ended)) {
			t.Errorf("the release lasts from %v to %v, want from %v to %v as its status says", from, until, began, ended)
		}
		if hex.EncodeToString(span.TraceId) == id && span.Name != "rollback" && (from.Before(began) || until.After(ended)) {
			t.Errorf("%s lasts from %v to %v, which is not within the release, from %v to %v", span.Name, from, until, began, ended)
		}
		if got := span.Text("k8s.namespace.name"); got != namespace {
			t.Errorf("%s is of namespace %q, want %q", span.Name, got, namespace)
		}
	}
}

// drawn returns spans with what they are in and what they lead to, sorted; every one that came, so
// that one that came twice is there twice.
func drawn(spans []collector.Span, called map[string]string, namespace string) []string {
	names := map[string]string{}
	for _, s := range spans {
		names[string(s.SpanId)] = s.Name
	}
	var all []string
	for _, s := range spans {
		line := called[hex.EncodeToString(s.TraceId)] + ": " + s.Name
		if len(s.ParentSpanId) > 0 {
			line += " in " + names[string(s.ParentSpanId)]
		}
		if s.Status.GetCode() == tracepb.Status_STATUS_CODE_ERROR {
			line += " ERROR"
		}
		for _, link := range s.Links {
			line += " -> " + called[hex.EncodeToString(link.TraceId)]
		}
		all = append(all, strings.ReplaceAll(line, namespace, "NS"))
	}
	slices.Sort(all)
	return all
}

func stop(t *testing.T, c *controller) {
	t.Helper()
	if err := c.stop(); err != nil {
		t.Fatalf("stop controller: %v", err)
	}
}

// awaitScaled scales the workload of a release, and waits until the controller, which thereby is
// seen to run, has noticed.
func awaitScaled(t *testing.T, c client.Client, release *v1alpha1.BatchRelease, replicas int32) {
	t.Helper()
	workload := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: release.Namespace, Name: "web"}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas))
	if err := c.Patch(t.Context(), workload, patch); err != nil {
		t.Fatalf("scale: %v", err)
	}
	awaitRelease(t, c, release, "scaled, and blocking", func(s v1alpha1.BatchReleaseStatus) bool { return s.Replicas == replicas && blocking(s) })
}

func setAnnotation(t *testing.T, c client.Client, release *v1alpha1.BatchRelease, key, value string) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value))
	if err := c.Patch(t.Context(), release.DeepCopy(), patch); err != nil {
		t.Fatalf("annotate: %v", err)
	}
}

func awaitEvent(t *testing.T, c client.Client, namespace, text string) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		var events eventsv1.EventList
		if err := c.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range events.Items {
			if strings.Contains(events.Items[i].Note, text) {
				return nil
			}
		}
		return fmt.Errorf("want an event that says %q", text)
	})
}
