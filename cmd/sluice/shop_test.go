package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/dialer"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// soon is how long the tests wait for what takes moments on a machine with nothing else to do.
const soon = 2 * time.Minute

// A shop is a namespace with a controller of its own, and people who call sluice on it.
type shop struct {
	*testing.T

	client     client.Client
	namespace  string
	kubeconfig string
}

// controllerAccount is the one that the policies in config/policy know as the controller's.
const controllerAccount = "system:serviceaccount:sluice-system:sluice-controller"

// newShop runs the controller until the test ends.
func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{T: t, namespace: cptest.Namespace(t), kubeconfig: cptest.Access(t).Kubeconfig}
	c := cptest.Client(t)
	s.client = c
	cfg := cptest.Config(t)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: controllerAccount, Groups: []string{"system:masters"}}
	mgr, err := app.New(cfg, app.Options{
		Version: s.namespace, Namespaces: []string{s.namespace}, Logger: logr.FromSlogHandler(slog.DiscardHandler),
		Git: gitrepo.Options{AllowFile: true, Networks: dialer.Rules{Allowed: dialer.Loopback()}}, ForgeHTTP: true,
	})
	if err != nil {
		t.Fatalf("make controller: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run controller: %v", err)
		}
	})
	return s
}

// roles lets one test at a time apply the roles that come with Sluice.
var roles sync.Mutex

// person makes a user with cluster roles in the shop's namespace, of Kubernetes and of Sluice.
func (s *shop) person(name string, clusterRoles ...string) string {
	s.Helper()
	s.applyRoles()
	user := s.namespace + ":" + name
	for _, role := range clusterRoles {
		s.create(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name + "-" + role},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
		})
	}
	cptest.AwaitRights(s.T, cptest.Config(s.T), user)
	return user
}

func (s *shop) applyRoles() {
	s.Helper()
	roles.Lock()
	defer roles.Unlock()
	if err := controlplane.Apply(s.Context(), cptest.Config(s.T), s.shipped("config/rbac/user_roles.yaml")); err != nil {
		s.Fatalf("apply roles: %v", err)
	}
}

// viewer returns a user who may see what is in the namespace, and do nothing.
func (s *shop) viewer() string {
	s.Helper()
	return s.person("viewer", "view", "sluice-viewer")
}

// said is the output of a call of sluice, and its error.
type said struct {
	stdout, stderr string
	code           int
}

// as calls sluice as a user, in the shop's namespace.
func (s *shop) as(user string, args ...string) said {
	s.Helper()
	var stdout, stderr bytes.Buffer
	code := run(s.Context(), append(args, s.flags(user)...), &stdout, &stderr)
	return said{stdout.String(), stderr.String(), code}
}

func (s *shop) flags(user string) []string {
	return []string{"--kubeconfig=" + s.kubeconfig, "--namespace=" + s.namespace, "--as=" + user}
}

// completes returns a shell's completions of the last word of a call.
func (s *shop) completes(user, verb string, words ...string) string {
	s.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"__complete", verb}, s.flags(user)...)
	if code := run(s.Context(), append(args, words...), &stdout, &stderr); code != exitOK {
		s.Fatalf("complete %s %q: want exit code %d, got %d: %s", verb, words, exitOK, code, stderr.String())
	}
	return stdout.String()
}

// ok returns the output of a call that must succeed.
func (s *shop) ok(user string, args ...string) string {
	s.Helper()
	got := s.as(user, args...)
	if got.code != exitOK {
		s.Fatalf("sluice %s: want exit code %d, got %d: %s", strings.Join(args, " "), exitOK, got.code, got.stderr)
	}
	return got.stdout
}

// want fails the test if a text lacks something.
func (s *shop) want(text string, parts ...string) {
	s.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			s.Errorf("want %q in:\n%s", part, text)
		}
	}
}

// awaitEvents has a release's events listed until they have all parts: they are recorded after what
// they tell of, the native controllers' by themselves. It returns what was printed.
func (s *shop) awaitEvents(user, release string, flags []string, parts ...string) string {
	s.Helper()
	return s.awaitOutput(user, append([]string{"events", release}, flags...), parts...)
}

