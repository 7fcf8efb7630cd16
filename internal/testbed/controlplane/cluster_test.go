package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
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

func TestDeploymentBecomesAvailable(t *testing.T) {
	t.Parallel()
	client, namespace := clientset(t, cptest.Config(t)), cptest.Namespace(t)
	template := podTemplate(nil)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(10)),
			Selector: &metav1.LabelSelector{MatchLabels: template.Labels},
			Template: template,
		},
	}
	if _, err := client.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cptest.Kubectl(t, "rollout", "status", "deployment/web", "--namespace", namespace, "--timeout", within.String())
	got, err := client.AppsV1().Deployments(namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Status.AvailableReplicas != 10 {
		t.Errorf("%d pods available, want 10", got.Status.AvailableReplicas)
	}
}

func TestPodBehaviours(t *testing.T) {
	t.Parallel()
	client, namespace := clientset(t, cptest.Config(t)), cptest.Namespace(t)
	tests := map[string]struct {
		annotations map[string]string
		check       func(*corev1.Pod, corev1.ContainerStatus) error
	}{
		"no annotation: ready": {
			check: func(p *corev1.Pod, c corev1.ContainerStatus) error {
				if !podReady(p) || !c.Ready || p.Status.Phase != corev1.PodRunning || p.Status.PodIP == "" {
					return fmt.Errorf("pod is %+v, want it to run, be ready and have an address", p.Status)
				}
				return nil
			},
		},
		"ready-delay: ready later": {
			annotations: map[string]string{controlplane.ReadyDelayAnnotation: "2s"},
			check: func(p *corev1.Pod, _ corev1.ContainerStatus) error {
				took := condition(p, corev1.PodReady).LastTransitionTime.Sub(condition(p, corev1.PodScheduled).LastTransitionTime.Time)
				if !podReady(p) || took < 2*time.Second {
					return fmt.Errorf("pod is ready: %t, %v after it was scheduled; want 2s", podReady(p), took)
				}
				return nil
			},
		},
		"ready-for: ready, then not": {
			annotations: map[string]string{controlplane.ReadyForAnnotation: "200ms"},
			check: func(p *corev1.Pod, c corev1.ContainerStatus) error {
				if podReady(p) || p.Status.Phase != corev1.PodRunning || c.State.Running == nil {
					return fmt.Errorf("pod is %+v, want it to run and not be ready", p.Status)
				}
				return nil
			},
		},
		"never ready": {
			annotations: map[string]string{controlplane.BehaviourAnnotation: controlplane.NeverReady},
			check: func(p *corev1.Pod, c corev1.ContainerStatus) error {
				ready := condition(p, corev1.PodReady)
				if ready.Status != corev1.ConditionFalse || ready.Reason != "ContainersNotReady" || c.State.Running == nil {
					return fmt.Errorf("pod is %+v, want it to run and not be ready", p.Status)
				}
				return nil
			},
		},
		"image pull failure": {
			annotations: map[string]string{controlplane.BehaviourAnnotation: controlplane.ImagePullFailure},
			check: func(p *corev1.Pod, c corev1.ContainerStatus) error {
				w := c.State.Waiting
				if p.Status.Phase != corev1.PodPending || w == nil || w.Reason != "ImagePullBackOff" || !strings.Contains(w.Message, c.Image) {
					return fmt.Errorf("pod is %+v, want it to be pending with ImagePullBackOff", p.Status)
				}
				return nil
			},
		},
		"crash loop": {
			annotations: map[string]string{controlplane.BehaviourAnnotation: controlplane.CrashLoop},
			check: func(_ *corev1.Pod, c corev1.ContainerStatus) error {
				last, w := c.LastTerminationState.Terminated, c.State.Waiting
				if c.RestartCount < 2 || w == nil || w.Reason != "CrashLoopBackOff" || last == nil || last.ExitCode != 1 {
					return fmt.Errorf("container is %+v, want it to wait after its second restart", c)
				}
				return nil
			},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pod := createPod(t, client, namespace, tc.annotations)
			cptest.Eventually(t, within, func() error {
				got, err := client.CoreV1().Pods(namespace).Get(t.Context(), pod.Name, metav1.GetOptions{})
				if err != nil {
					return err
				}
				if len(got.Status.ContainerStatuses) != 1 {
					return fmt.Errorf("pod is %+v, want a container status", got.Status)
				}
				return tc.check(got, got.Status.ContainerStatuses[0])
			})
			cptest.Kubectl(t, "delete", "pod", pod.Name, "--namespace", namespace, "--timeout", within.String())
		})
	}
}

// A pod that is taken for not ready because its node was silent is ready again when the node is heard: nothing else was wrong
// with it.
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

