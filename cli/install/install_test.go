package install_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/cli/install"
)

// TestCheck: contradictory options are refused, and the error names them.
func TestCheck(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*install.Options)
		says   string
	}{
		"Default":   {"as it is it makes sense", func(*install.Options) {}, ""},
		"Namespace": {"a namespace is a DNS label", func(o *install.Options) { o.Namespace = "a: b" }, `namespace "a: b"`},
		"NoName":    {"and not empty", func(o *install.Options) { o.Namespace = "" }, `namespace ""`},
		"Image":     {"pods need an image", func(o *install.Options) { o.Image = "" }, "an image is needed"},
		"Replicas":  {"none may be meant, fewer not", func(o *install.Options) { o.Replicas = -1 }, "-1 replicas"},
		"Policy":    {"a policy is nothing of a namespace", func(o *install.Options) { o.Namespaced = true }, "the whole cluster's"},
		"Follow":    {"nor are those for followed workloads", func(o *install.Options) { o.Namespaced, o.Policy, o.Follow = true, false, true }, "the whole cluster's"},
		"Rights":    {"of a dashboard that is not there", func(o *install.Options) { o.DashboardUnconstrained = true }, "add --dashboard"},
		"Secrets":   {"nor of its Secrets", func(o *install.Options) { o.DashboardSecrets = []string{"keys"} }, "add --dashboard"},
		"Secret":    {"whose name is one", func(o *install.Options) { o.Dashboard, o.DashboardSecrets = true, []string{"../keys"} }, `secret "../keys"`},
		"Flags":     {"of it too", func(o *install.Options) { o.DashboardArgs = []string{"--x"} }, "add --dashboard"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			options := install.Default("v1")
			tc.change(&options)
			_, err := install.Objects(options)
			switch {
			case tc.says == "" && err != nil:
				t.Errorf("%s: want no error, got %v", tc.reason, err)
			case tc.says != "" && (err == nil || !strings.Contains(err.Error(), tc.says)):
				t.Errorf("%s: want an error with %q, got %v", tc.reason, tc.says, err)
			}
		})
	}
}

// TestDashboardSecrets: the dashboard reads the keys of each Secret that is named as files, and
// only the dashboard does.
func TestDashboardSecrets(t *testing.T) {
	t.Parallel()
	options := install.Default("v1")
	options.Dashboard, options.DashboardSecrets = true, []string{"sluice-sessions", "sluice-oidc"}
	text := render(t, options)
	for _, want := range []string{
		"mountPath: /etc/sluice/secrets/sluice-sessions\n", "mountPath: /etc/sluice/secrets/sluice-oidc\n", "secretName: sluice-sessions\n", "secretName: sluice-oidc\n",
	} {
		if strings.Count(text, want) != 1 {
			t.Errorf("want %q once in the manifests", want)
		}
	}
}

// TestChoices: chosen options are in the manifests, and others are not.
func TestChoices(t *testing.T) {
	t.Parallel()
	options := install.Options{Namespace: "releases", Image: "r.example/sluice:v2", Replicas: 3, Args: []string{"--cluster-name=eu"}}
	text := render(t, options)
	for _, want := range []string{"image: r.example/sluice:v2\n", "replicas: 3\n", "- --cluster-name=eu\n", "name: releases\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("want %q in the manifests", want)
		}
	}
	for _, not := range []string{install.Namespace, "kind: CustomResourceDefinition\n", "kind: ValidatingAdmissionPolicy"} {
		if strings.Contains(text, not) {
			t.Errorf("want no %q in the manifests", not)
		}
	}
	options.Policy = true
	if want := "system:serviceaccount:releases:sluice-controller"; !strings.Contains(render(t, options), want) {
		t.Errorf("want the policy to know the controller as %s", want)
	}
}

