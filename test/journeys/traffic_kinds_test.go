package journeys

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// ofKind has a release share the requests of another route than the world's, of a kind.
func ofKind(kind v1alpha1.TrafficRouteKind, namespace string, r *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	r.Spec.Strategy.Traffic.Routes = []v1alpha1.TrafficRoute{{Kind: kind, Name: "shop", Namespace: namespace, Service: "web"}}
	return r
}

// object makes one, and returns what its user has of it.
func (w *world) object(namespace, apiVersion, kind string, spec map[string]any) any {
	w.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind, "spec": spec}}
	o.SetName("shop")
	o.SetNamespace(namespace)
	if err := w.Create(w.Context(), o); err != nil {
		w.Fatalf("create %s: %v", kind, err)
	}
	return ofUser(o)
}

func ofUser(o *unstructured.Unstructured) any { return []any{o.Object["spec"], o.GetAnnotations()} }

// read returns an object as it is now; nil if there is none.
func (w *world) read(namespace, apiVersion, kind, name string) *unstructured.Unstructured {
	w.Helper()
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	err := w.Get(w.Context(), client.ObjectKey{Namespace: namespace, Name: name}, o)
	switch {
	case client.IgnoreNotFound(err) != nil && !meta.IsNoMatchError(err):
		w.Fatalf("read %s: %v", kind, err)
	case err != nil:
		return nil
	}
	return o
}

// told wants the status to say so many percent.
func told(percent int32) check {
	return func(s *scene) error {
		release := s.releases["web"]
		if release == nil || release.Status.Traffic == nil || release.Status.Traffic.Weight != percent {
			return fmt.Errorf("want %d%% in the status", percent)
		}
		return nil
	}
}

const (
	ingresses  = "networking.k8s.io/v1"
	gatewayAPI = "gateway.networking.k8s.io/v1"
)

// TestTrafficOfIngress: an Ingress shares requests by a second one with ingress-nginx'
// annotations. No data plane runs: the annotations are judged by their documentation.
func TestTrafficOfIngress(t *testing.T) {
	w := newTrafficWorld(t)
	w.drop(httpRoute())
	w.startController()
	w.deployed(deployment(4, rolling(1, 0)))
	backend := func(name string) map[string]any {
		return map[string]any{"service": map[string]any{"name": name, "port": map[string]any{"number": int64(80)}}}
	}
	path := func(path, name string) map[string]any {
		return map[string]any{"path": path, "pathType": "Prefix", "backend": backend(name)}
	}
	before := w.object(w.namespace, ingresses, "Ingress", map[string]any{
		"ingressClassName": "nginx",
		"rules": []any{map[string]any{
			"host": "shop.example.com",
			"http": map[string]any{"paths": []any{path("/api", "api"), path("/", "web")}},
		}},
	})
	w.create(ofKind(v1alpha1.RouteIngress, "", sharing("web:2", stepOf("25%", "25%"), stepOf("100%", "100%"))))
	w.await(all(web.blocksAt(0), told(25)))
	canary := w.read(w.namespace, ingresses, "Ingress", "shop-canary")
	if canary == nil {
		t.Fatal("want a second Ingress")
	}
	want := map[string]string{"nginx.ingress.kubernetes.io/canary": "true", "nginx.ingress.kubernetes.io/canary-weight": strconv.Itoa(25)}
	if diff := cmp.Diff(want, canary.GetAnnotations()); diff != "" {
		t.Errorf("its annotations (-want +got):\n%s", diff)
	}
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
	if diff := cmp.Diff(before, ofUser(w.read(w.namespace, ingresses, "Ingress", "shop"))); diff != "" {
		t.Errorf("the Ingress is not what it was (-want +got):\n%s", diff)
	}
	if w.read(w.namespace, ingresses, "Ingress", "shop-canary") != nil {
		t.Error("the second Ingress is left")
	}
}

func TestTrafficOfGRPCRoute(t *testing.T) {
	w := newTrafficWorld(t)
	w.drop(httpRoute())
	w.startController()
	w.deployed(deployment(4, rolling(1, 0)))
	before := w.object(w.namespace, gatewayAPI, "GRPCRoute", map[string]any{"rules": []any{map[string]any{
		"matches":     []any{map[string]any{"method": map[string]any{"service": "shop.Cart", "type": "Exact"}}},
		"backendRefs": []any{map[string]any{"name": "web", "port": int64(80)}},
	}}})
	release := ofKind(v1alpha1.RouteGRPC, "", sharing("web:2", stepOf("25%", "0%"), stepOf("25%", "25%"), stepOf("100%", "100%")))
	release.Spec.Strategy.Steps[0].Matches = []v1alpha1.RequestMatch{{Headers: []v1alpha1.ValueMatch{{Name: "x-canary", Value: "yes"}}}}
	w.create(release)
	w.await(all(web.blocksAt(0), told(0)))
	rules, _, _ := unstructured.NestedSlice(w.read(w.namespace, gatewayAPI, "GRPCRoute", "shop").Object, "spec", "rules")
	if len(rules) != 2 {
		t.Errorf("want a rule for the requests that match beside the one of all, have %v", rules)
	}
	w.confirm("web")
	w.await(all(web.blocksAt(1), told(25)))
	if got := shares(w.read(w.namespace, gatewayAPI, "GRPCRoute", "shop"), "web"); got["web-canary"] != 25 {
		t.Errorf("want 25%% of the requests to the new version, have %v", got)
	}
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
	if diff := cmp.Diff(before, ofUser(w.read(w.namespace, gatewayAPI, "GRPCRoute", "shop"))); diff != "" {
		t.Errorf("the route is not what it was (-want +got):\n%s", diff)
	}
}
