package journeys

import (
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// Scaled at any moment, a release keeps to the laws and comes to the end that it would have had if the
// workload had been of that size from the beginning (F12).
func TestScaledAtAnyMoment(t *testing.T) {
	for _, replicas := range []int32{1, 3, 9, 15} {
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

// forgetSizes leaves out of a status how many pods there were: a completed release, which costs no
// writes, has the numbers of the moment in which it was completed.
func forgetSizes(e *ending) {
	s := &e.Release
	s.Replicas, s.TargetReplicas, s.MaxSurge, s.MaxUnavailable = 0, 0, nil, nil
	s.UpdatedReplicas, s.UpdatedReadyReplicas, s.UpdatedAvailableReplicas = 0, 0, 0
}
