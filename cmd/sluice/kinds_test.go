package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// statefulSet makes a StatefulSet of pods of version 1, and waits for them.
func (s *shop) statefulSet(name string, replicas int32) *statefulset.Object {
	s.Helper()
	made := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: labelled(name), Template: labelledTemplate(name, "StatefulSet"),
			PodManagementPolicy: appsv1.ParallelPodManagement,
		},
	}
	made.Spec.Selector.MatchLabels["kind"] = "StatefulSet"
	s.create(made)
	cptest.Eventually(s.T, soon, func() error {
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(made), made)
		if err == nil && (made.Status.AvailableReplicas != replicas || made.Status.CurrentRevision == "") {
			err = fmt.Errorf("want %d available pods of StatefulSet %s, got %+v", replicas, name, made.Status)
		}
		return err
	})
	return &statefulset.Object{StatefulSet: made}
}

// daemonSet makes a DaemonSet with pods of version 1 on two nodes, and waits for them.
func (s *shop) daemonSet(name string) *daemonset.Object {
	s.Helper()
	made := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec:       appsv1.DaemonSetSpec{Selector: labelled(name), Template: labelledTemplate(name, "DaemonSet")},
	}
	made.Spec.Selector.MatchLabels["kind"] = "DaemonSet"
	made.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-0"}}},
		}, {
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{"node-1"}}},
		}}},
	}}
	s.create(made)
	cptest.Eventually(s.T, soon, func() error {
		err := s.client.Get(s.Context(), client.ObjectKeyFromObject(made), made)
		if err == nil && made.Status.NumberAvailable != 2 {
			err = fmt.Errorf("want 2 available pods of DaemonSet %s, got %+v", name, made.Status)
		}
		return err
	})
	return &daemonset.Object{DaemonSet: made}
}

func labelled(name string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
}

// labelledTemplate returns version 1, with a label that tells it from those of another kind and the
// same name.
func labelledTemplate(name, kind string) corev1.PodTemplateSpec {
	template := podTemplate(name, 1)
	template.Labels["kind"] = kind
	return template
}

// releaseOf makes the release of a workload that is there, of one pod and then all, and waits for
// it to have taken notice.
func (s *shop) releaseOf(name string, w workload.Workload) {
	s.Helper()
	s.create(&v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: w.Kind(), Name: w.GetName()},
			Template:    &runtime.RawExtension{Raw: s.encode(w.PodTemplate())},
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(1), Gates: []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}}, {Replicas: intstr.FromString("100%")},
			}},
		},
	})
	s.await(name, "completed", isCompleted)
}

// pushImage releases version 2 of what runs.
func (s *shop) pushImage(name string, w workload.Workload) {
	s.Helper()
	template := w.PodTemplate().DeepCopy()
	template.Spec.Containers[0].Image = w.GetName() + ":2"
	s.patch(name, map[string]any{"spec": map[string]any{"template": template}})
	s.awaitGate(name)
}

