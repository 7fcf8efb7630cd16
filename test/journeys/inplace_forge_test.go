package journeys

import (
	"maps"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// inGit has a repository hold ten pods of web:1 in places, and runs the controller with it.
func (p workloadKind) inGit(w *world, steps ...v1alpha1.Step) *forgeWorld {
	w.Helper()
	f := p.onForge(w, steps...)
	f.startWithForge(never, f.withWebhooks())
	return f
}

// onForge has a repository hold ten pods of web:1 in places.
func (p workloadKind) onForge(w *world, steps ...v1alpha1.Step) *forgeWorld {
	w.Helper()
	f := &forgeWorld{world: w}
	workload := p.workload(w, 10)
	workload.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: p.kind})
	f.file = func(image string) []byte {
		*templateOf(workload) = p.template(w, image, nil)
		return manifest(w.T, workload)
	}
	f.startForge(p.kind, steps)
	return f
}

// TestInPlaceThroughForge: the pull request of an approval lists the pods that are updated. After a
// rollback another one proposes to Git what the cluster has: merging it replaces no pod, and ends
// the quarantine. A freeze in Git holds what is pushed, and `git revert` rolls back.
func TestInPlaceThroughForge(t *testing.T) {
	onBothKinds(t, func(world *world, p workloadKind) {
		w := p.inGit(world, step(2, pullRequest(v1alpha1.PullRequestGate{})), step("100%", none()))
		good := w.contents("main", "web.yaml")
		bad := w.push("web:2")
		approval := w.awaitPull(0)
		w.wantListed(w.await(all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": 8, "web:2": 2}))))
		w.kubectl("annotate", "batchrelease", "web", "rollback=true")
		back := w.await(all(web.completed, web.handedBack, web.quarantined, web.serves("web:1", 10), seenNatively))

		revert := w.awaitRevert(v1alpha1.RevertOpen)
		proposed := w.pulls()[1]
		if proposed.Number != revert.PullRequest.Number || proposed.Number == approval {
			t.Fatalf("want a pull request of its own, got %+v and %+v", revert, proposed)
		}
		if got := w.contents(proposed.Head.Ref, "web.yaml"); got != good {
			t.Errorf("want the file put back, got:\n%s", got)
		}
		w.as("grace").Merge(proposed.Number, "merge")
		w.awaitRevert(v1alpha1.RevertMerged)
		merged := w.await(all(web.completed, web.status("no quarantine", func(s *v1alpha1.BatchReleaseStatus) bool { return len(s.Quarantined) == 0 })))
		if !maps.Equal(back.uids(), merged.uids()) {
			t.Error("pods are replaced by a pull request that says what runs")
		}
		w.awaitStatus(bad, "failure: rolled back to "+revert.To+": ")

		w.write("ada", "main", ".sluice/freeze.yaml", []byte("reason: quarter end\n"))
		w.push("web:3")
		w.await(all(suspended(v1alpha1.ReasonFrozen, "frozen: quarter end"), queued(true), web.handedBack, web.serves("web:1", 10)))
		w.write("ada", "main", ".sluice/freeze.yaml", []byte("reason: quarter end\nuntil: 2026-01-01T00:00:00Z\n"))
		w.as("grace").Merge(w.awaitPull(0), "merge")
		w.await(all(web.completed, web.serves("web:3", 10)))
		w.write("ada", "main", "web.yaml", []byte(good))
		w.awaitConfirming(all(web.rolledBack(v1alpha1.TriggerGitRevert, ""), web.serves("web:1", 10)))
	})
}

// wantListed wants the pull request of the first approval to list the pods of web:2, and no others.
func (w *forgeWorld) wantListed(s *scene) {
	w.Helper()
	body := w.pulls()[0].Body
	for _, pod := range s.pods {
		if listed, is := strings.Contains(body, "`"+pod.Name+"`"), pod.Spec.Containers[0].Image == "web:2"; listed != is {
			w.Errorf("pod %s of %s is listed: %t, in\n%s", pod.Name, pod.Spec.Containers[0].Image, listed, body)
		}
	}
}
