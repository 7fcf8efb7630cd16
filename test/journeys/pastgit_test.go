package journeys

import (
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// driftedPastGit checks that the release stops, or reports, because its template is not Git's.
func driftedPastGit(s *scene) error {
	r := s.releases["web"]
	if r == nil {
		return fmt.Errorf("there is no release")
	}
	drifted := meta.FindStatusCondition(r.Status.Conditions, v1alpha1.ConditionDrifted)
	if r.Status.Reason != v1alpha1.ReasonChangedPastGit || drifted == nil || drifted.Reason != v1alpha1.ReasonChangedPastGit {
		return fmt.Errorf("want reason %s, got %s: %s", v1alpha1.ReasonChangedPastGit, r.Status.Reason, r.Status.Message)
	}
	return nil
}

// TestTemplateChangedPastGit: a change of a template without Git gets no pod: not in mid-release,
// not with the gate's confirmation, not afterwards, and not with the next push.
func TestTemplateChangedPastGit(t *testing.T) {
	w := newForgeWorld(t, step("50%"), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	const added = `{"spec":{"template":{"spec":{"hostNetwork":true,"serviceAccountName":"cluster-admin"}}}}`
	look := func(n int) { w.write("ada", "main", "README.md", fmt.Appendf(nil, "look %d\n", n)) }
	w.push("web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.patchRelease(added)
	w.await(all(driftedPastGit, web.runs(pods{"web:1": 5, "web:2": 5})))
	w.confirm("web")
	w.wantGate(0, "manual", v1alpha1.DecisionPassed)
	w.await(all(driftedPastGit, web.runs(pods{"web:1": 5, "web:2": 5})))
	look(1)
	w.await(all(web.completed, web.serves("web:2", 10)))

	w.patchRelease(added)
	w.await(all(driftedPastGit, web.serves("web:2", 10)))
	look(2)
	w.await(all(web.completed, web.reason(v1alpha1.ReasonCompleted), web.serves("web:2", 10)))

	w.patchRelease(added)
	w.push("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 5, "web:3": 5})))
	s := w.now()
	for _, set := range s.sets {
		if spec := set.Spec.Template.Spec; spec.HostNetwork || spec.ServiceAccountName != "" {
			t.Errorf("ReplicaSet %s has what somebody added", set.Name)
		}
	}
}

// TestReleaseByHandInAnEmergency: a template that is not in Git can be released by a user who
// declares that. No commit is blamed for it, and Git's template comes back with the source.
func TestReleaseByHandInAnEmergency(t *testing.T) {
	w := newForgeWorld(t, step("50%"), step("100%"))
	w.startWithForge(never, w.withWebhooks())
	w.push("web:2")
	w.await(web.blocksAt(0))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.kubectl("patch", "releasesource", "shop", "--type", "merge", "-p", `{"spec":{"suspend":true}}`)
	cptest.Eventually(t, soon, func() error {
		source := &v1alpha1.ReleaseSource{}
		err := w.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, source)
		if ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady); ready == nil || ready.Reason != v1alpha1.ReasonSuspended {
			return errors.Join(errors.New("want the source suspended"), err)
		}
		return nil
	})
	w.kubectl("annotate", "batchrelease", "web", v1alpha1.GitTemplateAnnotation+"-", v1alpha1.CommitAnnotation+"-")
	w.patchRelease(`{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"web:hotfix"}]}}}}`)
	s := w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 5, "web:hotfix": 5})))
	if commit := s.releases["web"].Status.Commit; commit != "" {
		t.Errorf("commit %s is blamed for what it does not have", commit)
	}
	w.kubectl("patch", "releasesource", "shop", "--type", "merge", "-p", `{"spec":{"suspend":false}}`)
	w.await(all(web.completed, web.serves("web:2", 10)))
}
