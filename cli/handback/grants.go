package handback

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// grants holds the ReferenceGrants of namespaces that were read.
type grants map[string][]unstructured.Unstructured

// consents reports whether a release may share a route. Anyone who may write a release can have it
// name routes of any namespace: without ReferenceGrants of both, such a route is not written for
// it, and keeps nothing held.
func (c *Command) consents(ctx context.Context, r heldRoute, known grants) (bool, error) {
	namespace := r.use().Namespace
	if r.key.Namespace == namespace {
		return true, nil
	}
	for _, of := range []string{r.key.Namespace, namespace} {
		if _, read := known[of]; read {
			continue
		}
		grants, err := c.grantsIn(ctx, of)
		if err != nil {
			return false, err
		}
		known[of] = grants
	}
	return route.NotGranted(r.named(), namespace, known[r.key.Namespace], known[namespace]) == nil, nil
}

// grantsIn returns the ReferenceGrants of a namespace, in the newest version that is served.
func (c *Command) grantsIn(ctx context.Context, namespace string) ([]unstructured.Unstructured, error) {
	for _, kind := range route.GrantKinds {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(kind)
		err := c.client.List(ctx, list, client.InNamespace(namespace))
		if absent(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list ReferenceGrants%s: %w", in(namespace), err)
		}
		return list.Items, nil
	}
	return nil, nil
}
