package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// placed returns a StatefulSet and a DaemonSet that are held, as far as a policy can tell.
func placed(held bool) map[string]client.Object {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "placed"}},
		Spec:       corev1.PodSpec{NodeSelector: map[string]string{"none": "such"}, Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: template.Labels}
	meta := func(name string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Name: name}
		if held {
			m.Annotations = map[string]string{v1alpha1.HoldAnnotation: `{"release":"placed","uid":"1","strategy":"{}"}`}
		}
		return m
	}
	return map[string]client.Object{
		"StatefulSet": &appsv1.StatefulSet{ObjectMeta: meta("placed"), Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32), ServiceName: "placed", Selector: selector, Template: template,
		}},
		"DaemonSet": &appsv1.DaemonSet{ObjectMeta: meta("placed"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template}},
	}
}

// guardWorkloads has the policies about held workloads, and about pods, hold in the shop's
// namespace.
func (s *shop) guardWorkloads() {
	s.Helper()
	roles.Lock()
	defer roles.Unlock()
	for _, name := range []string{"workloads", "pods"} {
		if err := controlplane.Apply(s.Context(), cptest.Config(s.T), s.shipped("config/policy/"+name+".yaml")); err != nil {
			s.Fatalf("apply policy: %v", err)
		}
		s.bind("config/policy/" + name + "_binding.yaml")
	}
}

// TestHeldWorkloadsAreTheControllers: while a StatefulSet or a DaemonSet is held, nobody else gives
// it another template, lets its native controller loose or takes the annotation off; it can be
// scaled, and in an emergency the glass is broken.
func TestHeldWorkloadsAreTheControllers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guardWorkloads()
	owner := s.clientAs(s.ownerOfApps())
	for kind, object := range placed(true) {
		object.SetNamespace(s.namespace)
		if err := owner.Create(t.Context(), object); err != nil {
			t.Fatalf("create %s: %v", kind, err)
		}
		try := func(by client.Client, patch string) error {
			return by.Patch(t.Context(), object.DeepCopyObject().(client.Object), merge(patch), client.DryRunAll)
		}
		const unheld = `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":null}}}`
		s.awaitRefusal(kind+" without its annotation", func() error { return try(owner, unheld) })
		for _, patch := range []string{
			`{"spec":{"template":{"metadata":{"annotations":{"a":"b"}}}}}`,
			map[string]string{
				"StatefulSet": `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":7}}}}`,
				"DaemonSet":   `{"spec":{"updateStrategy":{"rollingUpdate":{"maxUnavailable":7}}}}`,
			}[kind],
		} {
			err := try(owner, patch)
			if err == nil || !strings.Contains(err.Error(), "Sluice holds this "+kind+` for BatchRelease "placed"`) {
				t.Errorf("%s: want %s refused with what to do, got %v", kind, patch, err)
			}
			if err := try(s.asController(), patch); err != nil {
				t.Errorf("%s: want the controller to write %s, got %v", kind, patch, err)
			}
		}
		allowed := []string{`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":null,"rollouts.sluice.dev/break-glass":"fire"}}}`}
		if kind == "StatefulSet" {
			allowed = append(allowed, `{"spec":{"replicas":5}}`)
		}
		for _, patch := range allowed {
			if err := try(owner, patch); err != nil {
				t.Errorf("%s: want %s allowed, got %v", kind, patch, err)
			}
		}
	}
}

