// Package charts_test holds the Helm chart to the manifests that are tested: for the same choices
// it renders the same objects as "sluice install".
package charts_test

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/cli/install"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestMain(m *testing.M) { cptest.Main(m) }

// TestIsInstall: whichever way Sluice is installed, it is the same.
func TestIsInstall(t *testing.T) {
	t.Parallel()
	chosen := install.Options{
		Namespace: "releases", Image: "r.example/sluice:v2", Replicas: 3, Args: []string{"--cluster-name=eu"},
	}
	confined := install.Default("latest")
	confined.Namespace, confined.Namespaced, confined.Policy = "shop", true, false
	confinedTraffic := confined
	confinedTraffic.Traffic = true
	traffic := install.Default("latest")
	traffic.Traffic = true
	job := install.Default("latest")
	job.Job = true
	config := install.Default("latest")
	config.ConfigMaps, config.Secrets = true, true
	cases := map[string]struct {
		reason  string
		options install.Options
		values  []string
	}{
		"Default":    {"without any choice", install.Default("latest"), nil},
		"Namespaced": {"confined to a namespace", confined, []string{"--set=namespaced=true"}},
		"Traffic":    {"with rights to write routes", traffic, []string{"--set=traffic.enabled=true"}},
		"Job":        {"with rights to create Jobs", job, []string{"--set=job.enabled=true"}},
		"Config":     {"with rights to copy", config, []string{"--set=config.configMaps=true,config.secrets=true"}},
		"NamespacedTraffic": {"confined, with rights to write routes", confinedTraffic, []string{
			"--set=namespaced=true,traffic.enabled=true",
		}},
		"Chosen": {"with all that can be chosen for both", chosen, []string{
			"--set=crds.install=false,policy.enabled=false,replicas=3,image.repository=r.example/sluice,image.tag=v2",
			"--set=controllerArgs={--cluster-name=eu}",
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := install.Objects(tc.options)
			if err != nil {
				t.Fatalf("make manifests: %v", err)
			}
			rendered := cptest.Decode(t, template(t, tc.options.Namespace, tc.values...))
			if diff := cmp.Diff(comparable(objects), comparable(rendered)); diff != "" {
				t.Errorf("%s: -install +chart:\n%s", tc.reason, diff)
			}
		})
	}
}

// comparable returns objects by name, without what only a chart has: its labels, and the mark by
// which Helm keeps the kinds. The namespace of a chart is made by whoever installs it.
func comparable(objects []*unstructured.Unstructured) map[string]any {
	named := map[string]any{}
	for _, object := range objects {
		if object.GetKind() == "Namespace" {
			continue
		}
		unstructured.RemoveNestedField(object.Object, "metadata", "annotations", "helm.sh/resource-policy")
		labels := object.GetLabels()
		for label := range labels {
			if label != "app.kubernetes.io/component" && strings.HasPrefix(label, "app.kubernetes.io/") || label == "helm.sh/chart" {
				delete(labels, label)
			}
		}
		if object.SetLabels(labels); len(labels) == 0 {
			unstructured.RemoveNestedField(object.Object, "metadata", "labels")
		}
		named[object.GetKind()+" "+object.GetNamespace()+"/"+object.GetName()] = object.Object
	}
	return named
}

// TestServerTakesAll: the API server takes what the chart makes of every value that can be given,
// and has nothing to warn of.
func TestServerTakesAll(t *testing.T) {
	t.Parallel()
	namespace := cptest.Namespace(t)
	text := template(t, namespace, "--values=testdata/all.yaml", "--set=crds.install=false")
	// Tests of other packages may have objects of these names on the control plane.
	cmd := cptest.Access(t).Kubectl(t.Context(), "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-")
	cmd.Stdin = strings.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil || strings.Contains(string(out), "Warning") {
		t.Errorf("want all taken without a warning: %v\n%s", err, out)
	}
	for _, want := range []string{
		"@sha256:0000", "SSL_CERT_DIR", "ingressClassName: nginx", "priorityClassName: releases", "grafana_folder: Delivery",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in what is rendered", want)
		}
	}
}

// TestServiceMonitor: it asks the port that the Service has.
func TestServiceMonitor(t *testing.T) {
	t.Parallel()
	text := template(t, "sluice-system", "--set=metrics.serviceMonitor.enabled=true", "--show-only=templates/service_monitor.yaml")
	monitor := cptest.Decode(t, text)[0]
	endpoints, _, err := unstructured.NestedSlice(monitor.Object, "spec", "endpoints")
	if err != nil || len(endpoints) != 1 || endpoints[0].(map[string]any)["port"] != "metrics" {
		t.Errorf("want one endpoint, the port metrics, got %v, %v", endpoints, err)
	}
}

// TestSchema: a value that makes no sense is refused, by its name.
func TestSchema(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, set, says string }{
		"Unknown":  {"a typo is no value", "replica=3", "replica"},
		"Type":     {"a number is one", "replicas=many", "replicas"},
		"Digest":   {"a digest is whole", "image.digest=sha256:00", "digest"},
		"Argument": {"arguments are flags", "controllerArgs={now}", "controllerArgs"},
		"Ingress":  {"an ingress needs a host", "webhooks.ingress.enabled=true", "host"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := helm(t, "template", "sluice", "sluice", "--set="+tc.set).CombinedOutput()
			if err == nil || !strings.Contains(string(out), tc.says) || !strings.Contains(string(out), "schema") {
				t.Errorf("%s: want %s refused by the schema, got %v:\n%s", tc.reason, tc.set, err, out)
			}
		})
	}
}

func template(t *testing.T, namespace string, values ...string) string {
	t.Helper()
	cmd := helm(t, append([]string{"template", "sluice", "sluice", "--namespace", namespace}, values...)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("render chart: %v\n%s", err, stderr.String())
	}
	return stdout.String()
}

// built is where the tool is, which is built unless it is cached.
var built = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-modfile=../hack/helm/go.mod", "-n", "helm").Output()
	return strings.TrimSpace(string(out)), err
})

// helm runs Helm at its pinned version, in the folder of the charts.
func helm(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	return exec.CommandContext(t.Context(), path, args...)
}

// TestTrustedProxiesOfChart: the networks of proxies become a flag of the controller.
func TestTrustedProxiesOfChart(t *testing.T) {
	t.Parallel()
	chosen := install.Default("latest")
	chosen.Args = []string{"--webhook-trusted-proxies=10.0.0.0/8,fd00::/8"}
	objects, err := install.Objects(chosen)
	if err != nil {
		t.Fatalf("make manifests: %v", err)
	}
	rendered := cptest.Decode(t, template(t, chosen.Namespace, "--set=webhooks.trustedProxies={10.0.0.0/8,fd00::/8}"))
	if diff := cmp.Diff(comparable(objects), comparable(rendered)); diff != "" {
		t.Errorf("-install +chart:\n%s", diff)
	}
}
