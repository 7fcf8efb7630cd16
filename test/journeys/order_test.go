package journeys

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// oldPods returns the pods of the Deployment "web" in the order that compare says, then by name.
func (s *scene) oldPods(compare func(a, b *corev1.Pod) int) []*corev1.Pod {
	var old []*corev1.Pod
	for _, pod := range s.pods {
		if alive(pod) {
			old = append(old, pod)
		}
	}
	slices.SortFunc(old, func(a, b *corev1.Pod) int { return cmp.Or(compare(a, b), cmp.Compare(a.Name, b.Name)) })
	return old
}

// goesInOrder wants no pod of the list to have gone before its turn: when it was marked for
// deletion its ReplicaSet had been scaled far enough for it, and those before it, to go.
func (w *world) goesInOrder(want []*corev1.Pod) {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatal(err)
	}
	rank := map[types.UID]int{}
	for i, pod := range want {
		rank[pod.UID] = i
	}
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.revision, b.revision) })
	gone, room := map[types.UID]bool{}, map[types.UID]int{}
	for _, e := range entries {
		switch o := e.object.(type) {
		case *appsv1.ReplicaSet:
			room[o.UID] = len(want) - int(replicas(o))
		case *corev1.Pod:
			place, old := rank[o.UID]
			if !old || o.DeletionTimestamp == nil || gone[o.UID] {
				continue
			}
			gone[o.UID] = true
			if allowed := room[o.OwnerReferences[0].UID]; place >= allowed {
				w.Errorf("pod %s is number %d to go, but went when %d were to go", o.Name, place+1, allowed)
			}
		}
	}
	if len(gone) != len(want) {
		w.Errorf("%d pods have gone, want %d", len(gone), len(want))
	}
}

// spread has ten pods of web:1 serve on nodes of all zones.
func (w *world) spread(change ...func(*appsv1.Deployment)) {
	w.Helper()
	w.deployed(deployment(10, change...))
}
