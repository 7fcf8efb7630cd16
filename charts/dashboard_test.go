package charts_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestDashboardIsComponent: the dashboard of the chart is that of the kustomize components, for a
// Kubernetes with constrained impersonation and for one without; by default there is none.
func TestDashboardIsComponent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason     string
		version    string
		components []string
		values     string
	}{
		"Default": {"not asked for", "1.36.3", nil, "dashboard.sessionKeys.generate=false"},
		"New":     {"constrained impersonation is there", "1.36.0", []string{"dashboard"}, "dashboard.enabled=true,dashboard.sessionKeys.generate=false"},
		"Old": {
			"constrained impersonation is not there", "1.35.2", []string{"dashboard", "dashboard-unconstrained"},
			"dashboard.enabled=true,dashboard.sessionKeys.generate=false",
		},
		"Confined": {
			"whoever would rather have nobody log in", "1.35.2", []string{"dashboard"},
			"dashboard.enabled=true,dashboard.sessionKeys.generate=false,dashboard.impersonation.constrained=true",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := ofDashboard(t, cptest.Kubectl(t, "kustomize", kustomization(t, tc.components)))
			got := ofDashboard(t, template(t, "sluice-system", "--kube-version="+tc.version, "--set="+tc.values))
			if len(got) == 0 != (tc.components == nil) {
				t.Errorf("%s: %d objects", tc.reason, len(got))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: -kustomize +chart:\n%s", tc.reason, diff)
			}
		})
	}
}

// ofDashboard returns the objects of a text that belong to the dashboard; TestIsInstall compares
// the others.
func ofDashboard(t *testing.T, text string) map[string]any {
	t.Helper()
	objects := comparable(cptest.Decode(t, text))
	maps.DeleteFunc(objects, func(name string, _ any) bool { return !strings.Contains(name, "dashboard") })
	return objects
}

