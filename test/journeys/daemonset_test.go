package journeys

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// daemonSet returns a DaemonSet "web" of web:1 on the journey's own nodes.
func (w *world) daemonSet(change ...func(*appsv1.DaemonSet)) *appsv1.DaemonSet {
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: w.onEachOwnNode("web:1", nil),
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{
				Type:          appsv1.RollingUpdateDaemonSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: share(1), MaxSurge: share(0)},
			},
		},
	}
	for _, c := range change {
		c(d)
	}
	return d
}

// onEachOwnNode returns the template of a DaemonSet that runs on the journey's own nodes.
func (w *world) onEachOwnNode(image string, annotations map[string]string) corev1.PodTemplateSpec {
	template := w.onOwnNodes(podTemplate(image, annotations))
	template.Spec.TopologySpreadConstraints = nil
	return template
}

// toDaemon returns a release of web:2 for the DaemonSet.
func (w *world) toDaemon(steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	return releaseTo("DaemonSet", w.onEachOwnNode("web:2", nil), steps...)
}

// onDelete wants the DaemonSet to be held with the strategy OnDelete.
func onDelete(s *scene) error {
	if d := s.daemon(); d == nil || !held(d) || d.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType {
		return fmt.Errorf("want the DaemonSet held with OnDelete")
	}
	return nil
}

// TestDaemonSetInBatches: a DaemonSet is released gate by gate, with OnDelete meanwhile, and is as
// it was in the end: its pods are not replaced again.
func TestDaemonSetInBatches(t *testing.T) {
	w := newWorld(t)
	w.ownNodes(6)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 6)
	w.create(w.toDaemon(step(1), step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), onDelete, web.runs(pods{"web:1": 5, "web:2": 1})))
	w.confirm("web")
	w.await(all(web.blocksAt(1), onDelete, web.runs(pods{"web:1": 3, "web:2": 3})))
	w.confirm("web")
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 6)))
	if least := w.findings(web).leastReady; least < 4 {
		t.Errorf("%d pods served at least, want 4 of 6", least)
	}
}

// allReadyInPlace wants all pods of the workload to serve.
func allReadyInPlace(s *scene) error {
	workload := s.workload("web")
	if ready, all := s.readyInPlace(workload), len(s.podsOwned(workload)); int(ready) != all || ready != wantedPods(workload) {
		return fmt.Errorf("want all %d pods to serve, have %d", all, ready)
	}
	return nil
}

// podOf returns the name of a pod of an image.
func (w *world) podOf(image string) string {
	w.Helper()
	for _, pod := range w.now().pods {
		if alive(pod) && pod.Spec.Containers[0].Image == image {
			return pod.Name
		}
	}
	w.Fatalf("no pod of %s", image)
	return ""
}
