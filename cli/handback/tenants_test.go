package handback_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// nameElsewhere has the release name a route of another namespace, too.
func (r *routed) nameElsewhere(namespace string) {
	r.Helper()
	if err := r.client.Get(r.Context(), client.ObjectKeyFromObject(r.release), r.release); err != nil {
		r.Fatalf("read release: %v", err)
	}
	spec := r.release.Spec.Strategy.Traffic
	spec.Routes = append(spec.Routes, v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Namespace: namespace, Name: "web", Service: "web"})
	if err := r.client.Update(r.Context(), r.release); err != nil {
		r.Fatalf("name route of another namespace: %v", err)
	}
}

// shared is the annotation that sharing writes.
const shared = "shared"

// elsewhere creates a route of another namespace that refers to the sides of the release just as sharing makes it, with an annotation.
func (r *routed) elsewhere(namespace, annotation string) *unstructured.Unstructured {
	r.Helper()
	text := strings.ReplaceAll(httpRoute, "{name: web, port: 80, weight: 3}", "{name: web, namespace: "+r.namespace+", port: 80, weight: 3}")
	object := cptest.Decode(r.T, text)[0]
	object.SetNamespace(namespace)
	object, problem := route.KindOf(v1alpha1.RouteHTTP).Share(object, r.use(), traffic.Share{Weight: 10})
	if problem != nil {
		r.Fatalf("share: %s", problem.Message)
	}
	switch annotation {
	case shared:
	case "":
		object.SetAnnotations(nil)
	default:
		object.SetAnnotations(map[string]string{v1alpha1.TrafficAnnotation: annotation})
	}
	r.create(object)
	return object
}

// consent creates the ReferenceGrants by which a release of the namespace may share HTTPRoutes of another one.
func (r *routed) consent(namespace string) {
	r.Helper()
	grant := func(in string, from, to map[string]any) {
		r.create(&unstructured.Unstructured{Object: map[string]any{
			"apiVersion": route.GatewayGroup + "/v1beta1", "kind": "ReferenceGrant", "metadata": map[string]any{"namespace": in, "name": "sluice"},
			"spec": map[string]any{"from": []any{from}, "to": []any{to}},
		}})
	}
	grant(namespace, map[string]any{"group": v1alpha1.GroupVersion.Group, "kind": "BatchRelease", "namespace": r.namespace},
		map[string]any{"group": route.GatewayGroup, "kind": "HTTPRoute"})
	grant(r.namespace, map[string]any{"group": route.GatewayGroup, "kind": "HTTPRoute", "namespace": namespace}, map[string]any{"group": "", "kind": "Service"})
}

// written reads a route again, and reports whether it was written since.
func (r *routed) written(object *unstructured.Unstructured) bool {
	r.Helper()
	before := object.GetResourceVersion()
	if err := r.client.Get(r.Context(), client.ObjectKeyFromObject(object), object); err != nil {
		r.Fatalf("read route: %v", err)
	}
	return object.GetResourceVersion() != before
}

// TestNamespaceThatDoesNotConsent: anyone who may write a release can have it name a route of any namespace. Without ReferenceGrants, only a route
// whose annotation names the release as holder is written, and no route keeps anything held. With them it is restored first, or keeps the workload held.
func TestNamespaceThatDoesNotConsent(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		annotation string
		// with and without say whether the route is written with and without consent.
		with, without bool
	}{
		"Held":            {shared, true, true},
		"LooksLikeShared": {"", true, false},
		"CanNotBeRead":    {"{", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for consents, want := range map[bool]bool{true: c.with, false: c.without} {
				r, edge := newRouted(t), cptest.Namespace(t)
				object := r.elsewhere(edge, c.annotation)
				r.nameElsewhere(edge)
				if consents {
					r.consent(edge)
				}
				said, err := r.run(handback.Options{NoWait: true})
				r.wantHeld(consents && !want)
				if written := r.written(object); written != want {
					t.Errorf("consents: %t: want the route written: %t, it says %q, %v", consents, want, said, err)
				}
			}
		})
	}
}

