package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// applied returns a scene after a user's apply in mid-release: strategy and template in one write.
func applied(revision string) *scene {
	return takenFrom(func(w *Workload) {
		deploymentOf(w).Recreate = false
		w.Digest, w.Revision = "digest-"+revision, revision
	})
}

// TestTemplateAndStrategyArePutBackInOneWrite: between two writes the native controller would make
// pods of the first one's template.
func TestTemplateAndStrategyArePutBackInOneWrite(t *testing.T) {
	t.Parallel()
	const (
		reason = ": put back: only Sluice may unpause a workload that is taken over"
		whole  = "take over with the template of the release" + reason
		alone  = "take over" + reason
	)
	begun := func(s *v1alpha1.BatchReleaseStatus) {
		s.Phase, s.CurrentStepState, s.StepStartedAt = v1alpha1.PhaseInitial, v1alpha1.StepInitial, nil
	}
	movedOn := func(o *Observation) { o.Given = "given-v3" }
	checkScripts(t, map[string]scripted{
		"both":                            {applied("v9"), []string{whole}},
		"the template of an earlier push": {applied("v9").keep("v2").but(movedOn), []string{"take over with template v2" + reason}},
		"one that nobody has":             {applied("v9").but(movedOn), []string{alone}},
		"one that the API server refuses": {applied("v9").but(refusing(takeOverV2)), []string{alone}},
		"the strategy alone":              {applied("v2"), []string{alone}},
		"before the first step":           {applied("v9").status(begun), []string{alone}},
		"without a status":                {applied("v9").but(func(o *Observation) { o.Release.Status = v1alpha1.BatchReleaseStatus{} }), []string{alone}},
	})
}

// TestForeignRevisionIsNoted: which pods are foreign is noted with the write that puts the template
// back.
func TestForeignRevisionIsNoted(t *testing.T) {
	t.Parallel()
	before := func(o *Observation) { o.Workload.Hold.Foreign = "v8" }
	templateOnly := func(revision string) *scene {
		return takenFrom(func(w *Workload) { w.Digest, w.Revision = "digest-"+revision, revision }).but(resolvedAs("digest-v2"))
	}
	for name, test := range map[string]struct {
		scene *scene
		want  string
	}{
		"with the strategy":             {applied("v9"), "v9"},
		"without":                       {templateOnly("v9"), "v9"},
		"with the annotation taken off": {templateOnly("v9").but(func(o *Observation) { o.Workload.Hold = nil }), "v9"},
		"the last one":                  {applied("v9").but(before), "v9"},
		"the one before stays":          {applied("v2").but(before), "v8"},
		"not the stable one":            {applied("v1"), ""},
		"of one without pods":           {templateOnly("v9").but(func(o *Observation) { o.Workload.Hold.Emptied = true }), "v9"},
		"not of a workload taken over":  {running(10), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := takeOverOf(t, next(t, test.scene)).Hold.Foreign; got != test.want {
				t.Errorf("want %q noted, got %q", test.want, got)
			}
		})
	}
}

// foreignSeen remembers of which pods a mover is told that they are foreign.
type foreignSeen struct {
	daemonset.Mover
	seen *[]string
}

func (m foreignSeen) Keep(t mover.Task) mover.Moves {
	*m.seen = append(*m.seen, t.Foreign)
	return m.Mover.Keep(t)
}

// TestWhatIsReleasedIsNeverForeign: the update revision and the stable revision are never foreign,
// whatever the annotation says, which others may write where no policy keeps them from it.
func TestWhatIsReleasedIsNeverForeign(t *testing.T) {
	t.Parallel()
	for foreign, want := range map[string]string{"v9": "v9", "v1": "", "v2": ""} {
		var seen []string
		s := held(10).but(onRecord).but(func(o *Observation) {
			m := daemonset.Mover{OnDelete: true, Workload: inplace.Workload{
				Observed: true, Replicas: 10, Digest: o.Workload.Digest, Update: "v2", Listed: true, Live: true,
			}}
			o.Workload.Mover, o.Workload.Hold.Foreign = foreignSeen{m, &seen}, foreign
		})
		Next(s.Observation)
		if diff := cmp.Diff([]string{want}, seen); diff != "" {
			t.Errorf("foreign pods with %s in the hold (-want +got):\n%s", foreign, diff)
		}
	}
}
