package journeys

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// What others make in the namespace to look like a part of a workload, or of a release.

// nativeRevision waits for the ControllerRevision that the native controller makes of the template
// of an image, and returns it. Its watch may lag behind that of the workload.
func (w *world) nativeRevision(image string) *appsv1.ControllerRevision {
	w.Helper()
	var found *appsv1.ControllerRevision
	w.await(func(s *scene) error {
		for _, revision := range s.history {
			if strings.Contains(string(revision.Data.Raw), fmt.Sprintf("%q", image)) {
				found = revision
				return nil
			}
		}
		return fmt.Errorf("want a ControllerRevision of %s", image)
	})
	return found
}

// forge makes a ControllerRevision like another, under a name and with a hash of somebody's choice.
func (w *world) forge(like *appsv1.ControllerRevision, name, hash string, number int64) {
	w.Helper()
	forged := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}, OwnerReferences: like.OwnerReferences},
		Data:       like.Data, Revision: number,
	}
	maps.Copy(forged.Labels, like.Labels)
	forged.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] = hash
	w.create(forged)
}

// controlledBy returns an owner reference that claims to be controlled by a workload.
func controlledBy(workload client.Object, kind string) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(workload, appsv1.SchemeGroupVersion.WithKind(kind))}
}

// TestDaemonSetRevisionUnderAnotherName: before the release, a user made a ControllerRevision of
// the template under another name, which the native controller adopts, and many that look like it.
// Pods carry that name. They count, and none is replaced twice.
func TestDaemonSetRevisionUnderAnotherName(t *testing.T) {
	w := newWorld(t)
	w.ownNodes(3)
	d := w.daemonSet(func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	})
	w.judged = nil
	w.placed(d, 3)
	w.patchDaemon(`{` + webOf("web:2") + `}`)
	second := w.nativeRevision("web:2")
	w.patchDaemon(`{` + webOf("web:1") + `}`)
	w.kubectl("delete", "controllerrevision", second.Name)
	w.forge(second, "zz-other", "evil", 7)
	stranger := named[corev1.ConfigMap]("stranger")
	w.create(stranger)
	for i := range 120 { // the native controller adopts those that nobody owns
		w.create(&appsv1.ControllerRevision{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("web-%03d", i), Labels: second.Labels,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(stranger, corev1.SchemeGroupVersion.WithKind("ConfigMap"))},
			},
			Data: second.Data, Revision: int64(i),
		})
	}
	w.startController()
	w.create(w.toDaemon(step(1), step("100%")))
	first := w.await(all(web.blocksAt(0), onDelete, web.runs(pods{"web:1": 2, "web:2": 1}))).uids()
	w.kubectl("annotate", "daemonset", "web", "look=again")
	w.catchUp()
	w.wantSamePods(first)
	w.wantUntouched(d, all(web.completed, web.serves("web:2", 3)))
}

// wantSamePods wants each pod to have existed before.
func (w *world) wantSamePods(before map[string]string) {
	w.Helper()
	for name, uid := range w.now().uids() {
		if before[name] != uid {
			w.Errorf("pod %s was replaced", name)
		}
	}
}

// TestDaemonSetPodsLabelledAnew: at a gate somebody makes another ControllerRevision of the
// template, newer than that of the native controller, which gives all pods its label. None of them
// is replaced again.
func TestDaemonSetPodsLabelledAnew(t *testing.T) {
	w := newWorld(t)
	w.ownNodes(3)
	w.startController()
	d := w.daemonSet()
	w.placed(d, 3)
	w.create(w.toDaemon(step(1), step("100%")))
	before := w.await(all(web.blocksAt(0), onDelete, web.runs(pods{"web:1": 2, "web:2": 1}))).uids()
	w.judged = nil // a ControllerRevision goes, and all pods count as updated
	w.forge(w.nativeRevision("web:2"), "web-evil", "evil", 99)
	w.kubectl("annotate", "daemonset", "web", "look=again")
	w.await(func(s *scene) error {
		for _, pod := range s.pods {
			if alive(pod) && pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey] != "evil" {
				return fmt.Errorf("want pod %s labelled anew", pod.Name)
			}
		}
		return nil
	})
	w.await(web.condition(v1alpha1.ConditionBeyondStep, v1alpha1.ReasonCameUpdated, "3 of 3 pods"))
	w.wantSamePods(before)
}

// TestPodsThatClaimAnOwner: pods that claim to be of the workload, and that its native controller
// does not count, don't hold up the release.
func TestPodsThatClaimAnOwner(t *testing.T) {
	claimed := func(name string, workload client.Object, kind string) *corev1.Pod {
		template := podTemplate("web:2", nil)
		template.Spec.NodeSelector = map[string]string{"none": "such"}
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, OwnerReferences: controlledBy(workload, kind),
				Labels: map[string]string{
					"app": "web", appsv1.ControllerRevisionHashLabelKey: "forged",
					appsv1.StatefulSetPodNameLabel: "web-0", appsv1.PodIndexLabel: "99999999999999999999",
				},
			},
			Spec: template.Spec,
		}
	}
	for kind, names := range map[string][]string{
		"StatefulSet": {"web--1", "web--2147483648", "web-x", "web-99999999999999999999", "web-2147483648", "other-0", "web-0-0"},
		"DaemonSet":   {"web-nowhere"},
	} {
		t.Run(kind, func(t *testing.T) {
			w := newWorld(t)
			w.judged = nil
			var workload client.Object = statefulSet(3)
			r := toStateful(step(1), step("100%"))
			if kind == "DaemonSet" {
				w.ownNodes(3)
				workload, r = w.daemonSet(), w.toDaemon(step(1), step("100%"))
			}
			w.startController()
			w.placed(workload, 3)
			for _, name := range names {
				w.create(claimed(name, workload, kind))
			}
			w.create(r)
			w.wantUntouched(workload, web.completed)
			for _, name := range names {
				if w.now().pod(name) == nil && kind == "StatefulSet" {
					t.Errorf("pod %s was deleted", name)
				}
			}
		})
	}
}

// TestRecordOfAnotherRelease: a record that another release keeps is never taken away, though it
// has the name of one of ours.
func TestRecordOfAnotherRelease(t *testing.T) {
	w := newWorld(t)
	w.startController()
	d := deployment(2)
	w.deployed(d)
	var hash string
	for _, set := range w.now().sets {
		hash = set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	}
	other := release("other:1", step("100%"))
	other.Name, other.Spec.WorkloadRef.Name, other.Spec.Suspend = "other", "other", true
	w.create(other)
	record := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{
		Name:            "web-" + hash + ".sluice",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(other, v1alpha1.GroupVersion.WithKind("BatchRelease"))},
		Labels:          map[string]string{v1alpha1.ReleaseLabel: "other", v1alpha1.RevisionLabel: "x"},
	}}
	record.Data.Raw = []byte(`{"spec":{}}`)
	w.create(record)
	w.create(release("web:2", step("100%")))
	w.await(web.refused("", "belongs to BatchRelease other"))
	var now appsv1.ControllerRevision
	if err := w.Get(t.Context(), client.ObjectKeyFromObject(record), &now); err != nil || now.UID != record.UID {
		t.Errorf("want the record of the other release left alone, got %s: %v", now.UID, err)
	}
}
