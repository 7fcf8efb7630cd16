package journeys

import (
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// scale does what an HPA does.
func (w *world) scale(replicas string) {
	w.Helper()
	w.kubectl("scale", "deployment", "web", "--replicas", replicas)
}

// Scaled at a gate, both versions keep their share, and no pod is updated past it.
func TestScaledAtGate(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.scale("15")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 8, "web:2": 7})))
	w.scale("6")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 6)))
}

// Scaled while a batch is in progress, with pods that are not ready yet.
func TestScaledInMidBatch(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	w.create(releaseOf(podTemplate("web:2", slow), step("50%"), step("100%")))
	w.await(all(web.takenOver, upgrading))
	w.scale("15")
	w.await(sizeSeen(15))
	w.scale("6")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.confirm("web")
	w.await(web.status("the last step", func(s *v1alpha1.BatchReleaseStatus) bool { return s.CurrentStepIndex == 1 }))
	w.scale("9")
	w.await(all(web.completed, web.serves("web:2", 9)))
}

// Scaled to nothing and back.
func TestScaledToZeroAndBack(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.scale("0")
	w.await(all(web.runs(pods{}), sizeSeen(0)))
	w.scale("10")
	w.await(all(web.runs(pods{"web:1": 5, "web:2": 5}), sizeSeen(10)))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
}

// A rollback that is scaled up on its way does not bring back the version that it rolls back.
func TestScaledDuringRollback(t *testing.T) {
	w := newWorld(t)
	w.startController()
	d := deployment(4)
	d.Spec.Template = podTemplate("web:1", slow)
	w.deployed(d)
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	await := w.fromNow()
	w.rollBack()
	await(web.phase(v1alpha1.PhaseRollingBack))
	w.scale("12")
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 12)))
}

// slow pods leave the test the time to do something while a batch is in progress.
var slow = map[string]string{controlplane.ReadyDelayAnnotation: "1500ms"}

var upgrading = web.status("a batch under way", func(s *v1alpha1.BatchReleaseStatus) bool {
	return s.CurrentStepState == v1alpha1.StepUpgrade && s.TargetReplicas > 0
})

// sizeSeen wants the release to have seen what the workload was scaled to.
func sizeSeen(replicas int32) check {
	return web.status("the new size to be seen", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Replicas == replicas })
}

// A real HPA that is given more pods at least, at a gate: both versions keep their share of what it writes.
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

// autoscaler is an HPA of the Deployment "web". Without metrics it sees to it that there are as many pods as there
// are to be at least.
func autoscaler(least int32) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			MinReplicas:    &least, MaxReplicas: least + 10,
		},
	}
}
