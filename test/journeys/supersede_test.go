package journeys

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Commits are told that they wait, and behind which; the one before that it was released, however soon the next
// begins after it.
func TestQueueIsToldOnCommits(t *testing.T) {
	steps := []v1alpha1.Step{step("50%"), step("100%")}
	w := newForgeWorld(t, steps...)
	w.startWithForge(never, w.withWebhooks())
	w.write("ada", "main", "release.yaml", queueing(releaseFile("Deployment", steps)))
	first := w.push("web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	second := w.push("web:3")
	w.awaitStatus(second, "pending: queued behind "+first[:7])
	w.confirm("web")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 5, "web:3": 5})))
	w.awaitStatus(first, "success: released: 10/10 updated")
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 10)))
	w.awaitStatus(second, "success: released: 10/10 updated")
	for _, told := range w.statuses(first, w.context()) {
		if strings.Contains(told, "superseded") {
			t.Errorf("a commit that was released was told %q", told)
		}
	}
}

// queueing has a release in a file be finished before the next begins.
func queueing(file []byte) []byte {
	return []byte(strings.Replace(string(file), "  strategy:\n", "  strategy:\n    supersede: Queue\n", 1))
}
