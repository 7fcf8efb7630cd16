package journeys

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// queue lets releases be finished before the next begins.
func queue(r *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	r.Spec.Strategy.Supersede = v1alpha1.SupersedeQueue
	return r
}

// waiting wants the template of an image to be the one that waits: that of the newest spec.
func waiting(s *scene) error { return all(web.observed, queued(true))(s) }

// takeOvers counts how often the workload was taken over, and the images that it was taken over for.
func (w *world) takeOvers() (times int, images []string) {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatal(err)
	}
	s, was, image := newScene(), false, ""
	for _, e := range entries {
		s.apply(e)
		d := s.deployments["web"]
		if d == nil {
			continue
		}
		if held(d) && !was {
			times++
		}
		if held(d) && (!was || image != imageOf(d)) {
			images = append(images, imageOf(d))
		}
		was, image = held(d), imageOf(d)
	}
	return times, images
}

// A release is finished first, gates and all; then the newest template is taken, and none in between.
func TestQueued(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(queue(release("web:2", step("50%"), step("100%"))))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	for version := 3; version < 6; version++ {
		w.releaseImage(fmt.Sprintf("web:%d", version))
		w.await(waiting)
	}
	w.await(all(web.blocksAt(0), waiting, web.runs(pods{"web:1": 2, "web:2": 2})))
	w.confirm("web")
	w.await(all(web.attempt(2), web.blocksAt(0), queued(false), web.runs(pods{"web:2": 2, "web:5": 2})))
	w.confirm("web")
	w.await(all(web.attempt(2), web.completed, web.serves("web:5", 4)))
	if times, images := w.takeOvers(); times != 2 || fmt.Sprint(images) != "[web:2 web:5]" {
		t.Errorf("the workload was taken over %d times, for %v", times, images)
	}

	// What was released before the queue went on is what a rollback goes back to.
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:2", 4)))
}

// The template that runs clears the queue, and one that was stable before rolls back at once.
func TestQueueCleared(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(queue(release("web:2", step("50%"), step("100%"))))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.releaseImage("web:3")
	w.await(waiting)
	w.releaseImage("web:2")
	w.await(all(web.observed, queued(false), web.attempt(1), web.blocksAt(0)))
	w.releaseImage("web:3")
	w.await(waiting)
	w.releaseImage("web:1")
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), queued(false), web.completed, web.serves("web:1", 4)))
}

// What is rolled back is what runs: the template that waits came later, may be what fixes it, and has its turn after
// the rollback, with its gates.
func TestQueuedOutlivesRollback(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(queue(release("web:2", step("50%"), step("100%"))))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.releaseImage("web:3")
	w.await(waiting)
	await := w.fromNow()
	w.rollBack()
	await(all(web.phase(v1alpha1.PhaseRollingBack), queued(true)))
	w.await(all(web.attempt(3), web.blocksAt(0), queued(false), web.runs(pods{"web:1": 2, "web:3": 2})))
	if times, images := w.takeOvers(); times != 2 || fmt.Sprint(images) != "[web:2 web:1 web:3]" {
		t.Errorf("the workload was taken over %d times, for %v", times, images)
	}
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 4)))
}

// A template that fixes a release which can't go on does not wait for it.
func TestQueueDoesNotWaitForBroken(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(queue(impatient(podTemplate("web:2", behaving(controlplane.CrashLoop)))))
	w.await(web.phase(v1alpha1.PhaseFailed))
	w.bePatient()
	w.releaseImage("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:3": 2})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 4)))
}

// Three pushes at once in mid-release end in the last one, with one take-over: with Restart the workload stays
// taken over and goes on with the newest, with Queue it is taken over again, for the newest alone.
func TestThreePushesAtOnce(t *testing.T) {
	wants := map[v1alpha1.SupersedePolicy]int{v1alpha1.SupersedeRestart: 1, v1alpha1.SupersedeQueue: 2}
	for policy, want := range wants {
		t.Run(string(policy), func(t *testing.T) {
			w := newForgeWorld(t, step("50%"), step("100%"))
			w.startWithForge(never)
			file := strings.Replace(string(releaseFile("Deployment", []v1alpha1.Step{step("50%"), step("100%")})),
				"  strategy:\n", "  strategy:\n    supersede: "+string(policy)+"\n", 1)
			w.write("ada", "main", "release.yaml", []byte(file))
			w.push("web:2")
			w.requestSync()
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
			w.pushAll(3, 4, 5)
			w.requestSync()
			w.await(all(web.observed, func(s *scene) error {
				if template := s.releases["web"].Spec.Template; template == nil || !strings.Contains(string(template.Raw), "web:5") {
					return errors.New("want web:5 from Git")
				}
				return nil
			}))
			w.awaitConfirming(all(web.completed, web.serves("web:5", 10)))
			times, images := w.takeOvers()
			if times != want || images[0] != "web:2" || images[len(images)-1] != "web:5" {
				t.Errorf("the workload was taken over %d times, for %v; want %d, for web:2 first and web:5 last", times, images, want)
			}
			if policy == v1alpha1.SupersedeQueue && len(images) != 2 {
				t.Errorf("want nothing between what ran and the newest to be released, have %v", images)
			}
		})
	}
}

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

// pushAll pushes one version after the other.
func (w *forgeWorld) pushAll(versions ...int) {
	w.Helper()
	for _, version := range versions {
		w.push(fmt.Sprintf("web:%d", version))
	}
}
