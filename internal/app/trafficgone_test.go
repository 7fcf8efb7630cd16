package app_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// twoKinds is a cluster of its own with a release that names an HTTPRoute and a GRPCRoute.
type twoKinds struct {
	t       *testing.T
	cfg     *rest.Config
	c       client.Client
	release *v1alpha1.BatchRelease
	options app.Options
	http    *unstructured.Unstructured
}

func newTwoKinds(t *testing.T) *twoKinds {
	t.Helper()
	k := &twoKinds{t: t, cfg: ownPlane(t)}
	var err error
	if k.c, err = client.New(k.cfg, cptest.ClientOptions(t, k.cfg)); err != nil {
		t.Fatal(err)
	}
	k.install()
	namespace := "default"
	k.http = newRoute(namespace)
	k.options = app.Options{Version: namespace, Namespaces: []string{namespace}, Traffic: true}
	create(t, k.c, newDeployment(namespace), newService(namespace), k.http)
	awaitPods(t, k.c, namespace)
	k.release = newTrafficRelease(t, namespace)
	k.release.Spec.Strategy.Traffic.Routes = append(k.release.Spec.Strategy.Traffic.Routes,
		v1alpha1.TrafficRoute{Kind: v1alpha1.RouteGRPC, Name: "web", Service: "web"})
	return k
}

func (k *twoKinds) install() {
	k.t.Helper()
	if err := controlplane.InstallGatewayAPI(k.t.Context(), k.cfg); err != nil {
		k.t.Fatal(err)
	}
}

// uninstall deletes the definitions of kinds, and with them all of their objects, and waits until
// they are not served any more.
func (k *twoKinds) uninstall(plurals ...string) {
	k.t.Helper()
	for _, plural := range plurals {
		definition := &unstructured.Unstructured{}
		definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		definition.SetName(plural + ".gateway.networking.k8s.io")
		if err := k.c.Delete(k.t.Context(), definition); err != nil {
			k.t.Fatal(err)
		}
		cptest.Eventually(k.t, soon, func() error {
			err := k.c.Get(k.t.Context(), client.ObjectKeyFromObject(definition), definition)
			if !apierrors.IsNotFound(err) {
				return fmt.Errorf("want definition %s gone, got %w", plural, err)
			}
			return nil
		})
	}
}

// createGRPC creates the GRPCRoute that the release names, once its kind is served.
func (k *twoKinds) createGRPC() {
	k.t.Helper()
	grpc := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "GRPCRoute",
		"metadata": map[string]any{"namespace": "default", "name": "web"},
		"spec": map[string]any{"rules": []any{map[string]any{"backendRefs": []any{
			map[string]any{"name": "web", "port": int64(80), "weight": int64(1)},
		}}}},
	}}
	cptest.Eventually(k.t, soon, func() error { return k.c.Create(k.t.Context(), grpc.DeepCopy()) })
}

// wantShared wants the HTTPRoute to share requests, or not.
func (k *twoKinds) wantShared(want bool) {
	k.t.Helper()
	if backends := backendsOf(readRoute(k.t, k.c, "default")); slices.Contains(backends, "web-canary 30") != want {
		k.t.Errorf("want the HTTPRoute shared: %t, got %v", want, backends)
	}
}

func (k *twoKinds) awaitGone() {
	k.t.Helper()
	cptest.Eventually(k.t, soon, func() error {
		if err := k.c.Get(k.t.Context(), client.ObjectKeyFromObject(k.release), k.release); !apierrors.IsNotFound(err) {
			return fmt.Errorf("want the release gone, got %w: %+v", err, k.release.Status.Traffic)
		}
		return nil
	})
}

// TestOneKindIsNotServed: where a release names routes of two kinds and the cluster does not serve
// one of them, that route alone has the problem, also where the kind goes in mid-release. The
// other's weights stay, and are restored with the release.
func TestOneKindIsNotServed(t *testing.T) {
	t.Parallel()
	k := newTwoKinds(t)
	before := userOf(readRoute(t, k.c, "default"))
	k.uninstall("grpcroutes")
	start(t, k.cfg, k.options)
	create(t, k.c, k.release)
	awaitProblem(t, k.c, k.release, v1alpha1.TrafficNoGatewayAPI, "GRPCRoute default/web")

	k.install()
	k.createGRPC()
	awaitRelease(t, k.c, k.release, "blocking", blocking)
	k.wantShared(true)

	k.uninstall("grpcroutes")
	awaitProblem(t, k.c, k.release, v1alpha1.TrafficNoGatewayAPI, "GRPCRoute default/web")
	k.wantShared(true)

	k.install() // the route does not come with its kind
	awaitProblem(t, k.c, k.release, v1alpha1.TrafficRouteNotFound, "GRPCRoute default/web")
	k.uninstall("grpcroutes")
	awaitProblem(t, k.c, k.release, v1alpha1.TrafficNoGatewayAPI, "GRPCRoute default/web")

	if err := k.c.Delete(t.Context(), k.release); err != nil {
		t.Fatal(err)
	}
	k.awaitGone()
	if diff := cmp.Diff(before, userOf(readRoute(t, k.c, "default"))); diff != "" {
		t.Errorf("want the HTTPRoute as it was: -want +got:\n%s", diff)
	}
}

// TestWithoutGatewayAPI: where the CRDs of the Gateway API are not installed, a controller with
// --traffic runs, and a release that needs them says so. Once they are installed it goes on,
// without a restart. A release that is deleted does not wait for routes of kinds that the cluster
// does not serve any more, whoever has seen that they were served.
func TestWithoutGatewayAPI(t *testing.T) {
	t.Parallel()
	k := newTwoKinds(t)
	k.uninstall("grpcroutes", "httproutes", "referencegrants")
	controller := start(t, k.cfg, k.options)
	create(t, k.c, k.release)
	awaitProblem(t, k.c, k.release, v1alpha1.TrafficNoGatewayAPI, "HTTPRoute default/web")
	k.install()
	k.createGRPC()
	cptest.Eventually(t, soon, func() error { return k.c.Create(t.Context(), newRoute("default")) })
	awaitRelease(t, k.c, k.release, "blocking", blocking)
	if err := controller.stop(); err != nil {
		t.Fatal(err)
	}
	k.uninstall("grpcroutes", "httproutes", "referencegrants")
	start(t, k.cfg, k.options)
	awaitProblem(t, k.c, k.release, v1alpha1.TrafficNoGatewayAPI, "HTTPRoute default/web")
	if err := k.c.Delete(t.Context(), k.release); err != nil {
		t.Fatal(err)
	}
	k.awaitGone()
}
