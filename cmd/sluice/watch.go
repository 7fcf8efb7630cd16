package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// condition tells whether an object is as somebody waits for it to be, or why it never will be.
type condition func(client.Object) (bool, error)

// until reads and watches an object until a condition holds. One that is gone is returned as nil: nothing is to be
// waited for any more.
func (c *cluster) until(ctx context.Context, object client.Object, holds condition) (client.Object, error) {
	list, err := c.listOf(object)
	if err != nil {
		return nil, err
	}
	key := client.ObjectKeyFromObject(object)
	for {
		err := c.Get(ctx, key, object)
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", key.Name, err)
		}
		if done, err := holds(object); err != nil || done {
			return object, err
		}
		now, over, err := c.follow(ctx, list, object, holds)
		if err != nil || over {
			return now, err
		}
	}
}

// listOf is an empty list of an object's kind.
func (c *cluster) listOf(object client.Object) (client.ObjectList, error) {
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return nil, fmt.Errorf("find kind: %w", err)
	}
	kind.Kind += "List"
	list, err := c.Scheme().New(kind)
	if err != nil {
		return nil, fmt.Errorf("make list: %w", err)
	}
	objects, ok := list.(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("%s is no list of objects", kind)
	}
	return objects, nil
}

// follow watches an object from the state that was read until a condition holds or it is gone. It reports false where the
// watch has ended before.
func (c *cluster) follow(ctx context.Context, list client.ObjectList, object client.Object, holds condition) (client.Object, bool, error) {
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: object.GetResourceVersion()}}
	watcher, err := c.Watch(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingFields{"metadata.name": object.GetName()}, from)
	if apierrors.IsResourceExpired(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("watch %s: %w", object.GetName(), err)
	}
	defer watcher.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case event, open := <-watcher.ResultChan():
			now, ok := event.Object.(client.Object)
			switch {
			case !open, event.Type == watch.Error: // it is read again, and what is wrong shows there
				return nil, false, ctx.Err()
			case event.Type == watch.Deleted:
				return nil, true, nil
			case !ok || event.Type == watch.Bookmark:
				continue
			}
			if done, err := holds(now); err != nil || done {
				return now, true, err
			}
		}
	}
}
