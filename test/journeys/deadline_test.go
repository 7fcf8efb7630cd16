package journeys

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

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

// setShows wants a ReplicaSet with a word in its status.
func setShows(word string) check {
	return func(s *scene) error {
		for _, set := range s.sets {
			if bytes.Contains(encode(set.Status), []byte(word)) {
				return nil
			}
		}
		return fmt.Errorf("want a ReplicaSet that shows %s", word)
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

// TestRetry: a retry continues a release whose pods can start without a new template.
func TestRetry(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(&corev1.ResourceQuota{
		ObjectMeta: named[corev1.ResourceQuota]("few").ObjectMeta,
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("3")}},
	})
	release := halves(podTemplate("web:2", nil))
	release.Spec.Strategy.Preflight = v1alpha1.PreflightWarn
	w.lose(release, setShows("exceeded quota"), "exceeded quota")
	w.kubectl("delete", "resourcequota", "few")
	w.await(either(web.runs(pods{"web:1": 3, "web:2": 1}), web.runs(pods{"web:1": 3, "web:2": 2}))) // it may fail before it grows
	w.await(failed("exceeded quota"))                                                               // until somebody says that it is fixed
	w.bePatient()
	w.annotateRelease(v1alpha1.RetryAnnotation, "true")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.wantNoAnnotation("retry")
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
}

// TestTroubleOfPlaces: Trouble of pods that have places is reported without a request: they are
// watched.
func TestTroubleOfPlaces(t *testing.T) {
	onBothKinds(t, func(w *world, p workloadKind) {
		p.served(w, 4)
		w.create(releaseTo(p.kind, p.template(w, "web:2", behaving(controlplane.CrashLoop)), step("50%"), step("100%")))
		s := w.await(all(web.phase(v1alpha1.PhaseRollingUpdate), troubled(v1alpha1.PodsCrash, 2, "2 of 2 pods crash: ")))
		w.Log(s.releases["web"].Status.Message)
		p.next(w, "web:3")
		w.await(all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": 2, "web:3": 2}), untroubled))
	})
}

// troubled wants the release "web" to be in progress, and to say what is wrong with its pods.
func troubled(reason v1alpha1.PodTroubleReason, pods int32, says string) check {
	return func(s *scene) error {
		status := &s.releases["web"].Status
		trouble := status.PodTrouble
		if trouble == nil || trouble.Reason != reason || trouble.Pods != pods || !strings.Contains(status.Message, says) {
			return fmt.Errorf("want trouble %s of %d pods, and a message that says %q, have %+v in %q", reason, pods, says, trouble, status.Message)
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
	unschedulable := podTemplate("web:2", nil)
	unschedulable.Spec.NodeSelector = map[string]string{"disk": "golden"}
	for name, c := range map[string]struct {
		template   corev1.PodTemplateSpec
		trouble    v1alpha1.PodTroubleReason
		says, fail string
	}{
		"CrashLoop":     {podTemplate("web:2", behaving(controlplane.CrashLoop)), v1alpha1.PodsCrash, "2 of 2 pods crash: ", "exit code 1"},
		"ImagePull":     {podTemplate("web:2", behaving(controlplane.ImagePullFailure)), v1alpha1.PodsLackImage, "2 of 2 pods can't pull the image: ImagePullBackOff: web:2", "ImagePullBackOff"},
		"Unschedulable": {unschedulable, v1alpha1.PodsUnschedulable, "2 of 2 pods can't be scheduled: ", "unschedulable"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			s := w.lose(halves(c.template), all(web.phase(v1alpha1.PhaseRollingUpdate), troubled(c.trouble, 2, c.says)), c.fail)
			if n := s.readyPods(s.deployments["web"]); n < 3 {
				t.Errorf("a failed release leaves %d pods that serve, want at least 3", n)
			}
			w.bePatient()
			w.releaseImage("web:3")
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:3": 2}), untroubled))
			w.confirm("web")
			w.await(all(web.completed, web.serves("web:3", 4)))
		})
	}
}
