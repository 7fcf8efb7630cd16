package approvals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

// templateOf returns a template in JSON, and a manifest with it as people write it.
func templateOf(s *shop, image string) (template, manifest string) {
	template = fmt.Sprintf(`{"spec":{"containers":[{"name":"web","image":%q}]}}`, image)
	manifest = fmt.Sprintf("# ours\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: %s, namespace: %s}\n"+
		"spec:\n  template: {spec: {containers: [{name: web, image: '%s'}]}} # the template\n", s.name, s.namespace, image)
	return template, manifest
}

// push commits the manifest of an image.
func (s *shop) push(image string) string {
	s.Helper()
	_, manifest := templateOf(s, image)
	return forgetest.As(s, s.forge, "shop/"+s.name, "ada", s.tokens["ada"]).Put("main", "web.yaml", []byte(manifest))
}

// rolledBack has the shop release web:2, and roll back to web:1 while Git has web:2.
func (s *shop) rolledBack(annotations ...string) *shop {
	s.Helper()
	then := s.push("web:1")
	s.commit = s.push("web:2")
	s.sync()
	s.begin()
	good, _ := templateOf(s, "web:1")
	s.keep("57d9", then, good) // as we name it
	s.keep("58d4", "", good)
	for _, annotation := range append([]string{v1alpha1.TemplateFileAnnotation + "=web.yaml"}, annotations...) {
		s.annotate(annotation)
	}
	bad, _ := templateOf(s, "web:2")
	given, err := podtemplate.Given([]byte(bad))
	if err != nil {
		s.Fatal(err)
	}
	s.asRollout(s.release, func(status *v1alpha1.BatchReleaseStatus) {
		status.Phase, status.CurrentStepState, status.Attempt = v1alpha1.PhaseCompleted, v1alpha1.StepCompleted, 2
		status.UpdateRevision, status.Quarantined = "58d4", []string{given}
		status.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerDeadline, From: "7f9c", Message: "no progress"}
	})
	return s
}

func (s *shop) annotate(annotation string) {
	s.Helper()
	key, value, _ := strings.Cut(annotation, "=")
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
	if err := s.Patch(s.Context(), s.release, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		s.Fatalf("annotate release: %v", err)
	}
}

// keep keeps a template, as rollout does.
func (s *shop) keep(revision, commit, template string) {
	s.Helper()
	err := s.Create(s.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: s.name + "-" + revision + ".sluice",
			Labels:          map[string]string{v1alpha1.ReleaseLabel: s.name, v1alpha1.RevisionLabel: revision},
			Annotations:     map[string]string{v1alpha1.CommitAnnotation: commit, v1alpha1.DigestAnnotation: "d1"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(s.release, v1alpha1.GroupVersion.WithKind("BatchRelease"))},
		},
		Data: runtime.RawExtension{Raw: []byte(template)}, Revision: 1,
	})
	if err != nil {
		s.Fatalf("keep template: %v", err)
	}
}

// awaitRevert waits until the revert is in a state.
func (s *shop) awaitRevert(state v1alpha1.RevertState) v1alpha1.Revert {
	s.Helper()
	cptest.Eventually(s, soon, func() error {
		if err := s.Get(s.Context(), client.ObjectKeyFromObject(s.release), s.release); err != nil {
			return err
		}
		if revert := s.release.Status.Revert; revert == nil || revert.State != state {
			return fmt.Errorf("%s: want a revert that is %s, got %+v", s.name, state, revert)
		}
		return nil
	})
	return *s.release.Status.Revert
}

// follow has Git have the good template again.
func (s *shop) follow() {
	s.Helper()
	s.asRollout(s.release, func(status *v1alpha1.BatchReleaseStatus) { status.Quarantined = nil })
}

