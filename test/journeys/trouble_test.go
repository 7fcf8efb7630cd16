package journeys

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

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

// What is wrong with the pods of a new version is told within seconds, long before the progress deadline. A new template ends it.
func TestTroubleOfPods(t *testing.T) {
	unschedulable := podTemplate("web:2", nil)
	unschedulable.Spec.NodeSelector = map[string]string{"disk": "golden"}
	cases := map[string]struct {
		template corev1.PodTemplateSpec
		reason   v1alpha1.PodTroubleReason
		says     string
	}{
		"CrashLoop":     {podTemplate("web:2", behaving(controlplane.CrashLoop)), v1alpha1.PodsCrash, "2 of 2 pods crash: "},
		"ImagePull":     {podTemplate("web:2", behaving(controlplane.ImagePullFailure)), v1alpha1.PodsLackImage, "2 of 2 pods can't pull the image: ImagePullBackOff: web:2"},
		"Unschedulable": {unschedulable, v1alpha1.PodsUnschedulable, "2 of 2 pods can't be scheduled: "},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			w.create(halves(c.template))
			s := w.await(all(web.phase(v1alpha1.PhaseRollingUpdate), troubled(c.reason, 2, c.says)))
			t.Log(s.releases["web"].Status.Message)
			w.releaseImage("web:3")
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:3": 2}), untroubled))
			w.confirm("web")
			w.await(all(web.completed, web.serves("web:3", 4), untroubled))
		})
	}
}

// Of a workload whose pods have places too, at no request: they are watched.
func TestTroubleOfPlaces(t *testing.T) {
	onBothKinds(t, func(w *world, p inPlace) {
		p.served(w, 4)
		w.create(releaseTo(p.kind, p.template(w, "web:2", behaving(controlplane.CrashLoop)), step("50%"), step("100%")))
		s := w.await(all(web.phase(v1alpha1.PhaseRollingUpdate), troubled(v1alpha1.PodsCrash, 2, "2 of 2 pods crash: ")))
		w.Log(s.releases["web"].Status.Message)
		p.next(w, "web:3")
		w.await(all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": 2, "web:3": 2}), untroubled))
	})
}
