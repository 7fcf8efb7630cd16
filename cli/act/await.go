package act

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/verb"
)

// AwaitRelease watches a release from the written version on, until the controller has acted on it
// or the release is gone. It reports false if ctx or the watch ends before that.
func AwaitRelease(ctx context.Context, c client.WithWatch, written *v1alpha1.BatchRelease, taken verb.Taken) (bool, error) {
	return await(ctx, c, written, &v1alpha1.BatchReleaseList{}, func(object client.Object) (bool, error) {
		return taken(object.(*v1alpha1.BatchRelease))
	})
}

// AwaitGate watches a gate from the version that was read on, until it is decided or gone. It
// reports false like AwaitRelease.
func AwaitGate(ctx context.Context, c client.WithWatch, gate *v1alpha1.Gate) (bool, error) {
	return await(ctx, c, gate, &v1alpha1.GateList{}, func(object client.Object) (bool, error) {
		return verb.GateDecided(object.(*v1alpha1.Gate)), nil
	})
}

// await checks every later version of an object, so it misses nothing between the write and the
// watch.
func await(ctx context.Context, c client.WithWatch, from client.Object, list client.ObjectList, holds func(client.Object) (bool, error)) (bool, error) {
	if done, err := holds(from); done || err != nil {
		return done, err
	}
	events, err := c.Watch(ctx, list, client.InNamespace(from.GetNamespace()), client.MatchingFields{metav1.ObjectNameField: from.GetName()},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: from.GetResourceVersion()}})
	if err != nil {
		return false, fmt.Errorf("watch %s: %w", from.GetName(), err)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, nil
		case event, open := <-events.ResultChan():
			if !open {
				return false, nil
			}
			if done, err := seen(event, from, holds); done || err != nil {
				return done, err
			}
		}
	}
}

// seen checks the version of an object in an event. There is nothing left to wait for if the object
// is gone.
func seen(event watch.Event, of client.Object, holds func(client.Object) (bool, error)) (bool, error) {
	if event.Type == watch.Error {
		return false, fmt.Errorf("watch %s: %w", of.GetName(), apierrors.FromObject(event.Object))
	}
	now, is := event.Object.(client.Object)
	switch {
	case !is || event.Type == watch.Bookmark:
		return false, nil
	case event.Type == watch.Deleted || now.GetUID() != of.GetUID():
		return true, nil
	}
	return holds(now)
}
