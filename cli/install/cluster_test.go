package install_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/install"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) { cptest.Main(m) }

// TestIsConfig: without options the manifests equal those that kubectl builds of the folder
// config.
func TestIsConfig(t *testing.T) {
	t.Parallel()
	folder, err := controlplane.InCheckout("config")
	if err != nil {
		t.Fatal(err)
	}
	want := byName(cptest.Decode(t, cptest.Kubectl(t, "kustomize", folder)))
	got := byName(cptest.Decode(t, render(t, install.Default("latest"))))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-kubectl kustomize config +install:\n%s", diff)
	}
}

// TestIsComponents: each option that is a component of kustomize gives the objects that kustomize
// makes with it.
func TestIsComponents(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		components []string
		choose     func(*install.Options)
	}{
		"Traffic":   {"flag and rights", []string{"traffic"}, func(o *install.Options) { o.Traffic = true }},
		"Job":       {"rights", []string{"job"}, func(o *install.Options) { o.Job = true }},
		"Notices":   {"flag, Secret and rights", []string{"notices"}, func(o *install.Options) { o.Notices = true }},
		"Config":    {"rights", []string{"config", "config-secrets"}, func(o *install.Options) { o.ConfigMaps, o.Secrets = true, true }},
		"Dashboard": {"all of it, with one replica", []string{"dashboard"}, func(o *install.Options) { o.Dashboard = true }},
		"Unconstrained": {
			"and the rights for Kubernetes before 1.36", []string{"dashboard", "dashboard-unconstrained"},
			func(o *install.Options) { o.Dashboard, o.DashboardUnconstrained = true, true },
		},
		"All": {
			"none is in another's way",
			[]string{"traffic", "job", "config", "config-secrets", "notices", "dashboard", "dashboard-unconstrained"},
			func(o *install.Options) { *o = everything(*o) },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := install.Default("latest")
			tc.choose(&options)
			want := byName(cptest.Decode(t, cptest.Kubectl(t, "kustomize", kustomization(t, tc.components))))
			got := byName(cptest.Decode(t, render(t, options)))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -kubectl kustomize +install:\n%s", tc.reason, diff)
			}
		})
	}
}

// everything adds all options.
func everything(o install.Options) install.Options {
	o.Traffic, o.Job, o.ConfigMaps, o.Secrets, o.Notices = true, true, true, true, true
	o.Dashboard, o.DashboardUnconstrained = true, true
	return o
}

// kustomization returns a folder with config and components of it.
func kustomization(t *testing.T, components []string) string {
	t.Helper()
	folder := t.TempDir()
	config, err := controlplane.InCheckout("config")
	if err != nil {
		t.Fatal(err)
	}
	if config, err = filepath.Rel(folder, config); err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%q]\ncomponents:\n", config)
	for _, component := range components {
		text += fmt.Sprintf("- %q\n", filepath.Join(config, "components", component))
	}
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestServerTakesAll: the API server takes every object, for the whole cluster too, and has nothing
// to warn of.
func TestServerTakesAll(t *testing.T) {
	t.Parallel()
	options := everything(install.Default("latest"))
	options.Namespace = cptest.Namespace(t)
	// Tests of other packages may have objects of these names on the control plane.
	if warned := apply(t, options, "--dry-run=server", "--force-conflicts"); warned != "" {
		t.Errorf("want no warning, got %s", warned)
	}
}

// TestRunsUnderRestrictedPodSecurity: the pods of a confined installation come up in a namespace
// that enforces the strictest of the pod security standards.
func TestRunsUnderRestrictedPodSecurity(t *testing.T) {
	t.Parallel()
	namespace := cptest.Namespace(t)
	cptest.Kubectl(t, "label", "namespace", namespace, "pod-security.kubernetes.io/enforce=restricted")
	if warned := apply(t, install.Options{
		Namespace: namespace, Image: "sluice:v1", Replicas: 2, Namespaced: true,
	}); warned != "" {
		t.Errorf("want no warning, got %s", warned)
	}
	c, err := client.New(cptest.Config(t), client.Options{})
	if err != nil {
		t.Fatalf("make client: %v", err)
	}
	cptest.Eventually(t, 2*time.Minute, func() error { return available(t.Context(), c, namespace, 2) })

	var pods corev1.PodList
	if err := c.List(t.Context(), &pods, client.InNamespace(namespace)); err != nil {
		t.Fatalf("list pods: %v", err)
	}
	for _, pod := range pods.Items {
		if pod.Spec.ServiceAccountName != "sluice-controller" {
			t.Errorf("want pods of the account that has the rights, %s has %q", pod.Name, pod.Spec.ServiceAccountName)
		}
	}
}

func available(ctx context.Context, c client.Client, namespace string, replicas int32) error {
	var deployment appsv1.Deployment
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "sluice-controller"}, &deployment); err != nil {
		return fmt.Errorf("read deployment: %w", err)
	}
	if got := deployment.Status.AvailableReplicas; got != replicas {
		return fmt.Errorf("want %d pods available, have %d", replicas, got)
	}
	return nil
}

// apply applies the manifests as a user does, and returns what was warned of.
func apply(t *testing.T, options install.Options, args ...string) string {
	t.Helper()
	cmd := cptest.Access(t).Kubectl(t.Context(), append([]string{"apply", "--server-side", "-f", "-"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader(render(t, options)), &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("apply: %v\n%s", err, stderr.String())
	}
	return stderr.String()
}

func byName(objects []*unstructured.Unstructured) map[string]any {
	named := map[string]any{}
	for _, object := range objects {
		named[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	return named
}
