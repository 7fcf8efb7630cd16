package rollout

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// askFor limits the wait for an answer of the API server on which kinds it serves.
const askFor = 10 * time.Second

// discoverer asks the API server which kinds it serves.
type discoverer struct{ server rest.Interface }

// ask returns whether the API server serves a kind.
func (d discoverer) ask(ctx context.Context, kind schema.GroupVersionKind) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	served, err := d.serves(ctx, kind)
	if err != nil || served {
		return answer{served: served}, err
	}
	var group metav1.APIGroup
	if found, err := d.read(ctx, &group, "apis", kind.Group); err != nil || !found {
		return answer{}, err
	}
	for _, version := range group.Versions {
		other := schema.GroupVersionKind{Group: kind.Group, Version: version.Version, Kind: kind.Kind}
		if served, err := d.serves(ctx, other); err != nil || served {
			return answer{elsewhere: served}, err
		}
	}
	return answer{}, nil
}

// serves reports whether a kind is served in a version. Subresources can't be watched.
func (d discoverer) serves(ctx context.Context, kind schema.GroupVersionKind) (bool, error) {
	var list metav1.APIResourceList
	if found, err := d.read(ctx, &list, "apis", kind.Group, kind.Version); err != nil || !found {
		return false, err
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool {
		return r.Kind == kind.Kind && slices.Contains(r.Verbs, "watch")
	}), nil
}

// read reads a document of discovery, and reports whether it exists.
func (d discoverer) read(ctx context.Context, into runtime.Object, path ...string) (bool, error) {
	err := d.server.Get().AbsPath(path...).Do(ctx).Into(into)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read which kinds are served: %w", err)
	}
	return true, nil
}
