package journeys

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// hasPod wants a pod of a name.
func hasPod(name string) check {
	return func(s *scene) error {
		if s.pod(name) == nil {
			return fmt.Errorf("want pod %s", name)
		}
		return nil
	}
}

func claim() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: new(string), // none
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// claims lists the claims of the namespace, each with its UID and phase.
func (w *world) claims() string {
	w.Helper()
	return w.kubectl("get", "pvc", "-o", `jsonpath={range .items[*]}{.metadata.name} {.metadata.uid} {.status.phase}{"\n"}{end}`)
}

// volumes makes volumes for the claims of a name with the numbers from 0 on.
func (w *world) volumes(claims string, n int) {
	w.Helper()
	for i := range n {
		volume := &corev1.PersistentVolume{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s-%d", w.namespace, i)},
			Spec: corev1.PersistentVolumeSpec{
				Capacity: claim().Resources.Requests, AccessModes: claim().AccessModes,
				ClaimRef:               &corev1.ObjectReference{Namespace: w.namespace, Name: fmt.Sprint(claims, i)},
				PersistentVolumeSource: corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/var/none"}},
			},
		}
		if err := w.Create(w.Context(), volume); err != nil {
			w.Fatalf("create volume: %v", err)
		}
		w.Cleanup(func() {
			if err := client.IgnoreNotFound(w.Delete(context.Background(), volume)); err != nil {
				w.Errorf("delete volume: %v", err)
			}
		})
	}
}

// TestStatefulSetOrdinalsMoved: spec.ordinals.start changes at a gate. No more pods are updated
// than were approved, in any places.
func TestStatefulSetOrdinalsMoved(t *testing.T) {
	w := newWorld(t)
	s := w.halfOfOrdinals(4)
	w.excuses() // the native controller deletes the pods of other places
	w.excuse.races = []law{withinStep, neverFewer, enoughRun}
	w.kubectl("patch", "statefulset", "web", "-p", `{"spec":{"ordinals":{"start":2}}}`)
	w.await(all(closed, web.blocksAt(0), seenNatively, hasPods(4), web.runs(pods{"web:1": 2, "web:2": 2}), hasPod("web-5")))
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 4)))
}

// TestStatefulSetKeepsItsClaims: a pod that is replaced keeps its claim, whatever the user's
// retention policy.
func TestStatefulSetKeepsItsClaims(t *testing.T) {
	const keep = appsv1.DeletePersistentVolumeClaimRetentionPolicyType
	w := newWorld(t)
	w.volumes("data-web-", 4)
	s := w.halfOfOrdinals(4, func(s *appsv1.StatefulSet) {
		s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: keep, WhenScaled: keep}
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}, Spec: claim()}}
	})
	before := w.claims()
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 4)))
	if after := w.claims(); after != before || strings.Count(after, "Bound") != 4 {
		t.Errorf("claims before\n%sand after\n%s", before, after)
	}
}