// TestNamespaced: everything is in the namespace, and the role there has the rights of both roles
// of the whole cluster's installation, except those that no role of a namespace can give.
func TestNamespaced(t *testing.T) {
	t.Parallel()
	options := install.Options{Namespace: "shop", Image: "sluice:v1", Replicas: 1, Namespaced: true}
	objects, err := install.Objects(options)
	if err != nil {
		t.Fatalf("make manifests: %v", err)
	}
	var kinds []string
	for _, object := range objects {
		kinds = append(kinds, object.GetKind()+" "+object.GetName())
		if object.GetNamespace() != "shop" {
			t.Errorf("want all in the namespace, %s %s is in %q", object.GetKind(), object.GetName(), object.GetNamespace())
		}
	}
	want := []string{
		"Role sluice-controller", "RoleBinding sluice-controller", "ServiceAccount sluice-controller",
		"Role sluice-viewer", "Role sluice-approver", "Role sluice-operator", "Role sluice-breakglass", "Deployment sluice-controller",
		"PodDisruptionBudget sluice-controller", "NetworkPolicy sluice-controller",
		"Service sluice-metrics", "Service sluice-webhooks",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if !strings.Contains(render(t, options), "- --namespaces=shop\n") {
		t.Error("want the controller to watch its namespace only")
	}
	if diff := cmp.Diff(rights(t, wholeCluster(t)), append(rights(t, objects), " nodes get", " nodes list"), sorted); diff != "" {
		t.Errorf("rights: -whole cluster +namespace and nodes:\n%s", diff)
	}
}

// TestTrafficRights: routes and Services may be written only if that was asked for.
func TestTrafficRights(t *testing.T) {
	t.Parallel()
	const right = "sluice-traffic"
	for _, namespaced := range []bool{false, true} {
		options := install.Options{Namespace: "shop", Image: "sluice:v1", Namespaced: namespaced}
		if text := render(t, options); strings.Contains(text, right) || strings.Contains(text, "- --traffic\n") {
			t.Errorf("want no rights for traffic unless they are asked for, namespaced %t", namespaced)
		}
		options.Traffic = true
		text := render(t, options)
		if !strings.Contains(text, "- --traffic\n") {
			t.Errorf("want the controller to be told, namespaced %t", namespaced)
		}
		if got := strings.Count(text, "name: "+right+"\n"); got != 3 {
			t.Errorf("want a role, and a binding that refers to it, namespaced %t, got the name %d times", namespaced, got)
		}
		if namespaced && strings.Contains(text, "kind: Cluster") {
			t.Error("want nothing of the cluster in a namespace alone")
		}
	}
}

// TestDashboardConfined: the dashboard of a namespace shows that one, with its own flags. Of the
// cluster it has only what concerns logins, by names that no other namespace has.
func TestDashboardConfined(t *testing.T) {
	t.Parallel()
	objects, err := install.Objects(install.Options{
		Namespace: "shop", Image: "sluice:v1", Replicas: 2, Namespaced: true, Args: []string{"--log-level=debug"},
		Dashboard: true, DashboardUnconstrained: true, DashboardArgs: []string{"--external-url=https://sluice.example.com"},
	})
	if err != nil {
		t.Fatalf("make manifests: %v", err)
	}
	var shared []string
	for _, object := range objects {
		if object.GetNamespace() == "" {
			shared = append(shared, object.GetKind()+" "+object.GetName())
		}
		if object.GetKind() == "Deployment" && object.GetName() == "sluice-dashboard" {
			replicas, _, _ := unstructured.NestedInt64(object.Object, "spec", "replicas")
			containers, _, _ := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
			args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			want := []string{"dashboard", "--in-cluster", "--address=:8080", "--namespaces=shop", "--external-url=https://sluice.example.com"}
			if diff := cmp.Diff(want, args); diff != "" || replicas != 1 {
				t.Errorf("want one replica, got %d; arguments: -want +got:\n%s", replicas, diff)
			}
		}
		role, bound, _ := unstructured.NestedString(object.Object, "roleRef", "name")
		if bound && role != object.GetName() {
			t.Errorf("%s %s refers to %s", object.GetKind(), object.GetName(), role)
		}
	}
	want := []string{
		"ClusterRole sluice-dashboard-login-shop", "ClusterRoleBinding sluice-dashboard-login-shop",
		"ClusterRole sluice-dashboard-unconstrained-shop", "ClusterRoleBinding sluice-dashboard-unconstrained-shop",
	}
	if diff := cmp.Diff(want, shared); diff != "" {
		t.Errorf("of the cluster: -want +got:\n%s", diff)
	}
}

func wholeCluster(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := install.Objects(install.Default("v1"))
	if err != nil {
		t.Fatalf("make manifests: %v", err)
	}
	return objects
}

// rights lists what the controller's roles allow, one group, resource and verb a line.
func rights(t *testing.T, objects []*unstructured.Unstructured) []string {
	t.Helper()
	var all []string
	for _, object := range objects {
		if object.GetName() != "sluice-controller" || !strings.HasSuffix(object.GetKind(), "Role") {
			continue
		}
		var role rbacv1.ClusterRole
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			t.Fatalf("decode role: %v", err)
		}
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					all = append(all, strings.Join(append(rule.APIGroups, resource, verb), " "))
				}
			}
		}
	}
	return all
}

// sorted compares lists of strings whatever their order.
var sorted = cmp.Transformer("sorted", func(list []string) []string { return slices.Sorted(slices.Values(list)) })

func render(t *testing.T, options install.Options) string {
	t.Helper()
	objects, err := install.Objects(options)
	if err != nil {
		t.Fatalf("make manifests: %v", err)
	}
	var text bytes.Buffer
	if err := install.Write(&text, objects); err != nil {
		t.Fatalf("write manifests: %v", err)
	}
	return text.String()
}
