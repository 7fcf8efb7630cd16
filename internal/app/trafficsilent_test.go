package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// blockedWithTraffic returns a release at its first gate. The controller waits for the status of a
// route for half of the deadline, in seconds.
func blockedWithTraffic(t *testing.T, deadline int32) (c client.Client, route *unstructured.Unstructured, release *v1alpha1.BatchRelease) {
	t.Helper()
	c, namespace := startTraffic(t)
	release, route = newTrafficRelease(t, namespace), readRoute(t, c, namespace)
	create(t, c, release)
	awaitRelease(t, c, release, "blocking", blocking)
	setDeadline(t, c, release, deadline)
	return c, route, release
}

func setDeadline(t *testing.T, c client.Client, release *v1alpha1.BatchRelease, seconds int32) {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"strategy":{"progressDeadlineSeconds":%d}}}`, seconds)
	if err := c.Patch(t.Context(), release, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatalf("set deadline: %v", err)
	}
}

// silence has the route's status tell of its present generation for ever, by a Gateway that is
// dead.
func silence(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	route := readRoute(t, c, namespace)
	condition := func(kind string) any {
		return map[string]any{
			"type": kind, "status": "True", "reason": kind, "message": "", "observedGeneration": route.GetGeneration(), "lastTransitionTime": "2026-01-01T00:00:00Z",
		}
	}
	route.Object["status"] = map[string]any{"parents": []any{map[string]any{
		"controllerName": "example.com/dead", "parentRef": map[string]any{"name": "dead"}, "conditions": []any{condition("Accepted"), condition("ResolvedRefs")},
	}}}
	if err := c.Status().Update(t.Context(), route); err != nil {
		t.Fatalf("write the route's status: %v", err)
	}
}

// awaitSilent waits for people to be told that the release goes on without the Gateway.
func awaitSilent(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		var events eventsv1.EventList
		if err := c.List(t.Context(), &events, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == v1alpha1.ReasonGatewaySilent && strings.Contains(e.Note, "HTTPRoute web: Gateway dead") {
				return nil
			}
		}
		return errors.New("want an event that names the Gateway")
	})
}

func awaitGone(t *testing.T, c client.Client, release *v1alpha1.BatchRelease) {
	t.Helper()
	cptest.Eventually(t, soon, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(release), release); !apierrors.IsNotFound(err) {
			return fmt.Errorf("want the release gone, got finalizers %v, traffic %+v, %w", release.Finalizers, release.Status.Traffic, err)
		}
		return nil
	})
}

// TestDeletionPastSilentGateway: a Gateway that is dead, and whose entry in the status of the route
// stays, is waited for when the release is deleted, and not for ever: the Deployment is handed
// back, and people are told.
func TestDeletionPastSilentGateway(t *testing.T) {
	t.Parallel()
	c, route, release := blockedWithTraffic(t, 20)
	namespace := release.Namespace
	silence(t, c, namespace)
	if err := c.Delete(t.Context(), release.DeepCopy()); err != nil {
		t.Fatalf("delete: %v", err)
	}
	awaitRelease(t, c, release, "waiting for the Gateway", func(status v1alpha1.BatchReleaseStatus) bool {
		told := status.Traffic
		return told != nil && told.AcceptDeadline != nil && slices.Equal(told.PendingParents, []string{"HTTPRoute web: Gateway dead"})
	})
	d := newDeployment(namespace)
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil || d.Annotations[v1alpha1.HoldAnnotation] == "" {
		t.Errorf("want the Deployment held meanwhile, got annotations %v, %v", d.Annotations, err)
	}
	awaitGone(t, c, release)
	if diff := cmp.Diff(userOf(route), userOf(readRoute(t, c, namespace))); diff != "" {
		t.Errorf("want the route as it was: -want +got:\n%s", diff)
	}
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(d), d); err != nil || d.Annotations[v1alpha1.HoldAnnotation] != "" {
		t.Errorf("want the Deployment handed back, got annotations %v, %v", d.Annotations, err)
	}
	awaitSilent(t, c, namespace)
}

func rollBack(t *testing.T, c client.Client, release *v1alpha1.BatchRelease) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"annotations":{"`+v1alpha1.RollbackAnnotation+`":"true"}}}`))
	if err := c.Patch(t.Context(), release.DeepCopy(), patch); err != nil {
		t.Fatalf("roll back: %v", err)
	}
}

// twoNamespaces starts a controller, and returns a Deployment's namespace and its route in
// another.
func twoNamespaces(t *testing.T) (c client.Client, namespace string, route *unstructured.Unstructured) {
	t.Helper()
	cptest.GatewayAPI(t)
	c, namespace = newClient(t), cptest.Namespace(t)
	edge := cptest.Namespace(t)
	start(t, cptest.Config(t), app.Options{Version: namespace, Namespaces: []string{namespace, edge}, Traffic: true})
	route = elsewhere(t, namespace, edge)
	create(t, c, newDeployment(namespace), newService(namespace), route)
	awaitPods(t, c, namespace)
	return c, namespace, route
}

