// Package kube has guarded writes, the overlay over caches, events, and the rules for Secrets.
package kube

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/jsonpatch"
)

// Newer reports whether a is a later reading than b of the same object. Readings whose
// versions can't be compared count as not newer, so that the cache wins.
func Newer(a, b client.Object) bool {
	if a.GetUID() != b.GetUID() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// PatchOf returns a JSON patch as a client sends it.
func PatchOf(patch *jsonpatch.Patch) (client.Patch, error) {
	data, err := patch.Encode()
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.JSONPatchType, data), nil
}

// Recorded reads a ControllerRevision of the native controller; nil if the workload has none of the
// name.
func Recorded(ctx context.Context, reader client.Reader, workload metav1.Object, name string) (*appsv1.ControllerRevision, error) {
	var revision appsv1.ControllerRevision
	err := reader.Get(ctx, client.ObjectKey{Namespace: workload.GetNamespace(), Name: name}, &revision)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(&revision, workload) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ControllerRevision %s: %w", name, err)
	}
	return &revision, nil
}
