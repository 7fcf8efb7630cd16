package journeys

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestFollowForge: a followed release that names a ReleaseSource is approved by pull requests, and
// reports to the commit that its applier names, if the branch has it. The source writes and
// deletes no such release.
func TestFollowForge(t *testing.T) {
	w := &forgeWorld{world: newFollowingWorld(t)}
	w.file = w.deploymentFile
	w.startForgeWith(fstest.MapFS{
		"web.yaml":                 {Data: w.file("web:1")},
		"chart/Chart.yaml":         {Data: []byte("apiVersion: v2\nname: web\nversion: 1.0.0\n")},
		"chart/templates/web.yaml": {Data: []byte("kind: Deployment\nmetadata: {{ include \"web.meta\" . | nindent 2 }}\n")},
	})
	h := tool{w.world, "Deployment", w.charts()["Deployment"]}
	chart, commit := h.chart, ""
	h.chart = func(image string) client.Object {
		object := chart(image)
		object.SetAnnotations(map[string]string{v1alpha1.CommitAnnotation: commit})
		return object
	}
	w.followForge(never, w.withWebhooks(), func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	h.applies("web:1")
	w.await(web.serves("web:1", 4))
	r := following(release("", step(1, pullRequest(v1alpha1.PullRequestGate{Approvers: []string{"grace"}})), step("100%", none())))
	r.Labels = map[string]string{v1alpha1.SourceLabel: "shop"}
	w.create(r)
	w.await(all(web.completed, labelled))
	source := &v1alpha1.ReleaseSource{}
	cptest.Eventually(w, soon, func() error {
		err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, source)
		if err != nil || !meta.IsStatusConditionTrue(source.Status.Conditions, "Ready") || source.Status.Releases != 0 {
			return errors.Join(err, fmt.Errorf("want a source that is ready and has no release, got %+v", source.Status))
		}
		return nil
	})

	commit = w.push("web:2")
	h.applies("web:2")
	number := w.awaitPull(0)
	asked := w.pulls()[0]
	if !strings.Contains(asked.Body, "| Applied, as the workload says | "+commit) {
		t.Errorf("want the commit that the applier names, and where it is from, in:\n%s", asked.Body)
	}
	w.awaitStatus(commit, "pending: batch 1/2: 1/4 updated, waiting")
	w.as("grace").Merge(number, "merge")
	w.await(all(web.completed, web.serves("web:2", 4)))
	w.awaitStatus(commit, "success: released: 4/4 updated")

	// Of somebody's pull request, where this status may be required.
	w.as("eve").Do("POST", "git/refs", map[string]string{"ref": "refs/heads/topic", "sha": commit}, nil)
	commit = w.write("eve", "topic", "web.yaml", w.file("evil:1"))
	h.applies("web:3")
	w.await(web.blocksAt(0))
	w.awaitEvent("ReportFailed", "commit "+commit+", which the workload names, is not on branch main of ReleaseSource "+w.namespace+"/shop")
	w.await(web.blocksAt(0))
	if got := w.statuses(commit, w.context()); len(got) > 0 {
		t.Errorf("a commit off the branch gets statuses: %s", got)
	}
}

// TestFollowDecidedByNoClaim: a release that follows its workload has no gate about its commit,
// which the applier names.
func TestFollowDecidedByNoClaim(t *testing.T) {
	w := newWorld(t)
	for _, policy := range []v1alpha1.GatePolicy{
		commitStatus("ci", "ci"),
		{CheckRun: &v1alpha1.CheckRunGate{Name: "ci", App: "ci"}},
		pullRequest(v1alpha1.PullRequestGate{ForbidSelfApproval: true}),
	} {
		for path, gates := range map[string][2]v1alpha1.Step{
			"spec.strategy.steps": {step(1, policy), step(1)}, "spec.rollback.steps": {step(1), step(1, policy)},
		} {
			r := following(release("", gates[0], step("100%", none())))
			r.Namespace, r.Spec.Rollback = w.namespace, &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{gates[1], step("100%", none())}}
			err := w.Create(w.Context(), r)
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), path+": ") || !strings.Contains(err.Error(), "its commit is a claim of its applier") {
				t.Errorf("want %+v refused at %s, got %v", policy, path, err)
			}
		}
	}
}
