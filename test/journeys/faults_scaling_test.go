package journeys

import (
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// resize does what an HPA does: it writes the scale subresource of the Deployment.
func (w *world) resize(replicas int32) {
	w.Helper()
	d := deployment(replicas)
	d.Namespace = w.namespace
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if err := w.SubResource("scale").Update(w.Context(), d, client.WithSubResourceBody(scale)); err != nil {
		w.Fatalf("scale to %d: %v", replicas, err)
	}
}

// TestScaledAtAnyMoment: Scaled at any moment, a release keeps to the laws and comes to the end
// that it would have had if the workload had been of that size from the beginning (F12).
func TestScaledAtAnyMoment(t *testing.T) {
	sizes := []int32{3, 15}
	if *everyMoment {
		sizes = append(sizes, 1, 9)
	}
	for _, replicas := range sizes {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			size := func(w *world) { w.resize(replicas) }
			s := scenario{
				happens: size,
				wished:  func(w *world) { size(w); w.await(web.serves("web:1", replicas)) },
				ends:    all(web.completed, web.serves("web:2", replicas)),
				forget:  forgetSizes,
			}
			s.sweep(t)
		})
	}
}

// TestScaledToZeroAndBackAtAnyMoment: the same to nothing and, when all pods are gone, back.
func TestScaledToZeroAndBackAtAnyMoment(t *testing.T) {
	s := scenario{
		happens: func(w *world) { w.resize(0) },
		later:   zeroAndBack,
		forget:  forgetSizes,
		extra:   turnedBack,
	}
	s.sweep(t)
}

func zeroAndBack(w *world) {
	w.await(web.runs(pods{}))
	w.resize(6)
}

// TestRollbackScaledAtAnyMoment: Scaled at any moment of a rollback, up, down, to nothing and back,
// the bad version gets no more pods.
func TestRollbackScaledAtAnyMoment(t *testing.T) {
	cases := map[string]struct {
		to, end int32
		later   func(*world)
	}{
		"Up":          {to: 13, end: 13},
		"Down":        {to: 2, end: 2},
		"ZeroAndBack": {to: 0, end: 6, later: zeroAndBack},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := scenario{
				earlier: rollBackHalfway,
				happens: func(w *world) { w.resize(c.to) },
				later:   c.later,
				wished:  func(w *world) { w.resize(c.end); w.await(web.serves("web:1", c.end)) },
				ends:    all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", c.end)),
				forget:  forgetSizes,
			}
			s.sweep(t)
		})
	}
}

// rollBackHalfway asks for a rollback of a release that has updated half of the pods.
func rollBackHalfway(w *world) {
	w.Helper()
	first := w.startController()
	w.await(web.blocksAt(0))
	w.confirm("web")
	w.await(func(s *scene) error { // the status may be about the step before
		if have := s.podsOf(s.workload("web"))["web:2"]; have < 3 {
			return fmt.Errorf("want half of the pods, have %d", have)
		}
		return nil
	})
	first.kill()
	w.rollBack()
}

// forgetSizes leaves out of a status how many pods there were: a completed release, which costs no
// writes, has the numbers of the moment in which it was completed.
func forgetSizes(e *ending) {
	s := &e.Release
	s.Replicas, s.TargetReplicas = 0, 0
	s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas = 0, 0, 0
	s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas = 0, 0, 0
	meta.RemoveStatusCondition(&s.Conditions, v1alpha1.ConditionAvailable) // it follows the pods within seconds
}
