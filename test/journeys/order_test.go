package journeys

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// inOrder is a release of web:2 in three batches whose old pods go by keys.
func inOrder(keys ...v1alpha1.OrderKey) *v1alpha1.BatchRelease {
	r := release("web:2", step("20%", none()), step("50%"), step("100%"))
	r.Spec.Strategy.Order = keys
	return r
}

func byZone(values ...string) v1alpha1.OrderKey {
	return v1alpha1.OrderKey{NodeLabel: &v1alpha1.NodeLabelOrder{Key: corev1.LabelTopologyZone, Values: values}}
}

// oldPods are the pods of the Deployment "web" in the order that compare says, then by name.
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

// goesInOrder wants no pod of the list to have gone before its turn: when it was marked for deletion its
// ReplicaSet had been scaled far enough for it, and those before it, to go.
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

// annotatePods gives each of the pods one of the values, in the order of their names.
func (w *world) annotatePods(key string, values ...string) {
	w.Helper()
	want := map[types.UID]string{}
	for i, pod := range w.now().oldPods(func(_, _ *corev1.Pod) int { return 0 }) {
		if value := values[i%len(values)]; value != "" {
			want[pod.UID] = value
			w.kubectl("annotate", "pod", pod.Name, key+"="+value)
		}
	}
	w.await(func(s *scene) error {
		for uid, value := range want {
			if have := s.pods[uid].Annotations[key]; have != value {
				return fmt.Errorf("want a pod annotated %s=%s, have %q", key, value, have)
			}
		}
		return nil
	})
}

func zoneOf(w *world) func(*corev1.Pod) string {
	w.Helper()
	var nodes corev1.NodeList
	if err := w.List(w.Context(), &nodes); err != nil {
		w.Fatal(err)
	}
	zones := map[string]string{}
	for i := range nodes.Items {
		zones[nodes.Items[i].Name] = nodes.Items[i].Labels[corev1.LabelTopologyZone]
	}
	return func(pod *corev1.Pod) string { return zones[pod.Spec.NodeName] }
}

// runInOrder releases by keys and holds what went against the order that compare says.
func (w *world) runInOrder(compare func(a, b *corev1.Pod) int, keys ...v1alpha1.OrderKey) {
	w.Helper()
	want := w.now().oldPods(compare)
	w.create(inOrder(keys...))
	w.awaitConfirming(all(web.completed, web.serves("web:2", int32(len(want)))))
	w.goesInOrder(want)
}

// Old pods go zone by zone, those first that are named first, and within a zone by name.
func TestOrderByZone(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.spread(rolling(1, 2))
	zone := zoneOf(w)
	first := []string{"zone-b", "zone-a"}
	w.runInOrder(func(a, b *corev1.Pod) int {
		placeOf := func(p *corev1.Pod) int { return slices.Index(append(first, zone(p)), zone(p)) }
		return cmp.Or(cmp.Compare(placeOf(a), placeOf(b)), cmp.Compare(zone(a), zone(b)))
	}, byZone(first...), v1alpha1.OrderKey{Name: v1alpha1.Ascending})
}

// An order costs one write for each old pod, and lists of pods only where some are about to go.
func TestRequestsOfOrder(t *testing.T) {
	w := newWorld(t)
	c := w.startController()
	w.spread(rolling(0, 5))
	r := release("web:2", step("50%", none()), step("100%"))
	r.Spec.Strategy.Order = []v1alpha1.OrderKey{byZone("zone-b"), {Name: v1alpha1.Descending}}
	w.create(r)
	w.await(all(web.completed, web.serves("web:2", 10)))
	requests := c.requests()
	t.Logf("requests: %v", requests)
	if writes := requests["patch pods"]; writes != 10 {
		t.Errorf("%d writes to pods, want one for each of 10", writes)
	}
	if lists := requests["list pods"]; lists > 10 {
		t.Errorf("%d lists of pods, want at most 10", lists)
	}
}
