package journeys

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// spec.ordinals.start changes at a gate: no more pods are updated than were approved, in whatever places.
func TestStatefulSetOrdinalsMoved(t *testing.T) {
	for _, start := range []int{2, 10} {
		t.Run(fmt.Sprint(start), func(t *testing.T) {
			w := newWorld(t)
			s := w.halfOfOrdinals(4)
			w.excuses() // what is lost is lost by whom has changed it
			w.excuse.races = []law{withinStep, neverFewer, enoughRun}
			w.kubectl("patch", "statefulset", "web", "-p", fmt.Sprintf(`{"spec":{"ordinals":{"start":%d}}}`, start))
			w.await(all(closed, web.blocksAt(0), seenInPlace, hasPods(4), web.runs(pods{"web:1": 2, "web:2": 2}), hasPod(fmt.Sprintf("web-%d", start+3))))
			w.wantUntouched(s, all(web.completed, web.serves("web:2", 4)))
		})
	}
}

// hasPod wants a pod of a name.
func hasPod(name string) check {
	return func(s *scene) error {
		if s.pod(name) == nil {
			return fmt.Errorf("want pod %s", name)
		}
		return nil
	}
}

// A pod that does not go because of a finalizer holds the release up, and its rollback, until it is gone.
func TestStatefulSetPodHangs(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		for _, back := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/RolledBack=%t", policy, back), func(t *testing.T) {
				w := newWorld(t)
				w.startController()
				s := statefulSet(6, managed(policy))
				w.placed(s, 6)
				w.kubectl("patch", "pod", "web-4", "--type=merge", "-p", hangs)
				w.create(toStateful(step("50%"), step("100%")))
				w.await(goes("web-4"))
				ends := all(web.completed, web.serves("web:2", 6))
				if back {
					w.rollBack()
					w.await(web.reason(v1alpha1.ReasonRollingBack))
					ends = all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 6))
				}
				w.kubectl("patch", "pod", "web-4", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
				w.wantUntouched(s, ends)
			})
		}
	}
}

// goes wants a pod to be there, and to be going.
func goes(name string) check {
	return func(s *scene) error {
		for _, pod := range s.pods {
			if pod.Name == name && pod.DeletionTimestamp != nil {
				return nil
			}
		}
		return fmt.Errorf("want pod %s going", name)
	}
}

// An older template that comes in mid-release, to which the native controller gives its older revision again, is gone back to.
func TestStatefulSetGoesBackToOlderTemplate(t *testing.T) {
	for _, limit := range []int32{0, 1, 10} {
		t.Run(fmt.Sprintf("History=%d", limit), func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			s := statefulSet(4, func(s *appsv1.StatefulSet) { s.Spec.RevisionHistoryLimit = &limit })
			w.placed(s, 4)
			w.create(toStateful(step("50%"), step("100%")))
			w.awaitConfirming(all(web.completed, web.serves("web:2", 4), seenInPlace))
			w.releaseImage("web:3")
			w.await(all(web.attempt(2), web.blocksAt(0), closed, web.runs(pods{"web:2": 2, "web:3": 2})))
			w.releaseImage("web:1")
			w.wantUntouched(s, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
			w.releaseImage("web:3")
			w.wantUntouched(s, all(web.completed, web.serves("web:3", 4)))
		})
	}
}

// Where the native controller keeps no history, Sluice has the template to go back to.
func TestStatefulSetWithoutHistory(t *testing.T) {
	for _, limit := range []int32{0, 1} {
		for _, over := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d/Completed=%t", limit, over), func(t *testing.T) {
				w := newWorld(t)
				s := w.halfOfOrdinals(4, func(s *appsv1.StatefulSet) { s.Spec.RevisionHistoryLimit = &limit })
				if over {
					w.awaitConfirming(all(web.completed, web.serves("web:2", 4), seenInPlace))
				}
				w.rollBack()
				w.wantUntouched(s, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
			})
		}
	}
}

// Pods count once they have been ready for as long as the workload says.
func TestStatefulSetMinReadySeconds(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			s := w.halfOfOrdinals(4, managed(policy), func(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 3 })
			w.wantReadyFor("web:2", 3*time.Second)
			w.wantUntouched(s, all(web.completed, web.serves("web:2", 4)))
		})
	}
}

// Claims, and how long they are kept, are the user's: a pod that is replaced has the claim that it had.
func TestStatefulSetKeepsItsClaims(t *testing.T) {
	for _, keep := range []appsv1.PersistentVolumeClaimRetentionPolicyType{
		appsv1.RetainPersistentVolumeClaimRetentionPolicyType, appsv1.DeletePersistentVolumeClaimRetentionPolicyType,
	} {
		t.Run(string(keep), func(t *testing.T) {
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
		})
	}
}

func claim() corev1.PersistentVolumeClaimSpec {
	return corev1.PersistentVolumeClaimSpec{
		StorageClassName: new(string), // none
		AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
}

// claims are those of the namespace, each with its UID and phase.
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