// awaitOutput runs a command again until it says these things.
func (s *shop) awaitOutput(user string, args []string, parts ...string) (got string) {
	s.Helper()
	cptest.Eventually(s, soon, func() error {
		got = s.ok(user, args...)
		for _, part := range parts {
			if !strings.Contains(got, part) {
				return fmt.Errorf("want %q in:\n%s", part, got)
			}
		}
		return nil
	})
	return got
}

func (s *shop) create(object client.Object) {
	s.Helper()
	if err := s.client.Create(s.Context(), object); err != nil {
		s.Fatalf("create %T: %v", object, err)
	}
}

// deploy makes a Deployment of four pods of version 1 and its release: one pod, a manual gate or
// those given, then all. It waits for the pods, and for the release to have taken notice.
func (s *shop) deploy(name string, gates ...v1alpha1.GatePolicy) {
	s.Helper()
	labels := map[string]string{"app": name}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(4)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate(name, 1),
		},
	}
	s.create(deployment)
	cptest.Eventually(s.T, soon, func() error {
		if err := s.client.Get(s.Context(), client.ObjectKeyFromObject(deployment), deployment); err != nil {
			return fmt.Errorf("read Deployment: %w", err)
		}
		if got := deployment.Status.AvailableReplicas; got != 4 {
			return fmt.Errorf("want 4 available pods of %s, got %d", name, got)
		}
		return nil
	})
	s.create(&v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: name},
			Template:    &runtime.RawExtension{Raw: s.encode(podTemplate(name, 1))},
			Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
				{Replicas: intstr.FromInt32(1), Gates: gates}, {Replicas: intstr.FromString("100%")},
			}},
		},
	})
	s.await(name, "completed", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.Phase == v1alpha1.PhaseCompleted
	})
}

// podTemplate returns a version of an application.
func podTemplate(name string, number int) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: name, Image: fmt.Sprintf("%s:%d", name, number)}}},
	}
}

func (s *shop) encode(object any) []byte {
	s.Helper()
	raw, err := json.Marshal(object)
	if err != nil {
		s.Fatalf("encode: %v", err)
	}
	return raw
}

// push brings a release another version from a commit, as a source does.
func (s *shop) push(name string, number int, commit string) {
	s.Helper()
	s.patch(name, map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{
			v1alpha1.CommitAnnotation: commit, v1alpha1.AuthorAnnotation: "Ada <ada@example.com>",
			v1alpha1.SubjectAnnotation: fmt.Sprintf("%s: version %d", name, number),
		}},
		"spec": map[string]any{"template": podTemplate(name, number)},
	})
}

func (s *shop) patch(name string, change any) {
	s.Helper()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}
	if err := s.client.Patch(s.Context(), release, client.RawPatch(types.MergePatchType, s.encode(change))); err != nil {
		s.Fatalf("patch release: %v", err)
	}
}

// await waits for a release to be as the condition asks, and returns it.
func (s *shop) await(name, what string, condition func(*v1alpha1.BatchReleaseStatus) bool) *v1alpha1.BatchRelease {
	s.Helper()
	var release v1alpha1.BatchRelease
	cptest.Eventually(s.T, soon, func() error {
		if err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, &release); err != nil {
			return fmt.Errorf("read release: %w", err)
		}
		if !condition(&release.Status) {
			return fmt.Errorf("want release %s %s, got phase %s, step %d %s: %s", name, what, release.Status.Phase,
				release.Status.CurrentStepIndex, release.Status.CurrentStepState, release.Status.Message)
		}
		return nil
	})
	return &release
}

// awaitGate waits for a release to stop at its gates, and for each of them to say what it waits
// for, which another part of the controller writes.
func (s *shop) awaitGate(name string) *v1alpha1.BatchRelease {
	s.Helper()
	silent := func(reference v1alpha1.GateReference) bool {
		gate := &v1alpha1.Gate{}
		err := s.client.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: reference.Name}, gate)
		return err != nil || gate.Status.Decision == ""
	}
	return s.await(name, "at a gate", func(status *v1alpha1.BatchReleaseStatus) bool {
		return status.CurrentStepState == v1alpha1.StepBlocking && len(status.Gates) > 0 && !slices.ContainsFunc(status.Gates, silent)
	})
}