// kustomization returns a folder with config and components of it.
func kustomization(t *testing.T, components []string) string {
	t.Helper()
	folder := t.TempDir()
	config, err := controlplane.InCheckout("config")
	if err != nil {
		t.Fatal(err)
	}
	config, err = filepath.Rel(folder, config)
	if err != nil {
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

// rendered returns the objects of a kind, by name.
func rendered(t *testing.T, kind, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	found := map[string]*unstructured.Unstructured{}
	for _, object := range cptest.Decode(t, text) {
		if object.GetKind() == kind {
			found[object.GetName()] = object
		}
	}
	return found
}

// TestDashboardOfOneNamespace: it has rights in its namespace alone, except for those to review
// tokens and to impersonate, which belong to the cluster and have names of their own there.
func TestDashboardOfOneNamespace(t *testing.T) {
	t.Parallel()
	text := template(t, "shop", "--kube-version=1.36.0", "--set=namespaced=true,dashboard.enabled=true")
	roles, own := rendered(t, "ClusterRole", text), rendered(t, "Role", text)
	if len(roles) != 1 || roles["sluice-dashboard-login-shop"] == nil {
		t.Errorf("want the cluster's role for logins alone, got %v", roles)
	}
	for _, name := range []string{"sluice-dashboard", "sluice-dashboard-impersonation"} {
		if own[name] == nil {
			t.Errorf("want a role %s of the namespace, got %v", name, own)
		}
	}
	if args := dashboardArgs(t, text); !slices.Contains(args, "--namespaces=shop") {
		t.Errorf("arguments: %v", args)
	}
}

func dashboardArgs(t *testing.T, text string) []string {
	t.Helper()
	deployment := rendered(t, "Deployment", text)["sluice-dashboard"]
	if deployment == nil {
		t.Fatal("no Deployment of the dashboard")
	}
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
	return args
}

// TestDashboardFlags: the command has each flag that the chart gives it, and a comma or a space of
// a value splits none.
func TestDashboardFlags(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## sluice dashboard\n")
	if !found {
		t.Fatal("docs/cli.md does not have the command")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	args := dashboardArgs(t, template(t, "shop", "--values=testdata/all.yaml", "--set=namespaced=true"))
	for _, arg := range args[1:] {
		flag, _, _ := strings.Cut(arg, "=")
		if !regexp.MustCompile(regexp.QuoteMeta(flag) + `\b`).MatchString(section) {
			t.Errorf("sluice dashboard has no %s", flag)
		}
	}
	for _, want := range []string{
		"--external-url=https://sluice.example.com", "--session-key-file=/etc/sluice/sessions/keys", "--oidc-groups-filter=^(dev|ops)-[a-z, ]+$",
		"--oidc-client-secret-file=/etc/sluice/oidc/secret", "--oidc-required-claims=hd=example.com", "--trusted-proxies=10.0.0.0/8,fd00::/8",
		"--session-lifetime=4h",
	} {
		if !slices.Contains(args, want) {
			t.Errorf("want %s among %q", want, args)
		}
	}
}

// TestWhoMayLogIn: with names in the values, the dashboard may act as these alone.
func TestWhoMayLogIn(t *testing.T) {
	t.Parallel()
	text := template(t, "sluice-system", "--values=testdata/all.yaml")
	want := map[string][]any{"users": {"ada"}, "groups": {"oidc:dev", "oidc:ops"}, "serviceaccounts": {"ci"}, "userextras/scopes.authorization.openshift.io": nil}
	for _, role := range []string{"sluice-dashboard-login", "sluice-dashboard-unconstrained"} {
		found := map[string][]any{}
		rules := rendered(t, "ClusterRole", text)[role].Object["rules"].([]any)
		for _, rule := range rules {
			rule := rule.(map[string]any)
			resource, verb := rule["resources"].([]any)[0].(string), rule["verbs"].([]any)[0].(string)
			if _, named := want[resource]; named && strings.HasPrefix(verb, "impersonate") && !strings.HasPrefix(verb, "impersonate-on") {
				found[resource], _ = rule["resourceNames"].([]any)
				if (role == "sluice-dashboard-unconstrained") != (verb == "impersonate") {
					t.Errorf("%s may %s %s", role, verb, resource)
				}
			}
		}
		if diff := cmp.Diff(want, found); diff != "" {
			t.Errorf("%s: -want +got:\n%s", role, diff)
		}
	}
}

// TestServerTakesDashboard: the API server takes it without a warning in a namespace of the
// strictest pod security, and an upgrade keeps the session keys.
func TestServerTakesDashboard(t *testing.T) {
	t.Parallel()
	namespace := cptest.Namespace(t)
	cptest.Kubectl(t, "label", "namespace", namespace, "pod-security.kubernetes.io/warn=restricted")
	const keys = "a key that was there before, and is long enough"
	secret := &corev1.Secret{Data: map[string][]byte{"keys": []byte(keys)}, ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "sluice-dashboard-sessions",
		Labels:      map[string]string{"app.kubernetes.io/managed-by": "Helm"}, // as the installation before the upgrade left it
		Annotations: map[string]string{"meta.helm.sh/release-name": "sluice", "meta.helm.sh/release-namespace": namespace},
	}}
	if err := cptest.Client(t).Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	args := []string{"template", "sluice", "sluice", "--namespace", namespace, "--values=testdata/all.yaml", "--set=crds.install=false,networkPolicy.enabled=true"}
	// Other tests install the same cluster-wide objects in the meantime, without Helm.
	cmd := helm(t, append(args, "--dry-run=server", "--take-ownership", "--kubeconfig="+cptest.Access(t).Kubeconfig)...)
	var warned bytes.Buffer
	cmd.Stderr = &warned
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("render chart: %v\n%s", err, warned.String())
	}
	data := rendered(t, "Secret", string(out))["sluice-dashboard-sessions"].Object["data"].(map[string]any)
	if want := "YSBrZXkgdGhhdCB3YXMgdGhlcmUgYmVmb3JlLCBhbmQgaXMgbG9uZyBlbm91Z2g="; data["keys"] != want {
		t.Errorf("session keys: %v, want those that were there", data)
	}
	apply := cptest.Access(t).Kubectl(t.Context(), "apply", "--server-side", "--dry-run=server", "--force-conflicts", "-f", "-")
	apply.Stdin = strings.NewReader(string(out))
	if out, err := apply.CombinedOutput(); err != nil || strings.Contains(string(out), "Warning") {
		t.Errorf("want all taken without a warning: %v\n%s", err, out)
	}
	first, second := template(t, namespace, "--set=dashboard.enabled=true"), template(t, namespace, "--set=dashboard.enabled=true")
	if first == second {
		t.Error("two installations have one session key")
	}
	if text := template(t, namespace, "--set=dashboard.enabled=true,dashboard.sessionKeys.secret=mine"); strings.Contains(text, "kind: Secret") ||
		!strings.Contains(text, "secretName: mine") {
		t.Error("with a Secret of one's own, it is not used, or another one is made")
	}
}

// TestOthersMayNotLogIn: once somebody is named, the dashboard acts as nobody of a kind that has no
// names. Groups alone would let in nobody.
func TestOthersMayNotLogIn(t *testing.T) {
	t.Parallel()
	for set, want := range map[string][]string{
		"users={ada}":          {"users"},
		"serviceAccounts={ci}": {"serviceaccounts"},
		"users={ada},dashboard.impersonation.groups={dev}": {"groups", "users"},
		"constrained=auto": {"groups", "serviceaccounts", "users"},
	} {
		text := template(t, "sluice-system", "--kube-version=1.35.0", "--set=dashboard.enabled=true,dashboard.impersonation."+set)
		for _, role := range []string{"sluice-dashboard-login", "sluice-dashboard-unconstrained"} {
			var got []string
			for _, rule := range rendered(t, "ClusterRole", text)[role].Object["rules"].([]any) {
				resource := rule.(map[string]any)["resources"].([]any)[0].(string)
				if slices.Contains([]string{"users", "groups", "serviceaccounts"}, resource) {
					got = append(got, resource)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s with %s acts as: -want +got:\n%s", role, set, diff)
			}
		}
	}
	out, err := helm(t, "template", "sluice", "sluice", "--set=dashboard.enabled=true,dashboard.impersonation.groups={dev}").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "dashboard.impersonation.users") {
		t.Errorf("want groups alone refused, got %v:\n%s", err, out)
	}
}

// TestDashboardSchema: a login that would be open to others on the way, or to nobody, is refused.
func TestDashboardSchema(t *testing.T) {
	t.Parallel()
	for set, says := range map[string]string{
		"dashboard.externalURL=http://sluice.example.com":        "externalURL",
		"dashboard.externalURL=https://sluice.example.com/x":     "externalURL",
		"dashboard.oidc.issuerURL=http://login.example.com":      "issuerURL",
		"dashboard.oidc.issuerURL=https://login.example.com":     "clientID",
		"dashboard.ingress.enabled=true":                         "host",
		"dashboard.impersonation.constrained=maybe":              "constrained",
		"dashboard.args={now}":                                   "args",
		"dashboard.token.enabled=true":                           "token",
		"dashboard.impersonation.groups=dev":                     "groups",
		"webhooks.ingress.enabled=true":                          "host",
		"dashboard.oidc.clientSecret.value=in-plain-in-a-values": "clientSecret",
	} {
		out, err := helm(t, "template", "sluice", "sluice", "--set="+set).CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) || !strings.Contains(string(out), "schema") {
			t.Errorf("want %s refused by the schema, got %v:\n%s", set, err, out)
		}
	}
}
