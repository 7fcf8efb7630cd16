package journeys

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// The traps S1, S2 and S4 to S7 of StatefulSets that are held (rollout/mover/statefulset), by hand
// on the real native controller.

// ordinals returns a StatefulSet "web" of so many pods of web:1.
func ordinals(replicas int32, policy appsv1.PodManagementPolicyType) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, PodManagementPolicy: policy,
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: podTemplate("web:1", nil),
		},
	}
}

const parallel, oneByOne = appsv1.ParallelPodManagement, appsv1.OrderedReadyPodManagement

// holdByHand makes a StatefulSet and holds it with the template of web:2, which may have
// annotations.
func (w *world) holdByHand(replicas int32, policy appsv1.PodManagementPolicyType, annotations string) {
	w.Helper()
	w.judged = nil
	w.create(ordinals(replicas, policy))
	w.await(images(slices.Repeat([]string{"web:1"}, int(replicas))...))
	w.patchOrdinals(fmt.Sprintf(`{"updateStrategy":%s,"template":{"metadata":{"annotations":%s},`+
		`"spec":{"containers":[{"name":"web","image":"web:2"}]}}}`, partitioned(math.MaxInt32), annotations))
}

func partitioned(partition int) string {
	return fmt.Sprintf(`{"type":"RollingUpdate","rollingUpdate":{"partition":%d}}`, partition)
}

const deletedByHand = `{"type":"OnDelete","rollingUpdate":null}`

// patchOrdinals changes the spec, and waits until the native controller has seen it.
func (w *world) patchOrdinals(spec string) {
	w.Helper()
	w.edit(named[appsv1.StatefulSet]("web"), strategicPatch(`{"spec":`+spec+`}`), "kubectl-patch")
	w.awaitOrdinals()
}

func (w *world) awaitOrdinals() {
	w.Helper()
	var now appsv1.StatefulSet
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, &now); err != nil {
		w.Fatalf("get the StatefulSet: %v", err)
	}
	w.await(ordinalsAre("seen by the native controller", func(s *appsv1.StatefulSet) bool {
		return s.Status.ObservedGeneration >= now.Generation
	}))
}

func (w *world) setStrategy(strategy string) {
	w.Helper()
	w.patchOrdinals(`{"updateStrategy":` + strategy + `}`)
}

func (w *world) scaleOrdinals(replicas int) {
	w.Helper()
	w.patchOrdinals(fmt.Sprintf(`{"replicas":%d}`, replicas))
}

// ordinalsAre returns a check of the StatefulSet.
func ordinalsAre(what string, are func(*appsv1.StatefulSet) bool) check {
	return func(s *scene) error {
		if set := s.stateful(); set == nil || !are(set) {
			return fmt.Errorf("want the StatefulSet to be %s", what)
		}
		return nil
	}
}

