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

// impatient is a release that fails when it makes no progress for five seconds.
func impatient(template corev1.PodTemplateSpec) *v1alpha1.BatchRelease {
	r := halves(template)
	r.Spec.Strategy.ProgressDeadlineSeconds = new(int32(5))
	return r
}

func halves(template corev1.PodTemplateSpec) *v1alpha1.BatchRelease {
	return releaseOf(template, step("50%"), step("100%"))
}

// lose has a release fail for want of progress as soon as something shows, which it has to say then. How long that
// takes is no matter.
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

const (
	crashed  = `"exitCode":1`
	sayCrash = "exit code 1"
)

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

// Without progress a release fails, stays where it is, and says what is wrong with the pods. A
// new template goes on from there.
func TestFailsWithoutProgress(t *testing.T) {
	unschedulable := podTemplate("web:2", nil)
	unschedulable.Spec.NodeSelector = map[string]string{"disk": "golden"}
	cases := map[string]struct {
		template    corev1.PodTemplateSpec
		shows, says string
	}{
		"CrashLoop":     {podTemplate("web:2", behaving(controlplane.CrashLoop)), crashed, sayCrash},
		"ImagePull":     {podTemplate("web:2", behaving(controlplane.ImagePullFailure)), "ImagePullBackOff", "ImagePullBackOff"},
		"Unschedulable": {unschedulable, corev1.PodReasonUnschedulable, "unschedulable"},
		"NeverReady":    {podTemplate("web:2", behaving(controlplane.NeverReady)), `"ready":false`, "not ready"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			s := w.lose(halves(c.template), podShows(c.shows), c.says)
			t.Log(s.releases["web"].Status.Message)
			if n := s.readyPods(s.deployments["web"]); n < 3 {
				t.Errorf("a failed release leaves %d pods that serve, want at least 3", n)
			}
			w.bePatient()
			w.releaseImage("web:3")
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:3": 2})))
			w.confirm("web")
			w.await(all(web.completed, web.serves("web:3", 4)))
		})
	}
}

// What keeps the pods from starting may be fixed without a new template.
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

// A failed release can be rolled back, and follows spec.replicas meanwhile.
func TestFailedReleaseIsScaledAndRolledBack(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.lose(halves(podTemplate("web:2", behaving(controlplane.CrashLoop))), podShows(crashed), sayCrash)
	w.scale("8")
	w.await(func(s *scene) error {
		if n := s.readyPods(s.deployments["web"]); n < 6 {
			return fmt.Errorf("want at least 6 pods that serve, have %d", n)
		}
		return nil
	})
	w.bePatient()
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 8)))
}

// Pods that become ready one after the other are progress, however long all of them take.
func TestSlowIsNotFailed(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(8, rolling(1, 0)))
	slower := map[string]string{controlplane.ReadyDelayAnnotation: "3s"}
	r := releaseOf(podTemplate("web:2", slower), step("100%"))
	r.Spec.Strategy.ProgressDeadlineSeconds = new(int32(20))
	w.create(r)
	w.await(all(web.completed, web.serves("web:2", 8)))
}

// A stable version that is broken does not keep the version that fixes it from being released.
func TestBrokenStableVersion(t *testing.T) {
	w := newWorld(t)
	w.startController()
	d := deployment(6)
	d.Spec.Template = podTemplate("web:1", behaving(controlplane.CrashLoop))
	w.create(d)
	w.await(web.runs(pods{"web:1": 6}))
	w.create(release("web:2", step(1), step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 1})))
	w.confirm("web")
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 6)))
}

// Pods that are all there in the end, late as they are, leave nothing to wait for.
func TestLateIsDone(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(2, rolling("100%", 0)))
	slow := map[string]string{controlplane.ReadyDelayAnnotation: "20s"}
	w.lose(releaseOf(podTemplate("web:2", slow), step("100%")), podShows(`"phase":"Pending"`), "not ready")
	w.await(all(web.completed, web.serves("web:2", 2)))
}
