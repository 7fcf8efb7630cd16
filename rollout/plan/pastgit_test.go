package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// gitGives returns a release from Git that was given the template of a revision.
func (s *scene) gitGives(revision string) *scene {
	return s.annotated(v1alpha1.GitTemplateAnnotation, resolved(revision).Given)
}

// TestTemplateThatIsNotGits: a write to spec.template without Git starts nothing, whatever it
// replaces and whoever approved. The release reports it where it can.
func TestTemplateThatIsNotGits(t *testing.T) {
	t.Parallel()
	grown := func() *scene { return held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)) }
	checkScripts(t, map[string]scripted{
		"no release begins":           {completed(10).gitGives("v1"), nil},
		"nor the first":               {running(10).gitGives("v1"), nil},
		"nor over one that is queued": {completed(10).gitGives("v1").status(waits("v2")), nil},
		"what is under way stands":    {grown().resolved("v9").gitGives("v2"), nil},
		"nor is it a way back that asks nobody": {
			grown().resolved("v1").gitGives("v2"), nil,
		},
		"a rollback is begun": {
			grown().resolved("v9").gitGives("v2").annotated(v1alpha1.RollbackAnnotation, "true"),
			script(Next(grown().annotated(v1alpha1.RollbackAnnotation, "true").Observation)),
		},
		"what Git gives is released": {grown().gitGives("v2"), script(Next(grown().Observation))},
		"and so is what no Git gives": {
			completed(10), script(Next(completed(10).gitGives("v2").Observation)),
		},
	})
}

func TestTemplateThatIsNotGitsIsTold(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene   *scene
		message string
	}{
		"completed":  {completed(10).gitGives("v1"), pastGitWords},
		"never run":  {running(10).gitGives("v1"), pastGitWords},
		"under way":  {held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).resolved("v9").gitGives("v2"), "batch 2/3 is on hold: " + pastGitWords},
		"not begun":  {held(10).sets(set("v1", 10)).status(noBatch).resolved("v9").gitGives("v2"), "the release has not begun: " + pastGitWords},
		"frozen too": {held(10).at(0, 1).sets(set("v1", 10)).frozen(`{"reason":"x"}`).resolved("v9").gitGives("v2"), "batch 1/3 is on hold: frozen: x; " + pastGitWords},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			told := next(t, test.scene)
			drifted := meta.FindStatusCondition(told.Status.Conditions, v1alpha1.ConditionDrifted)
			if drifted == nil || drifted.Reason != v1alpha1.ReasonChangedPastGit || meta.IsStatusConditionTrue(told.Status.Conditions, v1alpha1.ConditionReady) {
				t.Errorf("the conditions are %+v, want Drifted with reason ChangedPastGit, and not Ready", told.Status.Conditions)
			}
			if told.Status.Message != test.message {
				t.Errorf("the status says %q, want %q", told.Status.Message, test.message)
			}
			if name != "frozen too" && (len(told.Events) != 1 || !told.Events[0].Warning || told.Events[0].Reason != v1alpha1.ReasonChangedPastGit) {
				t.Errorf("the events are %+v, want one warning", told.Events)
			}
		})
	}
}

// TestTemplateIsGitsAgain: once the source has taken the template back, all is as if nothing had
// been.
func TestTemplateIsGitsAgain(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func() *scene{
		"completed": func() *scene {
			return completed(10).resolved("v1").gitGives("v1").status(func(s *v1alpha1.BatchReleaseStatus) { s.Message = "all pods run revision v1" })
		},
		"under way": func() *scene { return held(10).at(1, 5).sets(set("v1", 9), set("v2", 1)).gitGives("v2") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := next(t, before())
			tampered := before()
			tampered.Given = "given-v9"
			told := next(t, tampered)
			again := before().status(func(s *v1alpha1.BatchReleaseStatus) { *s = told.Status })
			got := next(t, again)
			if got.Status.Reason != want.Status.Reason || got.Status.Message != want.Status.Message || got.Status.Attempt != want.Status.Attempt {
				t.Errorf("the status says %s: %s in attempt %d, want %s: %s in %d", got.Status.Reason, got.Status.Message, got.Status.Attempt,
					want.Status.Reason, want.Status.Message, want.Status.Attempt)
			}
			if drifted := meta.FindStatusCondition(got.Status.Conditions, v1alpha1.ConditionDrifted); drifted != nil {
				t.Errorf("condition Drifted is still %+v", drifted)
			}
		})
	}
}