func TestServiceAccountsAreHeldToRBAC(t *testing.T) {
	t.Parallel()
	admin, namespace := clientset(t, cptest.Config(t)), cptest.Namespace(t)
	cfg, err := cptest.Access(t).ServiceAccountConfig(t.Context(), namespace, "default")
	if err != nil {
		t.Fatal(err)
	}
	listPods := func(cfg *rest.Config) error {
		_, err := clientset(t, cfg).CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		return err
	}
	if err := listPods(cfg); !apierrors.IsForbidden(err) {
		t.Errorf("list without a role: %v, want that it is forbidden", err)
	}
	user, err := cptest.Access(t).ConfigAs("jane", "developers")
	if err != nil {
		t.Fatal(err)
	}
	if err := listPods(user); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), `User "jane"`) {
		t.Errorf("list as jane: %v, want that it is forbidden to jane", err)
	}
	_, err = admin.RbacV1().RoleBindings(namespace).Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "view"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{
			{Kind: rbacv1.ServiceAccountKind, Name: "default", Namespace: namespace},
			{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: "developers"},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	cptest.Eventually(t, within, func() error { return listPods(cfg) })
	cptest.Eventually(t, within, func() error { return listPods(user) })
}

func TestWriteKubeconfig(t *testing.T) {
	t.Parallel()
	namespace := cptest.Namespace(t)
	access := cptest.Access(t)
	account, err := access.ServiceAccountConfig(t.Context(), namespace, "default")
	if err != nil {
		t.Fatal(err)
	}
	user, err := access.ConfigAs("jane", "developers")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		cfg  *rest.Config
		want string
	}{
		"token":         {account, "system:serviceaccount:" + namespace + ":default"},
		"impersonation": {user, "jane"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if err := controlplane.WriteKubeconfig(path, tc.cfg); err != nil {
				t.Fatal(err)
			}
			got := cptest.Kubectl(t, "--kubeconfig", path, "auth", "whoami", "-o", "jsonpath={.status.userInfo.username}")
			if got != tc.want {
				t.Errorf("kubectl is %q, want %q", got, tc.want)
			}
		})
	}
}

func TestCountRequests(t *testing.T) {
	t.Parallel()
	cfg := cptest.Config(t)
	cfg.Impersonate.UserName = "counted"
	cfg.Impersonate.Groups = []string{"system:masters"}
	client := clientset(t, cfg)
	namespace := cptest.Namespace(t)
	maps := client.CoreV1().ConfigMaps(namespace)
	for range 3 {
		if _, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	watch, err := maps.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	counted := func(r controlplane.Request) bool {
		return r.User == "counted" && r.UserAgent == t.Name() && r.Resource == "configmaps" && r.Namespace == namespace
	}
	wantCounts := func(lists int) {
		t.Helper()
		cptest.Eventually(t, within, func() error {
			counts, err := cptest.Access(t).CountRequests(counted)
			if err != nil {
				return err
			}
			if len(counts) != 2 || counts["list"] != lists || counts["watch"] != 1 {
				return fmt.Errorf("counted %v, want %d lists and 1 watch", counts, lists)
			}
			return nil
		})
	}
	wantCounts(3) // the watch, open as it is, among them
	watch.Stop()
	if _, err := maps.List(t.Context(), metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	wantCounts(4) // and the watch, now ended, not again
}

func TestApply(t *testing.T) {
	t.Parallel()
	dir, cfg := t.TempDir(), cptest.Config(t)
	write := func(name, content string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// In the order of the files' names, the objects would come before their kind and namespace.
	write("a.yaml", `
apiVersion: apply.sluice.test/v1
kind: Thing
metadata: {name: one, namespace: apply-test}
---
apiVersion: apply.sluice.test/v1
kind: Thing
metadata: {name: two, namespace: apply-test}
`)
	write("b.yaml", `
apiVersion: v1
kind: Namespace
metadata: {name: apply-test}
`)
	write("c.yaml", `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.apply.sluice.test}
spec:
  group: apply.sluice.test
  scope: Namespaced
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object}}
`)
	write("kustomization.yaml", "kind: Kustomization\nresources: [a.yaml]\n")
	write("notes.txt", "not a manifest")
	t.Cleanup(func() {
		// Not with the test's context, which has ended.
		args := []string{"delete", "--wait=false", "namespace/apply-test", "crd/things.apply.sluice.test"}
		if out, err := cptest.Access(t).Kubectl(context.Background(), args...).CombinedOutput(); err != nil {
			t.Errorf("clean up: %v\n%s", err, out)
		}
	})
	for _, when := range []string{"first", "second"} {
		if err := controlplane.Apply(t.Context(), cfg, dir); err != nil {
			t.Fatalf("%s time: %v", when, err)
		}
	}
	got := cptest.Kubectl(t, "get", "things", "--namespace", "apply-test", "-o", "name")
	if want := "thing.apply.sluice.test/one\nthing.apply.sluice.test/two\n"; got != want {
		t.Errorf("things are %q, want %q", got, want)
	}

	write("a.yaml", "apiVersion: v1\nkind: [")
	if err := controlplane.Apply(t.Context(), cfg, dir); err == nil || !strings.Contains(err.Error(), "a.yaml") {
		t.Errorf("apply of bad YAML: %v, want the file's name", err)
	}
}