// awaitImages waits for the pods of a workload to have these images, so many of each.
func (s *shop) awaitImages(w workload.Workload, want map[string]int) {
	s.Helper()
	cptest.Eventually(s.T, soon, func() error {
		var pods corev1.PodList
		if err := s.client.List(s.Context(), &pods, client.InNamespace(s.namespace)); err != nil {
			return fmt.Errorf("list pods: %w", err)
		}
		got := map[string]int{}
		for i := range pods.Items {
			if pod := &pods.Items[i]; metav1.IsControlledBy(pod, w) && pod.DeletionTimestamp == nil {
				got[pod.Spec.Containers[0].Image]++
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("want pods of %s %s with images %v, got %v", w.Kind(), w.GetName(), want, got)
		}
		return nil
	})
}

// revisionOf returns the name that the native controller gave the version of a workload's pods, of
// which there is one.
func (s *shop) revisionOf(w workload.Workload) string {
	s.Helper()
	var pods corev1.PodList
	if err := s.client.List(s.Context(), &pods, client.InNamespace(s.namespace)); err != nil {
		s.Fatalf("list pods: %v", err)
	}
	for i := range pods.Items {
		if pod := &pods.Items[i]; metav1.IsControlledBy(pod, w) {
			return pod.Labels[appsv1.ControllerRevisionHashLabelKey]
		}
	}
	s.Fatalf("%s %s has no pods", w.Kind(), w.GetName())
	return ""
}

// TestEachKindIsShown: a StatefulSet and a DaemonSet at a gate, with the counts of their kinds,
// versions and pods; where a pod comes from; and what happened.
func TestEachKindIsShown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	set, daemon := s.statefulSet("db", 3), s.daemonSet("agent")
	s.releaseOf("db", set)
	s.releaseOf("agent", daemon)
	stable, daemonStable := set.Revision(set.Status.CurrentRevision), s.revisionOf(daemon)
	s.pushImage("db", set)
	s.pushImage("agent", daemon)
	s.awaitImages(set, map[string]int{"db:1": 2, "db:2": 1})
	s.awaitImages(daemon, map[string]int{"agent:1": 1, "agent:2": 1})
	updated := s.await("db", "at its gate", func(*v1alpha1.BatchReleaseStatus) bool { return true }).Status.UpdateRevision

	cptest.Eventually(t, soon, func() error { // the native controllers count by and by
		got := s.ok(viewer, "get", "db") + s.ok(viewer, "get", "agent")
		for _, part := range []string{
			fmt.Sprintf("statefulset/db ─3 of 3 pods available, 3 ready, 1 updated to %s, 2 current of %s, held by Sluice", updated, stable),
			fmt.Sprintf("✔ controllerrevision/db-%s ─new, db:2: 1 of 1 pod ready", updated), "pod/db-2 ─ready, on node-",
			fmt.Sprintf("✔ controllerrevision/db-%s ─stable, db:1: 2 of 2 pods ready", stable),
			"daemonset/agent ─2 of 2 pods available, 2 current, 2 ready, 1 updated, held by Sluice",
			"─new, agent:2: 1 of 1 pod ready", fmt.Sprintf("controllerrevision/agent-%s ─stable, agent:1: 1 of 1 pod ready", daemonStable),
		} {
			if !strings.Contains(regexp.MustCompile(` {2,}`).ReplaceAllString(got, " ─"), part) {
				return fmt.Errorf("want %q in\n%s", part, got)
			}
		}
		return nil
	})
	var list metav1.List
	if err := json.Unmarshal([]byte(s.ok(viewer, "get", "db", "-o", "json")), &list); err != nil || len(list.Items) != 8 {
		t.Errorf("want release, StatefulSet, two ControllerRevisions, three pods and a Gate, got %d, %v", len(list.Items), err)
	}
	said, stop := s.start(viewer, "get", "db", "--watch")
	said.await(s, "pod/db-2: ready")
	stop()

	s.want(s.ok(viewer, "trace", "pod/db-2"), "Pod:          db-2, made", "Images:       db:2\n", "StatefulSet:  db\n", "Release:      db\n",
		"Revision:     "+updated+"\n", "Outcome:      Waiting\n", "Gate after batch 1, manual: waits")
	s.want(s.ok(viewer, "trace", "sts/db"), "Recorded in:  db-"+stable+"\n", "Revision:     "+stable+", number 1\n", "Images:       db:2\n")
	s.want(s.ok(viewer, "trace", "daemonset/agent"), "Images:       agent:1\n", "DaemonSet:    agent\n", "Images:       agent:2\n")
	if got := s.ok(viewer, "events", "db"); strings.Contains(got, "pod/") {
		t.Errorf("want no events of pods unless they are asked for, got:\n%s", got)
	}
	all := []string{"--pods"}
	s.awaitEvents(viewer, "db", all, "batchrelease/db", "StepBlocking", "statefulset/db", "SuccessfulCreate", "pod/db-2", "Scheduled")
	s.awaitEvents(viewer, "agent", all, "daemonset/agent", "SuccessfulCreate", "pod/agent-", "Scheduled")
	s.want(s.ok(viewer, "list", "-o", "wide"), "statefulset/db", "daemonset/agent", "1/3", "1/2")
	s.want(s.ok(viewer, "history", "db"), stable)
}