// elsewhere returns a route that refers to the Service of another namespace.
func elsewhere(t *testing.T, namespace, edge string) *unstructured.Unstructured {
	t.Helper()
	route := newRoute(edge)
	rules, _, _ := unstructured.NestedSlice(route.Object, "spec", "rules")
	rules[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)["namespace"] = namespace
	if err := unstructured.SetNestedSlice(route.Object, rules, "spec", "rules"); err != nil {
		t.Fatal(err)
	}
	return route
}

// grants returns the ReferenceGrants that a release needs for a route of another namespace.
func grants(namespace, edge string) (there, here *unstructured.Unstructured) {
	there = newGrant(edge, map[string]any{"group": v1alpha1.GroupVersion.Group, "kind": "BatchRelease", "namespace": namespace},
		map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute"})
	here = newGrant(namespace, map[string]any{"group": "gateway.networking.k8s.io", "kind": "HTTPRoute", "namespace": edge},
		map[string]any{"group": "", "kind": "Service"})
	return there, here
}

// TestRevokedGrant: where a grant is taken away in mid-release, requests still come back, and the
// route gets back what it had: in a rollback, and where the release is deleted.
func TestRevokedGrant(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"rollback", "deletion"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			c, namespace, route := twoNamespaces(t)
			edge := route.GetNamespace()
			there, here := grants(namespace, edge)
			release := newTrafficRelease(t, namespace)
			release.Spec.Strategy.Traffic.Routes[0].Namespace = edge
			create(t, c, there, here, release)
			awaitRelease(t, c, release, "blocking", blocking)
			if got := backendsOf(readRoute(t, c, edge)); !cmp.Equal(got, []string{"web-stable 270", "web-canary 30", "api 100"}) {
				t.Fatalf("want requests shared, got %v", got)
			}
			for _, grant := range []client.Object{there, here} {
				if err := c.Delete(t.Context(), grant); err != nil {
					t.Fatalf("revoke: %v", err)
				}
			}
			awaitProblem(t, c, release, v1alpha1.TrafficNotGranted, edge)
			if way == "rollback" {
				rollBack(t, c, release)
				awaitRelease(t, c, release, "rolled back", completed)
			} else {
				if err := c.Delete(t.Context(), release.DeepCopy()); err != nil {
					t.Fatalf("delete: %v", err)
				}
				awaitGone(t, c, release)
			}
			if diff := cmp.Diff(userOf(route), userOf(readRoute(t, c, edge))); diff != "" {
				t.Errorf("want the route as it was: -want +got:\n%s", diff)
			}
		})
	}
}

// TestForgedHoldElsewhere: an author with write access to a route in a namespace without consent
// can't keep a release alive by marking the route as held by it, again and again. A route that the
// release does not name is left alone.
func TestForgedHoldElsewhere(t *testing.T) {
	t.Parallel()
	c, namespace, route := twoNamespaces(t)
	edge := route.GetNamespace()
	release := newTrafficRelease(t, namespace)
	release.Spec.Strategy.Traffic.Routes[0].Namespace = edge
	create(t, c, release)
	awaitProblem(t, c, release, v1alpha1.TrafficNotGranted, edge)
	setDeadline(t, c, release, 4)
	hold, err := json.Marshal(map[string]any{namespace + "/web": map[string]any{"release": namespace + "/web", "uid": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	forge := func(object *unstructured.Unstructured) error {
		object.SetAnnotations(map[string]string{v1alpha1.TrafficAnnotation: string(hold)})
		return c.Update(t.Context(), object)
	}
	unnamed := elsewhere(t, namespace, edge)
	unnamed.SetName("unnamed")
	create(t, c, unnamed)
	for _, object := range []*unstructured.Unstructured{unnamed, route} {
		if err := forge(object); err != nil {
			t.Fatalf("forge: %v", err)
		}
	}
	if err := c.Delete(t.Context(), release.DeepCopy()); err != nil {
		t.Fatalf("delete: %v", err)
	}
	cptest.Eventually(t, soon, func() error {
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(release), &v1alpha1.BatchRelease{}); apierrors.IsNotFound(err) {
			return nil
		}
		now := readRoute(t, c, edge)
		if metav1.HasAnnotation(metav1.ObjectMeta{Annotations: now.GetAnnotations()}, v1alpha1.TrafficAnnotation) {
			return errors.New("want the release gone, though the route is not given back yet")
		}
		return fmt.Errorf("want the release gone, though somebody says that it holds the route: %w", forge(now))
	})
	wantUntouched(t, c, unnamed)
}