// images wants pods with these images, by ordinal; "" is a place without a pod, and a pod that is
// not ready has a "!" after it.
func images(want ...string) check {
	return func(s *scene) error {
		got := make([]string, len(want))
		for _, pod := range s.pods {
			var ordinal int
			if _, err := fmt.Sscanf(pod.Name, "web-%d", &ordinal); err != nil || ordinal >= len(got) || pod.DeletionTimestamp != nil {
				return fmt.Errorf("pod %s is not one that is wanted", pod.Name)
			}
			got[ordinal] = pod.Spec.Containers[0].Image
			if !isReady(pod) {
				got[ordinal] += "!"
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			return fmt.Errorf("pods are of %q, want %q", got, want)
		}
		return nil
	}
}

// TestTrapS1PodsComeBackByThePartition: S1, below the partition every pod is one of the version
// before, from it on one of the new, whoever asked for it.
func TestTrapS1PodsComeBackByThePartition(t *testing.T) {
	w := newWorld(t)
	w.holdByHand(3, parallel, "null")
	w.kubectl("delete", "pod", "web-1")
	w.scaleOrdinals(4)
	w.await(images("web:1", "web:1", "web:1", "web:1"))

	w.setStrategy(partitioned(3))
	w.await(images("web:1", "web:1", "web:1", "web:2"))
	w.scaleOrdinals(5)
	w.await(images("web:1", "web:1", "web:1", "web:2", "web:2"))

	w.setStrategy(partitioned(math.MaxInt32))
	w.kubectl("delete", "pod", "web-4")
	w.await(images("web:1", "web:1", "web:1", "web:2", "web:1"))
}

// TestTrapS2TheNativeControllerDeletesToo: S2, the native controller replaces all that a partition
// reaches, with nobody's help. With OnDelete it replaces none.
func TestTrapS2TheNativeControllerDeletesToo(t *testing.T) {
	w := newWorld(t)
	w.holdByHand(4, parallel, "null")
	w.setStrategy(deletedByHand)
	w.kubectl("delete", "pod", "web-1")
	w.await(images("web:1", "web:2", "web:1", "web:1"))

	w.setStrategy(partitioned(2))
	w.await(images("web:1", "web:2", "web:2", "web:2"))
}

// TestTrapS4ABrokenPodStopsTheRest: S4, in order, a pod that is broken stops the native controller,
// whatever template there is. Only its deletion helps.
func TestTrapS4ABrokenPodStopsTheRest(t *testing.T) {
	w := newWorld(t)
	w.holdByHand(3, oneByOne, fmt.Sprintf(`{%q:%q}`, controlplane.BehaviourAnnotation, controlplane.NeverReady))
	w.setStrategy(partitioned(1))
	w.await(images("web:1", "web:1", "web:2!"))
	w.kubectl("delete", "pod", "web-1")
	w.await(images("web:1", "web:2!", "web:2!"))
	w.kubectl("delete", "pod", "web-2")
	w.await(images("web:1", "web:2!", ""))

	w.patchOrdinals(fmt.Sprintf(`{"updateStrategy":%s,"template":{"metadata":{"annotations":null},`+
		`"spec":{"containers":[{"name":"web","image":"web:1"}]}}}`, partitioned(math.MaxInt32)))
	w.await(images("web:1", "web:2!", ""))
	w.kubectl("delete", "pod", "web-1")
	w.await(images("web:1", "web:1", "web:1"))
}

// TestTrapS5WithoutPodsTheUpdateIsComplete: S5, with no pods the update revision becomes the
// current one: all that come next are new, whatever the partition is.
func TestTrapS5WithoutPodsTheUpdateIsComplete(t *testing.T) {
	w := newWorld(t)
	w.holdByHand(2, parallel, "null")
	w.scaleOrdinals(0)
	w.await(ordinalsAre("of one revision", func(s *appsv1.StatefulSet) bool {
		return s.Status.CurrentRevision == s.Status.UpdateRevision
	}))
	w.scaleOrdinals(2)
	w.await(images("web:2", "web:2"))
}

// TestTrapS6AnOlderTemplateHasItsRevision: S6, a template that there was before takes its old
// revision, which may be the current one: pods come back in it everywhere.
func TestTrapS6AnOlderTemplateHasItsRevision(t *testing.T) {
	w := newWorld(t)
	w.holdByHand(2, parallel, "null")
	w.setStrategy(partitioned(1))
	w.await(images("web:1", "web:2"))
	w.patchOrdinals(fmt.Sprintf(`{"updateStrategy":%s,"template":{"spec":{"containers":[{"name":"web","image":"web:1"}]}}}`,
		partitioned(math.MaxInt32)))
	w.await(ordinalsAre("of one revision", func(s *appsv1.StatefulSet) bool {
		return s.Status.CurrentRevision == s.Status.UpdateRevision
	}))
	w.kubectl("delete", "pod", "web-1")
	w.await(images("web:1", "web:1"))
}

// TestTrapS7WhatHasEndedIsMadeAgain: S7, a pod that has ended is made again, by the partition.
func TestTrapS7WhatHasEndedIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.holdByHand(2, parallel, "null")
	before := w.now().uids()["web-1"]
	w.setPhase("web-1", corev1.PodFailed)
	w.await(all(another("web-1", before), images("web:1", "web:1")))
}

// TestTrapS10OnDeleteKeepsTheCurrentRevision: S10, with OnDelete the current revision stays the
// same, however all pods are updated by hand. Lost pods come back in it as soon as the StatefulSet
// has another template and a partition. With RollingUpdate and the same template it becomes the
// revision that they run.
func TestTrapS10OnDeleteKeepsTheCurrentRevision(t *testing.T) {
	for name, first := range map[string]bool{"Template": false, "StrategyFirst": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.judged = nil
			w.create(ordinals(2, parallel))
			w.await(images("web:1", "web:1"))
			w.patchOrdinals(`{"updateStrategy":` + deletedByHand + `,` + webOf("web:2") + `}`)
			w.kubectl("delete", "pod", "web-0", "web-1")
			w.await(images("web:2", "web:2"))
			want := "web:1"
			if first {
				w.patchOrdinals(`{"updateStrategy":` + partitioned(math.MaxInt32) + `}`)
				want = "web:2"
			}
			w.patchOrdinals(`{"updateStrategy":` + partitioned(math.MaxInt32) + `,` + webOf("web:3") + `}`)
			before := w.now().uids()["web-0"]
			w.kubectl("delete", "pod", "web-0")
			w.await(all(another("web-0", before), images(want, "web:2")))
		})
	}
}
