package app_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestLeastPrivilegeOfComponents: the rights of config/components/traffic are enough for a release
// that shares requests, from the Services to the route that is as it was, and those of
// config/components/notices for its notices. The API server refuses nothing.
func TestLeastPrivilegeOfComponents(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	c, namespace, receiver := newClient(t), cptest.Namespace(t), newReceiver(t)
	options := noticesTo(t, namespace, receiver)
	options.Version, options.LeaseNamespace, options.Traffic = namespace, "sluice-system", true
	start(t, componentsAccount(t), options)
	awaitRecord(t, c, "sluice-system")
	route := newRoute(namespace)
	for _, object := range []client.Object{newDeployment(namespace), newService(namespace), route} {
		if err := c.Create(t.Context(), object); err != nil {
			t.Fatalf("create %T: %v", object, err)
		}
	}
	awaitPods(t, c, namespace)
	before := readRoute(t, c, namespace)
	release := newTrafficRelease(t, namespace)
	if err := c.Create(t.Context(), release); err != nil {
		t.Fatalf("create release: %v", err)
	}

	awaitRelease(t, c, release, "blocking", blocking)
	if diff := cmp.Diff([]string{"web-stable 270", "web-canary 30", "api 100"}, backendsOf(readRoute(t, c, namespace))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	cptest.Eventually(t, soon, func() error {
		if !slices.Contains(receiver.kinds(), "GateOpened") || !strings.Contains(recordText(t, c, "sluice-system"), string(release.UID)) {
			return fmt.Errorf("want a notice of the gate, and the release in the record, got %v", receiver.kinds())
		}
		return nil
	})
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)
	if diff := cmp.Diff(userOf(before), userOf(readRoute(t, c, namespace))); diff != "" {
		t.Errorf("want the route as it was: -want +got:\n%s", diff)
	}
	cptest.Eventually(t, soon, func() error {
		var services corev1.ServiceList
		err := c.List(t.Context(), &services, client.InNamespace(namespace))
		if err != nil || len(services.Items) != 1 {
			return fmt.Errorf("want one Service left, got %d, %w", len(services.Items), err)
		}
		return nil
	})
	if refused := refusals(t, "sluice/"+namespace); len(refused) > 0 {
		t.Errorf("the controller was refused: %s", strings.Join(refused, ", "))
	}
}

// componentsAccount has the rights of config/rbac and those of the components for traffic and
// notices, and no others.
func componentsAccount(t *testing.T) *rest.Config {
	t.Helper()
	account := controllerAccount(t)
	for _, file := range []string{"traffic/role.yaml", "traffic/role_binding.yaml", "notices/role.yaml", "notices/role_binding.yaml"} {
		rights, err := controlplane.InCheckout(filepath.Join("config/components", file))
		if err != nil {
			t.Fatalf("find rights: %v", err)
		}
		if err := controlplane.Apply(t.Context(), cptest.Config(t), rights); err != nil {
			t.Fatalf("apply rights: %v", err)
		}
	}
	awaitRights(t, "sluice-system", "sluice-controller")
	return account
}

func newService(namespace string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
}

// newRoute sends three of four requests to the Service web.
func newRoute(namespace string) *unstructured.Unstructured {
	route := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
		"metadata": map[string]any{"namespace": namespace, "name": "web"},
		"spec": map[string]any{
			"hostnames": []any{"shop.example.com"},
			"rules": []any{map[string]any{"backendRefs": []any{
				map[string]any{"name": "web", "port": int64(80), "weight": int64(3)},
				map[string]any{"name": "api", "port": int64(80), "weight": int64(1)},
			}}},
		},
	}}
	return route
}

func newTrafficRelease(t *testing.T, namespace string) *v1alpha1.BatchRelease {
	t.Helper()
	release := newRelease(t, namespace)
	release.Spec.Strategy.Steps[0].Traffic = "10%"
	release.Spec.Strategy.Traffic = &v1alpha1.Traffic{
		Routes:       []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}},
		ReadySeconds: new(int32(0)), DrainSeconds: new(int32(0)),
	}
	return release
}

func readRoute(t *testing.T, c client.Client, namespace string) *unstructured.Unstructured {
	t.Helper()
	route := newRoute(namespace)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(route), route); err != nil {
		t.Fatalf("read route: %v", err)
	}
	return route
}

// userOf returns the user's part of a route.
func userOf(route *unstructured.Unstructured) string {
	text, _ := json.Marshal([]any{route.Object["spec"], route.GetAnnotations(), route.GetLabels()})
	return string(text)
}

// backendsOf returns the backends of a route's first rule with their weights.
func backendsOf(route *unstructured.Unstructured) []string {
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	refs, _, _ := unstructured.NestedSlice(rules[0].(map[string]any), "backendRefs")
	var backends []string
	for _, ref := range refs {
		one := ref.(map[string]any)
		backends = append(backends, fmt.Sprint(one["name"], " ", one["weight"]))
	}
	return backends
}

// awaitPods waits until the Deployment has all its pods.
func awaitPods(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		d := newDeployment(namespace)
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil {
			return err
		}
		if d.Status.AvailableReplicas != *d.Spec.Replicas {
			return fmt.Errorf("want %d pods available, have %d", *d.Spec.Replicas, d.Status.AvailableReplicas)
		}
		return nil
	})
}