// TestUnknownConsent: without the right to list ReferenceGrants, a route whose annotation names the release is restored. One without the annotation is
// not written, and keeps the workload held; the error says which right is missing.
func TestUnknownConsent(t *testing.T) {
	t.Parallel()
	for name, annotation := range map[string]string{"Held": shared, "LooksLikeShared": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, edge := newRouted(t), cptest.Namespace(t)
			object := r.elsewhere(edge, annotation)
			r.nameElsewhere(edge)
			real := r.client
			r.client = hooked{Client: real, list: forbids("ReferenceGrant")}
			said, err := r.run(handback.Options{NoWait: true})
			r.client = real
			held := annotation == shared
			if written := r.written(object); written != held {
				t.Errorf("want the route written: %t, it says %q, %v", held, said, err)
			}
			r.wantHeld(!held)
			if missing := "get the right to list referencegrants in namespaces " + edge + " and " + r.namespace; !held && (err == nil || !strings.Contains(err.Error(), missing)) {
				t.Errorf("want %q, got %v", missing, err)
			}
		})
	}
}

// confined is a client to which a cluster has only some namespaces.
type confined struct {
	client.Client
	namespaces []string
}

func (c confined) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if new(client.ListOptions).ApplyOptions(options).Namespace != "" {
		return c.Client.List(ctx, list, options...)
	}
	var all []runtime.Object
	for _, namespace := range c.namespaces {
		if err := c.Client.List(ctx, list, append(options, client.InNamespace(namespace))...); err != nil {
			return err
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			return err
		}
		all = append(all, items...)
	}
	return meta.SetList(list, all)
}

// TestTenantKeepsNoOthersFinalizers: where something of one namespace can't be handed back, its finalizers stay, which is said, and those of others
// go. A route that somebody only claims to be a release's keeps none.
func TestTenantKeepsNoOthersFinalizers(t *testing.T) {
	t.Parallel()
	stuck, other := newRouted(t), newRouted(t)
	stuck.annotate("{")
	claim := cptest.Decode(t, strings.Replace(httpRoute, "{name: web}", "{name: claim}", 1))[0]
	claim.SetNamespace(stuck.namespace)
	claim.SetAnnotations(map[string]string{v1alpha1.TrafficAnnotation: `{"` + other.namespace + `/web": {"release": "` + other.use().Holder.Release + `", "weight": 1, "matches": [` +
		strings.TrimSuffix(strings.Repeat("{},", 16), ",") + `]}}`})
	stuck.create(claim)
	var said []string
	c := confined{stuck.client, []string{stuck.namespace, other.namespace}}
	err := handback.New(c, stuck.clock, handback.Options{RemoveFinalizers: true}, func(line string) { said = append(said, line) }).Run(t.Context())
	words := strings.Join(said, "\n")
	if err == nil || !strings.Contains(words, "finalizers stay in these namespaces, where something is not handed back: "+stuck.namespace) {
		t.Errorf("want to be told that finalizers stay in %s, and that it failed, got %v:\n%s", stuck.namespace, err, words)
	}
	stuck.wantHeld(true)
	stuck.wantFinalizers(v1alpha1.Finalizer)
	other.wantHeld(false)
	other.wantFinalizers()
	other.wantRestored()
}

// TestRouteOfManyHolders: anyone who may write routes can name 128 releases as holders of each. Such a route takes one read and one write nevertheless.
func TestRouteOfManyHolders(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	holders := map[string]route.Holder{}
	for i := range 128 {
		holders[fmt.Sprintf("s%03d", i)] = route.Holder{Release: fmt.Sprintf("%s/r%03d", r.namespace, i), UID: string(r.release.UID)}
	}
	text, err := json.Marshal(holders)
	if err != nil {
		t.Fatal(err)
	}
	many := cptest.Decode(t, strings.Replace(httpRoute, "{name: web}", "{name: many}", 1))[0]
	many.SetNamespace(r.namespace)
	many.SetAnnotations(map[string]string{v1alpha1.TrafficAnnotation: string(text)})
	r.create(many)
	reads, writes := 0, 0
	count := func(n *int) func(kind, name string) error {
		return func(kind, name string) error {
			if kind == "HTTPRoute" && name == "many" {
				*n++
			}
			return nil
		}
	}
	real := r.client
	r.client = hooked{Client: real, get: count(&reads), write: count(&writes)}
	r.must(handback.Options{})
	r.client = real
	if reads != 1 || writes != 1 {
		t.Errorf("want one read and one write of a route of many holders, got %d and %d", reads, writes)
	}
	if err := r.client.Get(t.Context(), client.ObjectKeyFromObject(many), many); err != nil || len(many.GetAnnotations()) > 0 {
		t.Errorf("want nobody to hold it any more, got %v, %v", many.GetAnnotations(), err)
	}
	r.wantHeld(false)
	r.wantRestored()
}
