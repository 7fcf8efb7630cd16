package view

import (
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// TestChangesOfAReleaseInProgress: an approver sees the changes: the released template, against
// the one that ran before.
func TestChangesOfAReleaseInProgress(t *testing.T) {
	t.Parallel()
	before := kept(1, v1alpha1.OutcomeReleased, now, now, nil)
	before.Data = runtime.RawExtension{Raw: []byte(`{"spec":{"containers":[{"image":"web:1"}]}}`)}
	workload := &appsv1.Deployment{}
	workload.Spec.Template.Spec.Containers = []corev1.Container{{Image: "web:2"}}
	empty := workload.DeepCopy()
	empty.Spec.Template.Spec.Containers[0].Image = "web:1"
	set := appsv1.ReplicaSet{}
	set.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "r2"}
	set.Spec.Template = *workload.Spec.Template.DeepCopy()
	set.Spec.Template.Labels = map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "r2"}
	cases := map[string]struct {
		reason string
		change func(*show.Sight)
		want   bool
	}{
		"InProgress": {"the workload has the template that is released", func(*show.Sight) {}, true},
		"AtRest":     {"nothing is being released", func(s *show.Sight) { s.Release.Status.Held = nil }, false},
		"Rollback":   {"its page has a preview of its own", func(s *show.Sight) { s.Release.Status.Rollback = &v1alpha1.RollbackRecord{} }, false},
		"Emptied":    {"a Deployment without pods has the stable template", func(s *show.Sight) { s.Workload, s.Sets = empty, []appsv1.ReplicaSet{set} }, true},
		"NotYet":     {"nothing has the template yet", func(s *show.Sight) { s.Workload = empty }, false},
		"NoHistory":  {"the viewer may not read the history", func(s *show.Sight) { s.Kept = nil }, false},
		"NoWorkload": {"the viewer may not read the workload", func(s *show.Sight) { s.Workload = nil }, false},
		"Same":       {"the release goes back to what ran", func(s *show.Sight) { s.Release.Status.UpdateRevision = "r1" }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			of := release("web", v1alpha1.PhaseRollingUpdate)
			of.Status.Held, of.Status.StableRevision, of.Status.UpdateRevision = &v1alpha1.HeldWorkload{}, "r1", "r2"
			sight := &show.Sight{Whole: &show.Whole{Release: of, Workload: workload}, Kept: []appsv1.ControllerRevision{before}}
			tc.change(sight)
			changes := ReleaseOf(sight, false, now).Changes
			if got := changes != nil; got != tc.want {
				t.Fatalf("%s: got changes %v, want %v", tc.reason, changes, tc.want)
			}
			if tc.want && !slices.ContainsFunc(changes.Lines, func(l DiffLine) bool { return l.Class == "add" && strings.Contains(l.Text, "image: web:2") }) {
				t.Errorf("%s: the new image is not among the lines that are added: %+v", tc.reason, changes.Lines)
			}
			if tc.want && slices.ContainsFunc(changes.Lines, func(l DiffLine) bool { return strings.Contains(l.Text, "hash") }) {
				t.Errorf("%s: labels of ReplicaSets are no change: %+v", tc.reason, changes.Lines)
			}
		})
	}
}

// TestLargeChangesAreNotCompared: the page of a release compares no large templates: it is made
// again for each viewer at each event.
func TestLargeChangesAreNotCompared(t *testing.T) {
	t.Parallel()
	large := kept(1, v1alpha1.OutcomeReleased, now, now, nil)
	large.Data = runtime.RawExtension{Raw: []byte(`{"a":"` + strings.Repeat("a", mostChanged) + `"}`)}
	of := release("web", v1alpha1.PhaseRollingUpdate)
	of.Status.Held, of.Status.StableRevision, of.Status.UpdateRevision = &v1alpha1.HeldWorkload{}, "r1", "r2"
	changes := changesOf(&show.Sight{Whole: &show.Whole{Release: of, Workload: &appsv1.Deployment{}}, Kept: []appsv1.ControllerRevision{large}})
	if changes == nil || len(changes.Lines) > 0 || changes.Note == "" {
		t.Errorf("want a note in place of lines, got %+v", changes)
	}
}

// TestATimelineNamesNoAuthorForARollback: the newest comes first, also in one second, and a
// rollback is not said to be by the author of the commit that it goes back to.
func TestATimelineNamesNoAuthorForARollback(t *testing.T) {
	t.Parallel()
	of := release("web", v1alpha1.PhaseRollingUpdate)
	of.Status.StartedAt, of.Status.StepStartedAt = &metav1.Time{Time: now}, &metav1.Time{Time: now}
	of.Status.UpdateRevision = "r2"
	back := kept(1, v1alpha1.OutcomeRolledBackTo, now.Add(-time.Minute), now.Add(-time.Minute), map[string]string{v1alpha1.AuthorAnnotation: "Ada"})
	sight := &show.Sight{Whole: &show.Whole{Release: of}, Kept: []appsv1.ControllerRevision{back}}
	entries := timelineOf(sight)
	if last := entries[len(entries)-1]; last.By != "" || !strings.HasPrefix(last.What, "Rolled back to") {
		t.Errorf("want a rollback by nobody, got %+v", last)
	}
	if !strings.HasPrefix(entries[0].What, "Batch") || !strings.HasPrefix(entries[1].What, "Release of") {
		t.Errorf("want the batch above the release that it belongs to, got %q and %q", entries[0].What, entries[1].What)
	}
}

// TestAnAddressIsShownOnce: the address of a pull request is in its link, and not in the text
// beside it as well.
func TestAnAddressIsShownOnce(t *testing.T) {
	t.Parallel()
	const address = "https://github.com/example/shop/pull/4"
	gate := &v1alpha1.Gate{Status: v1alpha1.GateStatus{
		Message: "waits for pull request #4 to be merged: " + address, PullRequest: &v1alpha1.PullRequestReference{Number: 4, URL: address},
	}}
	if got := gateOf(gate); got.Text != "waits for pull request #4 to be merged" || got.Pull == nil || got.Pull.Address != address {
		t.Errorf("want the address in the link alone, got %q and %v", got.Text, got.Pull)
	}
	gate.Status.PullRequest.URL = "javascript:alert(1)"
	gate.Status.Message = "waits for pull request #4 to be merged: javascript:alert(1)"
	if got := gateOf(gate); got.Text != gate.Status.Message {
		t.Errorf("what is no link stays text, got %q", got.Text)
	}
}
