package handback

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// silentRoutes is a client to which each route has a Gateway that has not read it.
type silentRoutes struct {
	client.Client
	reads int
}

func (c *silentRoutes) Get(_ context.Context, key client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	c.reads++
	route := object.(*unstructured.Unstructured)
	route.SetNamespace(key.Namespace)
	route.SetName(key.Name)
	route.Object["status"] = map[string]any{"parents": []any{map[string]any{"parentRef": map[string]any{"name": "public"}}}}
	return nil
}

// Each route that is waited for is read once at a time, however many holders somebody has made up for it, and a line names no more than some.
func TestPendingOfManyHolders(t *testing.T) {
	t.Parallel()
	var routes []heldRoute
	for i := range 50 {
		for j := range 128 {
			routes = append(routes, heldRoute{
				kind: v1alpha1.RouteHTTP, key: client.ObjectKey{Namespace: "shop", Name: fmt.Sprintf("web-%02d", i)}, service: fmt.Sprintf("s%03d", j),
			})
		}
	}
	c := &silentRoutes{}
	names := (&Command{client: c}).pending(t.Context(), routes)
	if c.reads != 50 || len(names) != 50 {
		t.Errorf("want 50 routes to be read and named once, got %d reads, %d names", c.reads, len(names))
	}
	line := strings.Join(listed(names), "; ")
	if !strings.HasSuffix(line, "HTTPRoute shop/web-09: Gateway public; 40 more") {
		t.Errorf("want 10 of them named, got %q", line)
	}
}
