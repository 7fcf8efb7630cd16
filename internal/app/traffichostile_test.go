package app_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestRouteThatNobodyMayKnow: who may write releases, and has no grant, learns nothing of a route
// of another namespace: not whether it is there, who holds it, nor what its rules are. With the
// grants the release says what is wrong with it.
func TestRouteThatNobodyMayKnow(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	c, namespace, edge := newClient(t), cptest.Namespace(t), cptest.Namespace(t)
	start(t, cptest.Config(t), app.Options{Version: namespace, Namespaces: []string{namespace, edge}, Traffic: true})
	route := newRoute(edge) // it refers to a Service web of its own namespace
	create(t, c, newDeployment(namespace), newService(namespace), route)
	awaitPods(t, c, namespace)
	release := newTrafficRelease(t, namespace)
	told := map[string]string{}
	for _, name := range []string{"none", "web"} {
		before := release.DeepCopy()
		release.Spec.Strategy.Traffic.Routes[0].Namespace, release.Spec.Strategy.Traffic.Routes[0].Name = edge, name
		if name == "none" {
			create(t, c, release)
		} else if err := c.Patch(t.Context(), release, client.MergeFrom(before)); err != nil { // the controller may write the status meanwhile
			t.Fatalf("name another route: %v", err)
		}
		awaitProblem(t, c, release, v1alpha1.TrafficNotGranted, name)
		told[name] = release.Status.Traffic.Problem.Message
	}
	if told["web"] != told["none"] {
		t.Errorf("want the same for a route that is there and one that is not: %q, %q", told["web"], told["none"])
	}
	create(t, c,
		newGrant(edge, map[string]any{"group": v1alpha1.GroupVersion.Group, "kind": "BatchRelease", "namespace": namespace},
			map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"}),
		newGrant(namespace, map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": edge},
			map[string]any{"group": "", "kind": "Service"}))
	awaitProblem(t, c, release, v1alpha1.TrafficServiceNotNamed, "web")
	wantUntouched(t, c, route)
}

// TestForgedRouteStatus: claims in the status of a route have a release wait or go on. However
// often they change, the controller writes nothing but its own status, and that now and then.
func TestForgedRouteStatus(t *testing.T) {
	t.Parallel()
	c, namespace := startTraffic(t)
	claim := func(n int, generations ...int64) {
		t.Helper()
		parents := []any{}
		for i := range n {
			parents = append(parents, claimOf(i, generations[i%len(generations)]))
		}
		err := retry.RetryOnConflict(retry.DefaultBackoff, func() error { // the release writes the route meanwhile
			route := readRoute(t, c, namespace)
			route.Object["status"] = map[string]any{"parents": parents}
			return c.Status().Update(t.Context(), route)
		})
		if err != nil {
			t.Fatalf("claim: %v", err)
		}
	}
	claim(32, math.MaxInt64)
	release := newTrafficRelease(t, namespace)
	create(t, c, release)
	awaitRelease(t, c, release, "blocking", blocking) // as if all Gateways had read what comes

	claim(32, 1, math.MaxInt64) // one of two never reads anything again
	confirm(t, c, release)
	awaiting := func(status v1alpha1.BatchReleaseStatus) bool {
		return status.CurrentStepIndex == 0 && status.Traffic != nil && status.Traffic.Awaits == v1alpha1.AwaitedRoutes && status.Traffic.Weight == 10
	}
	awaitRelease(t, c, release, "waiting for the route", awaiting)
	writes, began := writesOf(t, "sluice/"+namespace), time.Now()
	for i := range 64 {
		claim(1+i%32, 1)
	}
	claim(32, 1)
	// It may have told of the wait. Its status names who is waited for: what is not urgent is
	// written every five seconds at most.
	more, most := writesOf(t, "sluice/"+namespace)-writes, 2+int(time.Since(began)/(5*time.Second))
	if more > most {
		t.Errorf("want the controller to write its status every five seconds at most, which would be %d times, got %d writes", most, more)
	}
	awaitRelease(t, c, release, "waiting for the route", awaiting)
	claim(0, 1)
	awaitRelease(t, c, release, "completed", completed)
	if got := userOf(readRoute(t, c, namespace)); got != userOf(newDefaulted(t, c, namespace)) {
		t.Errorf("want the route as it was, got %s", got)
	}
}

// newDefaulted returns the route of newRoute as the API server makes it.
func newDefaulted(t *testing.T, c client.Client, namespace string) *unstructured.Unstructured {
	t.Helper()
	route := newRoute(namespace)
	route.SetName("as-it-was")
	create(t, c, route)
	return route
}

// claimOf returns a Gateway's status of a route.
func claimOf(i int, generation int64) map[string]any {
	condition := func(kind string) map[string]any {
		return map[string]any{
			"type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": generation, "lastTransitionTime": "2026-01-01T00:00:00Z",
		}
	}
	return map[string]any{
		"controllerName": "evil.example/gateway", "parentRef": map[string]any{"name": fmt.Sprint("gateway-", i)},
		"conditions": []any{condition("Accepted"), condition("ResolvedRefs")},
	}
}

// writesOf counts the writes of a controller, but for events: they are sent some time after what
// they tell.
func writesOf(t *testing.T, userAgent string) int {
	t.Helper()
	counts, err := cptest.Access(t).CountRequests(func(r controlplane.Request) bool {
		return strings.HasPrefix(r.UserAgent, userAgent) && r.Resource != "events"
	})
	if err != nil {
		t.Fatalf("read audit log: %v", err)
	}
	return counts["patch"] + counts["create"] + counts["update"] + counts["delete"]
}

// TestForgedSlicesOfSides: EndpointSlices that others make of the Services of a release neither
// hold it up nor count as pods; of those that look like its own, the controller of EndpointSlices
// leaves none.
func TestForgedSlicesOfSides(t *testing.T) {
	t.Parallel()
	c, namespace := startTraffic(t)
	release := newTrafficRelease(t, namespace)
	create(t, c, release)
	awaitRelease(t, c, release, "blocking", blocking)
	var forged []*discoveryv1.EndpointSlice
	for _, side := range []string{"web-stable", "web-canary"} {
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: side}}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(service), service); err != nil {
			t.Fatalf("read Service: %v", err)
		}
		byHand, another := newSlice(service, "by-hand"), newSlice(service, "another")
		another.Labels[v1alpha1.RevisionLabel] = "another"
		mirrored := newSlice(service, "mirrored")
		mirrored.Labels[discoveryv1.LabelManagedBy] = "endpointslicemirroring-controller.k8s.io"
		like := newSlice(service, "like-its-own")
		like.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
		create(t, c, byHand, another, mirrored, like)
		forged = append(forged, like)
	}
	for _, slice := range forged {
		cptest.Eventually(t, soon, func() error {
			err := c.Get(t.Context(), client.ObjectKeyFromObject(slice), slice)
			if err == nil && slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.TargetRef.UID == "forged" }) {
				return fmt.Errorf("want %s to lose its endpoints, or to go", slice.Name)
			}
			return client.IgnoreNotFound(err)
		})
	}
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)
}

// newSlice returns an EndpointSlice of a Service whose endpoints have no pods.
func newSlice(service *corev1.Service, name string) *discoveryv1.EndpointSlice {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: service.Namespace, Name: service.Name + "-" + name,
			Labels: map[string]string{
				discoveryv1.LabelServiceName: service.Name, v1alpha1.TrafficLabel: "web", v1alpha1.RevisionLabel: service.Labels[v1alpha1.RevisionLabel],
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
	for i := range 100 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{fmt.Sprint("192.0.2.", i)},
			TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: service.Namespace, Name: fmt.Sprint("none-", i), UID: "forged" + types.UID(strings.Repeat("x", i))},
		})
	}
	return slice
}
