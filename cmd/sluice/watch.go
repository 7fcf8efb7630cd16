package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/internal/kube"
)

// condition reports whether an object is as somebody waits for it to be, or why it never will be.
type condition func(client.Object) (bool, error)

// until watches an object, as it was last written or later, until a condition holds. One that is
// gone is returned as nil: nothing is to be waited for any more.
func (c *cluster) until(ctx context.Context, object client.Object, holds condition) (client.Object, error) {
	var now client.Object
	one := lookup.Objects{object: {Field: fields.OneTermEqualSelector("metadata.name", object.GetName())}}
	watched := lookup.Watched{Config: c.config, Scheme: c.Scheme(), Namespace: object.GetNamespace(), Objects: one}
	err := lookup.Follow(ctx, watched, func(ctx context.Context, reader client.Reader) error {
		seen := object.DeepCopyObject().(client.Object)
		err := reader.Get(ctx, client.ObjectKeyFromObject(object), seen)
		switch {
		case apierrors.IsNotFound(err):
			return lookup.ErrDone
		case err != nil:
			return fmt.Errorf("read %s: %w", object.GetName(), err)
		case kube.Newer(object, seen):
			return nil
		}
		done, err := holds(seen)
		if err == nil && done {
			now, err = seen, lookup.ErrDone
		}
		return err
	})
	return now, err
}
