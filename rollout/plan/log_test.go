package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// logged returns the log of a status, with a word and the actor for each entry.
func logged(status *v1alpha1.BatchReleaseStatus) []string {
	var words []string
	for _, one := range status.Log {
		words = append(words, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", one.Type, one.Cause, one.Revision, one.By)))
	}
	return words
}

// TestLog: each action on a release is logged once, with the account that requested it.
func TestLog(t *testing.T) {
	t.Parallel()
	by := func(s *scene) *scene { return s.annotated(v1alpha1.RequestedByAnnotation, "ada") }
	suspend := func(o *Observation) { o.Release.Spec.Suspend = true }
	suspended := func(s *v1alpha1.BatchReleaseStatus) { s.StoppedBy = []v1alpha1.StopCause{v1alpha1.StopSuspended} }
	failed := func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.State, s.Failure = v1alpha1.PhaseFailed, v1alpha1.StateFailed, &v1alpha1.Failure{DeadlineSeconds: 600}
	}
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"nothing":           {held(10), nil},
		"paused":            {by(held(10)).but(suspend), []string{"Stopped Suspended  ada"}},
		"paused by kubectl": {held(10).but(suspend), []string{"Stopped Suspended"}},
		"paused before":     {held(10).but(suspend).status(suspended), nil},
		"paused at rest":    {by(completed(10)).but(func(o *Observation) { o.Given = "given-v1"; suspend(o) }), []string{"Stopped Suspended  ada"}},
		"resumed":           {by(held(10)).status(suspended), []string{"Resumed Suspended  ada"}},
		"retried":           {by(held(10)).status(failed).annotated(v1alpha1.RetryAnnotation, "true"), []string{"Retried   ada"}},
		"retry of nothing":  {held(10).annotated(v1alpha1.RetryAnnotation, "true"), nil},
		"rolled back":       {by(held(10)).annotated(v1alpha1.RollbackAnnotation, "true"), []string{"RollbackStarted  v1 ada"}},
		"superseded":        {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3"), []string{"Superseded  v2"}},
		"released after":    {completed(10).resolved("v2"), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			got := logged(&p.Status)
			if !slices.Equal(got, test.want) {
				t.Errorf("want %q, got %q", test.want, got)
			}
		})
	}
}

// TestWhoRequestedIsForgotten: a name that stayed would answer for what somebody else requests
// later.
func TestWhoRequestedIsForgotten(t *testing.T) {
	t.Parallel()
	p := next(t, held(10).annotated(v1alpha1.RequestedByAnnotation, "ada"))
	removed := slices.ContainsFunc(p.Actions, func(action Action) bool {
		a, is := action.(Annotate)
		return is && slices.Equal(a.Remove, []string{v1alpha1.RequestedByAnnotation})
	})
	if !removed || len(p.Status.Log) != 0 {
		t.Errorf("want the name gone and nothing logged, got %q, %v", script(p), p.Status.Log)
	}
	p = next(t, rollingBack(10).annotated(v1alpha1.RequestedByAnnotation, "ada").annotated(v1alpha1.RollbackAnnotation, "true"))
	removed = slices.ContainsFunc(p.Actions, func(action Action) bool {
		a, is := action.(Annotate)
		return is && slices.Equal(a.Remove, []string{v1alpha1.RollbackAnnotation, v1alpha1.RequestedByAnnotation})
	})
	if !removed {
		t.Errorf("want the name gone with the request, got %q", script(p))
	}
}

// TestLogIsBounded: the newest stay, and a name is as long as the API takes.
func TestLogIsBounded(t *testing.T) {
	t.Parallel()
	full := make([]v1alpha1.LogEntry, maxLog)
	for i := range full {
		full[i] = v1alpha1.LogEntry{Type: v1alpha1.LogRetried, Time: metav1.NewTime(noon), By: fmt.Sprint(i)}
	}
	s := held(10).status(func(s *v1alpha1.BatchReleaseStatus) { s.Log = full }).but(func(o *Observation) { o.Release.Spec.Suspend = true })
	log := next(t, s.annotated(v1alpha1.RequestedByAnnotation, strings.Repeat("a", 600))).Status.Log
	if len(log) != maxLog || log[0].By != "1" || log[maxLog-1].Type != v1alpha1.LogStopped || len(log[maxLog-1].By) > 512 {
		t.Errorf("got %d entries, the first %+v, the last %+v", len(log), log[0], log[len(log)-1])
	}
}

// TestImages: the images belong to the released version, also while spec.template has another
// version, and after a rollback.
func TestImages(t *testing.T) {
	t.Parallel()
	runs := func(image string) func(*Observation) {
		return func(o *Observation) { o.Workload.Images = []string{image} }
	}
	had := func(s *v1alpha1.BatchReleaseStatus) { s.Images = []string{"web:2"} }
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"the workload has its template":  {held(10).but(runs("web:2")), []string{"web:2"}},
		"it has another one for now":     {held(10).status(had).but(runs("web:9")).but(func(o *Observation) { o.Workload.Digest = "digest-v9" }), []string{"web:2"}},
		"another version is about to be": {held(10).status(had).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v3").but(runs("web:2")), nil},
		"nothing was released yet":       {running(10).but(func(o *Observation) { o.Given = "" }).but(runs("web:1")), nil},
	}
	for name, test := range tests {
		if got := next(t, test.scene).Status.Images; !slices.Equal(got, test.want) {
			t.Errorf("%s: want %q, got %q", name, test.want, got)
		}
	}
}
