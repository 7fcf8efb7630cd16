package journeys

import (
	appsv1 "k8s.io/api/apps/v1"
)

// most is how many pods the ReplicaSet of an image was asked for at most while the Deployment was held, whoever asked.
func (w *world) most(image string) int32 {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatalf("journal: %v", err)
	}
	most := int32(0)
	for _, e := range entries {
		if set, is := e.object.(*appsv1.ReplicaSet); is && !e.gone && set.Spec.Template.Spec.Containers[0].Image == image {
			most = max(most, replicas(set))
		}
	}
	return most
}
