package journeys

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// scale does what an HPA does.
func (w *world) scale(replicas string) {
	w.Helper()
	w.kubectl("scale", "deployment", "web", "--replicas", replicas)
}

var upgrading = web.status("a batch under way", func(s *v1alpha1.BatchReleaseStatus) bool {
	return s.CurrentStepState == v1alpha1.StepUpgrade && s.TargetReplicas > 0
})

// sizeSeen wants the release to have seen what the workload was scaled to.
func sizeSeen(replicas int32) check {
	return web.status("the new size to be seen", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Replicas == replicas })
}

// TestScaledByAutoscaler: a real HPA that is given more pods at least, at a gate: both versions
// keep their share of what it writes.
func TestScaledByAutoscaler(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(6))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.create(autoscaler(10))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
}

// autoscaler returns an HPA of the Deployment "web". Without metrics it sees to it that there are
// as many pods as there are to be at least.
func autoscaler(least int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    &least, MaxReplicas: least + 10,
		},
	}
}