// TestControllerChangesOnlyTheOrderOfPods: the controller's account can't change pods, nor make
// one that it may delete.
func TestControllerChangesOnlyTheOrderOfPods(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guardWorkloads()
	controller := s.asController()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: "web", Labels: map[string]string{"app": "web"}, Annotations: map[string]string{"its": "own"},
			Finalizers: []string{"example.com/kept"},
		},
		Spec: corev1.PodSpec{NodeSelector: map[string]string{"none": "such"}, Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}
	s.create(pod)
	s.letGo(pod)
	try := func(patch string) error {
		return controller.Patch(t.Context(), pod.DeepCopy(), client.RawPatch(types.StrategicMergePatchType, []byte(patch)), client.DryRunAll)
	}
	annotated := func(key, value string) string { return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value) }
	refused := map[string]string{
		"another owner":          `{"metadata":{"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"1","controller":true}]}}`,
		"another image":          `{"spec":{"containers":[{"name":"web","image":"evil:1"}]}}`,
		"another label":          `{"metadata":{"labels":{"app":"other"}}}`,
		"no finalizer":           `{"metadata":{"finalizers":null}}`,
		"another annotation":     annotated("example.com/a", `"b"`),
		"an annotation changed":  annotated("its", `"ours"`),
		"an annotation taken":    annotated("its", "null"),
		"all annotations taken":  `{"metadata":{"annotations":null}}`,
		"an order and an image":  `{"metadata":{"annotations":{"rollouts.sluice.dev/order":"x"}},"spec":{"containers":[{"name":"web","image":"evil:1"}]}}`,
		"an end":                 `{"spec":{"activeDeadlineSeconds":1}}`,
		"an owner that is added": `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"x","uid":"1"}]}}`,
	}
	for name, patch := range refused {
		s.awaitRefusal("a pod with "+name, func() error { return try(patch) })
	}
	for _, key := range []string{corev1.PodDeletionCost, v1alpha1.OrderAnnotation} {
		if err := try(annotated(key, `"7"`)); err != nil {
			t.Errorf("want the controller to write annotation %s, got %v", key, err)
		}
	}
}

// letGo takes the finalizers off a pod in the end.
func (s *shop) letGo(pod *corev1.Pod) {
	s.Cleanup(func() {
		patch := merge(`{"metadata":{"finalizers":null}}`)
		if err := s.client.Patch(context.Background(), pod, patch); client.IgnoreNotFound(err) != nil {
			s.Errorf("let go of pod %s: %v", pod.Name, err)
		}
	})
}

// TestControllerDeletesOnlyPodsThatComeBack: the controller's account deletes only pods that a
// native controller creates again.
func TestControllerDeletesOnlyPodsThatComeBack(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.guardWorkloads()
	controller := s.asController()
	pod := func(name string, owner *metav1.OwnerReference) *corev1.Pod {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
			Spec:       corev1.PodSpec{NodeSelector: map[string]string{"none": "such"}, Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
		}
		if owner != nil {
			p.OwnerReferences = []metav1.OwnerReference{*owner}
		}
		p.Finalizers = []string{"example.com/kept"} // the garbage collector finds no such owner
		s.create(p)
		s.letGo(p)
		return p
	}
	owned := func(apiVersion, kind string, controller bool) *metav1.OwnerReference {
		return &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "some", UID: "some", Controller: &controller}
	}
	refused := map[string]*metav1.OwnerReference{
		"bare": nil, "of-a-set": owned("apps/v1", "ReplicaSet", true), "not-controlled": owned("apps/v1", "StatefulSet", false),
		"of-another-group": owned("example.com/v1", "StatefulSet", true),
	}
	for name, owner := range refused {
		p := pod(name, owner)
		s.awaitRefusal("the deletion of a pod "+name, func() error { return controller.Delete(t.Context(), p, client.DryRunAll) })
	}
	for _, kind := range []string{"StatefulSet", "DaemonSet"} {
		p := pod(strings.ToLower(kind), owned("apps/v1", kind, true))
		if err := controller.Delete(t.Context(), p, client.DryRunAll); err != nil {
			t.Errorf("want the controller to delete a pod of a %s, got %v", kind, err)
		}
	}
	bare := named(s.namespace, "bare")
	err := controller.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(s.namespace))
	if got := s.client.Get(t.Context(), client.ObjectKeyFromObject(bare), bare); got != nil || bare.DeletionTimestamp != nil {
		t.Error(errors.Join(errors.New("a deletion of all pods has deleted one that nobody makes again"), err, got))
	}
}

func named(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}
