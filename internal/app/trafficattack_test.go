package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// startTraffic runs a controller with --traffic, and a Deployment with a Service and a route.
func startTraffic(t *testing.T) (client.Client, string) {
	t.Helper()
	cptest.GatewayAPI(t)
	c, namespace := newClient(t), cptest.Namespace(t)
	start(t, cptest.Config(t), app.Options{Version: namespace, Namespaces: []string{namespace}, Traffic: true})
	create(t, c, newDeployment(namespace), newService(namespace), newRoute(namespace))
	awaitPods(t, c, namespace)
	return c, namespace
}

func create(t *testing.T, c client.Client, objects ...client.Object) {
	t.Helper()
	for _, object := range objects {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
}

// awaitProblem waits for a release to tell of a problem with its traffic.
func awaitProblem(t *testing.T, c client.Client, release *v1alpha1.BatchRelease, want v1alpha1.TrafficProblemType, object string) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
			return fmt.Errorf("read release: %w", err)
		}
		status := release.Status.Traffic
		if status == nil || status.Problem == nil || status.Problem.Type != want || !strings.Contains(status.Problem.Object, object) {
			return fmt.Errorf("want problem %s of %s, got traffic %+v: %s", want, object, status, release.Status.Message)
		}
		return nil
	})
}

// wantUntouched wants an object to be as it was when it was created.
func wantUntouched(t *testing.T, c client.Client, before client.Object) {
	t.Helper()
	now := before.DeepCopyObject().(client.Object)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(before), now); err != nil {
		t.Fatalf("read %T: %v", before, err)
	}
	if now.GetResourceVersion() != before.GetResourceVersion() {
		t.Errorf("want %T %s untouched: -before +now:\n%s", before, before.GetName(), cmp.Diff(before, now))
	}
}