// revertAll has rollbacks of shops go through Git: some by the pull request, some by another
// commit, which has it closed. It returns how many pull requests a rollback had at most, and how
// many are left open.
func revertAll(merged, closed []*shop) (most, open int) {
	shops := slices.Concat(merged, closed)
	for _, s := range shops {
		s.rolledBack()
	}
	for i, s := range shops {
		revert := s.awaitRevert(v1alpha1.RevertOpen)
		s.number = revert.PullRequest.Number
		if i < len(merged) {
			s.merge("grace", "merge")
		} else {
			s.push("web:3")
		}
		s.follow()
	}
	for i, s := range shops {
		state := v1alpha1.RevertMerged
		if i >= len(merged) {
			state = v1alpha1.RevertClosed
		}
		s.awaitRevert(state)
		pulls := s.pulls()
		if len(pulls) != 1 || pulls[0].State != "closed" {
			s.Errorf("%s: want one pull request, closed, got %+v", s.name, pulls)
		}
		most = max(most, len(pulls))
		for _, pull := range pulls {
			if pull.State != "closed" {
				open++
			}
		}
	}
	return most, open
}

// TestEachRequestOfARevertMeetsBadAnswers: each request for the pull request of a revert meets bad
// answers: there is one in the end, and it is gone when it is no longer needed.
func TestEachRequestOfARevertMeetsBadAnswers(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals(func(o *approvals.Options) { o.Forges = loopbackForges(4 * time.Second) })
	merged, closed := w.newShop("merged"), w.newShop("closed")
	revertAll([]*shop{merged}, []*shop{closed})
	merges, mergesMet := merged.troubled()
	closes, closesMet := closed.troubled()
	most, open := revertAll(merges, closes)
	faults := slices.Concat(mergesMet, closesMet)
	for i, s := range slices.Concat(merges, closes) {
		if faults[i]() != 1 {
			t.Errorf("%s must have met its fault", s.name)
		}
	}
	t.Logf("requests of a revert met %d bad answers: %d pull request each at most, %d left open", len(faults), most, open)
}

// troubled returns shops like this one, one for each bad answer that a request of it meets. ends
// counts how often a shop met its answer.
func (s *shop) troubled() (shops []*shop, ends []func() int) {
	s.Helper()
	for i, r := range s.learn() {
		for _, kind := range met(i, []string{"5xx", "lost", "malformed"}) {
			fault := badAnswers[kind]
			fault.After, fault.Times = r.after, 1
			shops = append(shops, s.newShop(fmt.Sprintf("%s-%s-%d", s.name, kind, i), func(s *shop) {
				ends = append(ends, s.inject(fault, r.method, r.path))
			}))
		}
	}
	return shops, ends
}

// TestRevertIsDeclined: people may close the pull request, and open it again.
func TestRevertIsDeclined(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	s := w.newShop("declined").rolledBack()
	s.number = s.awaitRevert(v1alpha1.RevertOpen).PullRequest.Number
	s.awaitTold(fmt.Sprintf("merge #%d to update Git: no progress", s.number))
	for _, then := range []struct {
		state string
		want  v1alpha1.RevertState
	}{{"closed", v1alpha1.RevertDeclined}, {"open", v1alpha1.RevertOpen}} {
		s.call("grace", "PATCH", s.pull(), map[string]string{"state": then.state}, nil)
		s.asRollout(s.release, func(status *v1alpha1.BatchReleaseStatus) { status.UpdatedReadyReplicas++ }) // has it looked at
		s.awaitRevert(then.want)
	}
	s.follow()
	s.awaitRevert(v1alpha1.RevertClosed)
}

// TestRevertIsRefused: where there is nothing that is sure to be right, people are told what to do.
func TestRevertIsRefused(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	tests := map[string]struct{ annotation, want string }{
		"gone":       {v1alpha1.TemplateFileAnnotation + "=old.yaml", "it can't be read at commit"},
		"kustomized": {v1alpha1.KustomizationAnnotation + "=prod/kustomization.yaml", "built by prod/kustomization.yaml"},
	}
	for name, test := range tests {
		s := w.newShop(name).rolledBack(test.annotation)
		if got := s.awaitRevert(v1alpha1.RevertRefused).Message; !strings.Contains(got, test.want) || !strings.Contains(got, "by hand") {
			t.Errorf("%s: got %q, want that it says %q", name, got, test.want)
		}
		s.awaitTold("change Git by hand: no progress")
	}
}
