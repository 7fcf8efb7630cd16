package main

import (
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTrace: from a pod, a ReplicaSet and a Deployment to the commit and who confirmed it, during a
// release and after it; and the events of it.
func TestTrace(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web")
	s.push("web", 2, secondCommit)
	revision := s.awaitGate("web").Status.UpdateRevision
	pod := "pod/" + s.podOf(revision)

	s.want(s.ok(viewer, "trace", pod), "Release:      web\n", "Images:       web:2\n", "Outcome:      Waiting\n",
		"Commit:       "+secondCommit+"\n", "Author:       Ada <ada@example.com>\n", "Gate after batch 1, manual: waits")
	s.want(s.ok(viewer, "trace", "deploy/web"), "Images:       web:1\n", "\n\nReplicaSet:", "Images:       web:2\n")
	s.confirm("web")
	s.await("web", "completed", func(status *v1alpha1.BatchReleaseStatus) bool { return status.Phase == v1alpha1.PhaseCompleted })
	s.awaitOutput(viewer, []string{"trace", pod}, ", number 2\n", "Outcome:      Released, ", "  StatusPatch: status.currentStepState was set to Completed through field manager \"kubectl-patch\"")
	names := `jsonpath={range .items[*]}{.kind}/{.metadata.name} {end}`
	s.want(s.ok(viewer, "trace", "deploy/web", "-o", names), "ReplicaSet/web-"+revision+" Deployment/web ControllerRevision/", " BatchRelease/web Gate/web-"+revision)
	s.want(s.ok(viewer, "trace", "rs/web-"+revision), "Subject:      web: version 2\n")
	s.want(s.ok(viewer, "trace", strings.TrimPrefix(pod, "pod/")), "Images:       web:2\n")
	s.want(s.as(viewer, "trace", "pod/none").stderr, `"none" not found`)
	if got := s.as(viewer, "trace", "service/web"); got.code != exitUsage {
		t.Errorf("want exit code %d for what can't be traced, got %d", exitUsage, got.code)
	}

	got := s.awaitEvents(viewer, "web", nil, "LAST SEEN", "batchrelease/web", "StepBlocking", "deployment/web", "GatePassed")
	if strings.Contains(got, "pod/") || strings.Contains(got, "replicaset/") {
		t.Errorf("want no events of pods unless they are asked for, got:\n%s", got)
	}
	s.awaitEvents(viewer, "web", []string{"--pods"}, "replicaset/web-"+revision, "SuccessfulCreate", pod, "Scheduled", "GatePassed")
}

// podOf returns the name of a pod of a revision.
func (s *shop) podOf(revision string) string {
	s.Helper()
	var pods corev1.PodList
	err := s.client.List(s.Context(), &pods, client.InNamespace(s.namespace), client.MatchingLabels{"pod-template-hash": revision})
	if err != nil || len(pods.Items) == 0 {
		s.Fatalf("want a pod of revision %s, got %d, %v", revision, len(pods.Items), err)
	}
	return pods.Items[0].Name
}

// TestVersionOfController: the image that the controller's Deployment has, where it can be read.
func TestVersionOfController(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: controllerName},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "sluice"}},
			Template: podTemplate("sluice", 4),
		},
	})
	s.want(s.ok(s.viewer(), "version"), "sluice ", "controller sluice:4, 0 of 0 ready, in namespace "+s.namespace+"\n")
}