// TestRouteOfAnotherNamespace: without grants of both namespaces a release does not touch a route
// of another one, whoever writes the release; with them it shares its requests, and with one alone
// it does not.
func TestRouteOfAnotherNamespace(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	c, namespace, edge := newClient(t), cptest.Namespace(t), cptest.Namespace(t)
	start(t, cptest.Config(t), app.Options{Version: namespace, Namespaces: []string{namespace, edge}, Traffic: true})
	route := newRoute(edge)
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	rules[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)["namespace"] = namespace
	if err := unstructured.SetNestedSlice(route.Object, rules, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	create(t, c, newDeployment(namespace), newService(namespace), route)
	awaitPods(t, c, namespace)
	release := newTrafficRelease(t, namespace)
	release.Spec.Strategy.Traffic.Routes[0].Namespace = edge
	create(t, c, release)

	awaitProblem(t, c, release, v1alpha1.TrafficNotGranted, edge)
	create(t, c, newGrant(edge,
		map[string]any{"group": v1alpha1.GroupVersion.Group, "kind": "BatchRelease", "namespace": namespace},
		map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}))
	cptest.Eventually(t, soon, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(release), release); err != nil {
			return err
		}
		if p := release.Status.Traffic.Problem; p == nil || p.Type != v1alpha1.TrafficNotGranted || !strings.Contains(p.Message, "refer to Services") {
			return fmt.Errorf("want the second grant to be missing, got %+v", p)
		}
		return nil
	})
	wantUntouched(t, c, route)
	create(t, c, newGrant(namespace,
		map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": edge},
		map[string]any{"group": "", "kind": "Service"}))
	awaitRelease(t, c, release, "blocking", blocking)
	if diff := cmp.Diff([]string{"web-stable 270", "web-canary 30", "api 100"}, backendsOf(readRoute(t, c, edge))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	// A route that the release no longer names gets back what it had, also in another namespace.
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"strategy":{"traffic":null,"steps":[{"replicas":1},{"replicas":"100%"}]}}}`))
	if err := c.Patch(t.Context(), release.DeepCopy(), patch); err != nil {
		t.Fatalf("take traffic out: %v", err)
	}
	cptest.Eventually(t, soon, func() error {
		if got := userOf(readRoute(t, c, edge)); got != userOf(route) {
			return fmt.Errorf("want the route as it was, got %s", got)
		}
		return nil
	})
}

func newGrant(namespace string, from, to map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1beta1", "kind": "ReferenceGrant",
		"metadata": map[string]any{"namespace": namespace, "name": "sluice"},
		"spec":     map[string]any{"from": []any{from}, "to": []any{to}},
	}}
}

// TestForgedHold: an annotation that can't be read, or that names another release, is told and left
// alone, with the route. Entries for other Services stay as they are.
func TestForgedHold(t *testing.T) {
	t.Parallel()
	c, namespace := startTraffic(t)
	route := readRoute(t, c, namespace)
	annotate := func(text string) {
		t.Helper()
		route = readRoute(t, c, namespace)
		route.SetAnnotations(map[string]string{v1alpha1.TrafficAnnotation: text})
		if err := c.Update(t.Context(), route); err != nil {
			t.Fatalf("annotate: %v", err)
		}
	}
	annotate(`{"web":{"release":"` + namespace + `/other","uid":"1"}}`)
	release := newTrafficRelease(t, namespace)
	create(t, c, release)
	awaitProblem(t, c, release, v1alpha1.TrafficHeldByAnother, "web")
	wantUntouched(t, c, route)
	for _, text := range []string{"{", "[" + strings.Repeat("[", 100_000), `{"web":{"release":1}}`} {
		annotate(text)
		awaitProblem(t, c, release, v1alpha1.TrafficNotShareable, "web")
		wantUntouched(t, c, route)
	}
	const other = `"api":{"release":"else/where","uid":"2","future":[1]}`
	annotate(`{` + other + `}`)
	awaitRelease(t, c, release, "blocking", blocking)
	if text := readRoute(t, c, namespace).GetAnnotations()[v1alpha1.TrafficAnnotation]; !strings.Contains(text, other) {
		t.Errorf("want the entry of another release to stay, got %s", text)
	}
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)
	if diff := cmp.Diff(userOf(route), userOf(readRoute(t, c, namespace))); diff != "" {
		t.Errorf("want the route as it was: -want +got:\n%s", diff)
	}
}

// TestServiceOfSomebodyElse: a Service with the name of a side is left alone, and told. Once it is
// gone the release goes on.
func TestServiceOfSomebodyElse(t *testing.T) {
	t.Parallel()
	c, namespace := startTraffic(t)
	other := newService(namespace)
	other.Name = "web-canary"
	other.Labels = map[string]string{v1alpha1.TrafficLabel: "web"}
	create(t, c, other)
	release := newTrafficRelease(t, namespace)
	create(t, c, release)

	awaitProblem(t, c, release, v1alpha1.TrafficNameTaken, "web-canary")
	wantUntouched(t, c, other)
	if backends := backendsOf(readRoute(t, c, namespace)); cmp.Equal(backends, []string{"web-stable 270", "web-canary 30", "api 100"}) {
		t.Errorf("want no request to go to a Service of somebody else, got %v", backends)
	}
	if err := c.Delete(t.Context(), other); err != nil {
		t.Fatalf("delete: %v", err)
	}
	awaitRelease(t, c, release, "blocking", blocking)
}

// TestForgedService: a Service that says that it belongs to the release, which anybody who may
// write Services can write, is made what the release needs before it gets requests: it leads
// nowhere else, and nobody reaches it from elsewhere.
func TestForgedService(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*corev1.ServiceSpec){
		"external name": func(spec *corev1.ServiceSpec) {
			*spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "evil.example.com"}
		},
		"load balancer, foreign selector and external addresses": func(spec *corev1.ServiceSpec) {
			spec.Type, spec.ExternalTrafficPolicy = corev1.ServiceTypeLoadBalancer, corev1.ServiceExternalTrafficPolicyLocal
			spec.LoadBalancerSourceRanges = []string{"10.0.0.0/8"}
			spec.Selector = map[string]string{"app": "evil"}
			spec.ExternalIPs, spec.PublishNotReadyAddresses = []string{"192.0.2.1"}, true
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, namespace := startTraffic(t)
			if err := c.Delete(t.Context(), newService(namespace)); err != nil { // so that the release waits
				t.Fatalf("delete Service: %v", err)
			}
			release := newTrafficRelease(t, namespace)
			create(t, c, release)
			awaitProblem(t, c, release, v1alpha1.TrafficServiceNotFound, "web")
			forged := newService(namespace)
			forged.Name = "web-canary"
			forged.Labels = map[string]string{v1alpha1.TrafficLabel: "web"}
			forged.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(release, v1alpha1.GroupVersion.WithKind("BatchRelease"))}
			forge(&forged.Spec)
			create(t, c, forged)
			create(t, c, newService(namespace))

			awaitRelease(t, c, release, "blocking", blocking)
			now := &corev1.Service{}
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(forged), now); err != nil {
				t.Fatalf("read Service: %v", err)
			}
			spec := &now.Spec
			if spec.Type != corev1.ServiceTypeClusterIP || spec.ExternalName != "" || len(spec.ExternalIPs) > 0 || spec.PublishNotReadyAddresses ||
				spec.Selector["app"] != "web" || spec.Selector["pod-template-hash"] == "" || spec.Ports[0].NodePort != 0 {
				t.Errorf("want a Service that selects the new version alone, got %+v", now.Spec)
			}
		})
	}
}

// TestRefusedRoute: a write of a route that admission refuses is told, tried again at longer and
// longer intervals, and succeeds once nobody refuses it.
func TestRefusedRoute(t *testing.T) {
	t.Parallel()
	c, namespace := startTraffic(t)
	policy, binding := noRoutes(namespace)
	create(t, c, policy, binding)
	t.Cleanup(func() { _ = client.IgnoreNotFound(c.Delete(t.Context(), policy)) })
	cptest.Eventually(t, soon, func() error {
		dry := readRoute(t, c, namespace)
		dry.SetLabels(map[string]string{"try": "it"})
		if err := c.Update(t.Context(), dry, client.DryRunAll); err == nil {
			return fmt.Errorf("want the policy to be in force")
		}
		return nil
	})
	release := newTrafficRelease(t, namespace)
	create(t, c, release)

	awaitRelease(t, c, release, "told of the refusal", func(status v1alpha1.BatchReleaseStatus) bool {
		return strings.Contains(status.Message, "routes are closed")
	})
	wantUntouched(t, c, readRoute(t, c, namespace))
	for _, object := range []client.Object{binding, policy} {
		if err := c.Delete(t.Context(), object); err != nil {
			t.Fatalf("delete: %v", err)
		}
	}
	awaitRelease(t, c, release, "blocking", blocking)
	if refused := refusals(t, "sluice/"+namespace); len(refused) > 20 {
		t.Errorf("want few tries while a write is refused, got %d", len(refused))
	}
}

// noRoutes refuses all writes of routes in the namespace.
func noRoutes(namespace string) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	rule := admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: admissionregistrationv1.RuleWithOperations{
		Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
		Rule: admissionregistrationv1.Rule{
			APIGroups: []string{"gateway.networking.k8s.io"}, APIVersions: []string{"*"}, Resources: []string{"httproutes"},
		},
	}}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": namespace}}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "no-routes-" + namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{rule}, NamespaceSelector: selector,
			},
			Validations: []admissionregistrationv1.Validation{{
				Expression: "false", Message: "routes are closed", Reason: new(metav1.StatusReasonForbidden),
			}},
		},
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policy.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	return policy, binding
}

// TestWithoutTraffic: a controller without --traffic says so, and writes neither Services nor
// routes. A release without traffic is released as before.
func TestWithoutTraffic(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	c, namespace := newClient(t), cptest.Namespace(t)
	start(t, cptest.Config(t), app.Options{Version: namespace, Namespaces: []string{namespace}})
	route := newRoute(namespace)
	create(t, c, newDeployment(namespace), newService(namespace), route)
	awaitPods(t, c, namespace)
	release := newTrafficRelease(t, namespace)
	create(t, c, release)
	awaitProblem(t, c, release, v1alpha1.TrafficDisabled, "")
	wantUntouched(t, c, route)

	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"strategy":{"traffic":null,"steps":[{"replicas":1},{"replicas":"100%"}]}}}`))
	if err := c.Patch(t.Context(), release.DeepCopy(), patch); err != nil {
		t.Fatalf("take traffic out: %v", err)
	}
	awaitRelease(t, c, release, "blocking", blocking)
	wantUntouched(t, c, route)
}

// ownPlane returns a control plane for one test, without the CRDs of the Gateway API.
func ownPlane(t *testing.T) *rest.Config {
	t.Helper()
	options, err := cptest.Options()
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := cptest.Own(t, options).Config()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}
