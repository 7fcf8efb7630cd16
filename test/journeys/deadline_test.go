package journeys

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

func halves(template corev1.PodTemplateSpec) *v1alpha1.BatchRelease {
	return releaseOf(template, step("50%"), step("100%"))
}

// lose has a release fail for want of progress as soon as something shows, which it has to say
// then. How long that takes is no matter.
func (w *world) lose(r *v1alpha1.BatchRelease, shows check, says string) *scene {
	w.Helper()
	w.create(r)
	w.await(shows)
	w.patchRelease(`{"spec":{"strategy":{"progressDeadlineSeconds":1}}}`)
	return w.await(failed(says))
}

// podShows wants a pod with a word in its status.
func podShows(word string) check {
	return func(s *scene) error {
		for _, pod := range s.pods {
			if bytes.Contains(encode(pod.Status), []byte(word)) {
				return nil
			}
		}
		return fmt.Errorf("want a pod that shows %s", word)
	}
}

const crashed = `"exitCode":1`

// bePatient lets what comes next take its time, however slow the machine is.
func (w *world) bePatient() {
	w.Helper()
	w.kubectl("patch", "batchrelease", "web", "--type=merge", "-p", `{"spec":{"strategy":{"progressDeadlineSeconds":600}}}`)
}

func behaving(behaviour string) map[string]string {
	return map[string]string{controlplane.BehaviourAnnotation: behaviour}
}

// failed wants the release to have failed with a message that names the pods' state.
func failed(state string) check {
	return all(web.phase(v1alpha1.PhaseFailed), web.reason(v1alpha1.ReasonDeadlineExceeded), func(s *scene) error {
		if message := s.releases["web"].Status.Message; !strings.Contains(message, state) {
			return fmt.Errorf("want a message that says %q, have %q", state, message)
		}
		return nil
	})
}

// troubled wants the release "web" to be in progress, and to say what is wrong with its pods.
func troubled(reason v1alpha1.PodTroubleReason, says string) check {
	return func(s *scene) error {
		status := &s.releases["web"].Status
		trouble := status.PodTrouble
		if trouble == nil || trouble.Reason != reason || !strings.Contains(status.Message, says) {
			return fmt.Errorf("want trouble %s, and a message that says %q, have %+v in %q", reason, says, trouble, status.Message)
		}
		return nil
	}
}

// untroubled wants nothing to be wrong with the pods.
func untroubled(s *scene) error {
	if trouble := s.releases["web"].Status.PodTrouble; trouble != nil {
		return fmt.Errorf("want no trouble, have %+v", trouble)
	}
	return nil
}

// TestFailsWithoutProgress: a release reports within seconds what is wrong with its pods. At the
// deadline it fails with that, and leaves the pods as they are. A new template goes on from there.
func TestFailsWithoutProgress(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	crash := podTemplate("web:2", behaving(controlplane.CrashLoop))
	s := w.lose(halves(crash), all(web.phase(v1alpha1.PhaseRollingUpdate), troubled(v1alpha1.PodsCrash, "2 of 2 pods crash: ")), "exit code 1")
	if n := s.readyPods(s.deployments["web"]); n < 3 {
		t.Errorf("a failed release leaves %d pods that serve, want at least 3", n)
	}
	w.bePatient()
	w.releaseImage("web:3")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:3": 2}), untroubled))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:3", 4)))
}
