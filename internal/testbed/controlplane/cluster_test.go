package controlplane_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// within is how long things may take that take milliseconds on an idle machine.
const within = time.Minute

// clientset makes a client of the shared control plane.
func clientset(t *testing.T, cfg *rest.Config) kubernetes.Interface {
	t.Helper()
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func podTemplate(annotations map[string]string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}, Annotations: annotations},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "example.test/app:1"}}},
	}
}

func createPod(t *testing.T, client kubernetes.Interface, namespace string, annotations map[string]string) *corev1.Pod {
	t.Helper()
	template := podTemplate(annotations)
	pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
	pod.GenerateName = "pod-"
	pod, err := client.CoreV1().Pods(namespace).Create(t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("create pod: %v", err)
	}
	return pod
}

func condition(pod *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	for _, c := range pod.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return corev1.PodCondition{}
}

func podReady(pod *corev1.Pod) bool {
	return condition(pod, corev1.PodReady).Status == corev1.ConditionTrue
}

// TestPodOfASilentNodeIsReadyAgain: a pod that is taken for not ready because its node was silent
// is ready again when the node is heard: nothing else was wrong with it.
func TestPodOfASilentNodeIsReadyAgain(t *testing.T) {
	t.Parallel()
	client, namespace := clientset(t, cptest.Config(t)), cptest.Namespace(t)
	pods := client.CoreV1().Pods(namespace)
	name := createPod(t, client, namespace, nil).Name
	ready := func() error {
		pod, err := pods.Get(t.Context(), name, metav1.GetOptions{})
		if err == nil && !podReady(pod) {
			err = fmt.Errorf("pod is %+v, want it ready", pod.Status)
		}
		return err
	}
	cptest.Eventually(t, within, ready)
	silent := []byte(`{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`) // MarkPodsNotReady of the node lifecycle controller
	if _, err := pods.Patch(t.Context(), name, types.StrategicMergePatchType, silent, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, within, ready)
}
