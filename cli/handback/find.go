package handback

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// page is how many objects are read at a time.
const page = 500

// target is a workload to look at.
type target struct {
	kind string
	key  client.ObjectKey
	// object is its metadata; empty if it is unread.
	object *metav1.PartialObjectMetadata
	unread bool
}

func (t target) String() string { return t.kind + " " + t.key.String() }

// find lists the workloads to look at: the named ones, or all that are held or were left half done.
// The error holds each failed read.
func (c *Command) find(ctx context.Context) ([]target, error) {
	var found []target
	var failed []error
	for _, name := range c.options.Names {
		targets, err := c.named(ctx, name)
		found, failed = append(found, targets...), append(failed, err)
	}
	if len(c.options.Names) > 0 {
		return found, errors.Join(failed...)
	}
	for _, kind := range workload.Kinds {
		targets, err := c.held(ctx, kind)
		found, failed = append(found, targets...), append(failed, err)
	}
	return found, errors.Join(failed...)
}

// named returns the workloads that are meant by a name. Without a kind they are the held ones, or
// else all of the name.
func (c *Command) named(ctx context.Context, name Name) ([]target, error) {
	key := client.ObjectKey{Namespace: c.options.Namespace, Name: name.Name}
	var there, held []target
	var failed []error
	for _, kind := range workload.Kinds {
		if name.Kind != "" && name.Kind != kind {
			continue
		}
		t := target{kind: kind, key: key, object: metadata(kind)}
		switch err := c.client.Get(ctx, key, t.object); {
		case name.Kind != "":
			t.unread = err != nil
			return []target{t}, nil // the hand-back says why it can't be read
		case apierrors.IsNotFound(err):
			continue
		case err != nil:
			failed = append(failed, fmt.Errorf("read %s %s: %w", kind, key, err))
			continue
		}
		there = append(there, t)
		if isOurs(t.object) {
			held = append(held, t)
		}
	}
	switch {
	case len(held) > 0:
		there = held
	case len(there) == 0 && len(failed) == 0:
		failed = append(failed, fmt.Errorf("no %s %q found in namespace %s", kinds.List(workload.Kinds), key.Name, key.Namespace))
	}
	return there, errors.Join(failed...)
}

// held returns the workloads of a kind that are held, or were left half done.
func (c *Command) held(ctx context.Context, kind string) ([]target, error) {
	var found []target
	err := c.eachPage(ctx, appsv1.SchemeGroupVersion.WithKind(kind+"List"), func(object *metav1.PartialObjectMetadata) {
		if isOurs(object) {
			found = append(found, target{kind: kind, key: client.ObjectKeyFromObject(object), object: object})
		}
	})
	if err != nil {
		return found, fmt.Errorf("list %ss: %w", kind, err)
	}
	return found, nil
}

// eachPage passes on the objects of a kind in scope, page by page.
func (c *Command) eachPage(ctx context.Context, kind schema.GroupVersionKind, take func(*metav1.PartialObjectMetadata)) error {
	list := &metav1.PartialObjectMetadataList{}
	for {
		list.SetGroupVersionKind(kind)
		err := c.client.List(ctx, list, client.InNamespace(c.options.Namespace), client.Limit(page), client.Continue(list.Continue))
		if err != nil {
			return err
		}
		for i := range list.Items {
			take(list.Items[i].DeepCopy())
		}
		if list.Continue == "" {
			return nil
		}
	}
}

func metadata(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
	return object
}

// isOurs reports whether a workload is held or followed, or a run that handed it back did not
// complete.
func isOurs(object metav1.Object) bool {
	return hold.Text(object) != nil || hold.Follower(object) != "" || glassIsOurs(object)
}
