package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// applyOwner is the field manager of applied manifests.
	applyOwner = "sluice-controlplane"
	// servedTimeout bounds the wait for the API server to serve a new kind.
	servedTimeout = 30 * time.Second
)

// Apply applies the manifests in files, or in folders and all below them, server-side. Kinds are
// defined before anything else is applied, and served when Apply returns. A kustomization.yaml is
// passed over, not followed.
func Apply(ctx context.Context, cfg *rest.Config, paths ...string) error {
	objects, err := readManifests(paths)
	if err != nil {
		return err
	}
	c, err := client.New(cfg, client.Options{})
	if err != nil {
		return fmt.Errorf("make client: %w", err)
	}
	definesFirst(objects)
	for _, o := range objects {
		if err := applyObject(ctx, c, o); err != nil {
			return fmt.Errorf("apply %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// readManifests reads the objects in all YAML files, in the order of their names.
func readManifests(paths []string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			found, err := readManifest(path)
			objects = append(objects, found...)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read manifests: %w", err)
		}
	}
	return objects, nil
}

func readManifest(path string) ([]*unstructured.Unstructured, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open manifest: %w", err)
	}
	defer f.Close()
	var objects []*unstructured.Unstructured
	for documents := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		err := documents.Decode(&o.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode %s: %w", path, err)
		}
		if len(o.Object) > 0 && o.GetKind() != "Kustomization" {
			objects = append(objects, o)
		}
	}
}

// definesFirst sorts what other objects need to be there before them to the front.
func definesFirst(objects []*unstructured.Unstructured) {
	order := []string{"CustomResourceDefinition", "Namespace"}
	rank := func(o *unstructured.Unstructured) int {
		if i := slices.Index(order, o.GetKind()); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
}

func applyObject(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o), client.FieldOwner(applyOwner), client.ForceOwnership)
	if err != nil || o.GetKind() != "CustomResourceDefinition" {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &crd); err != nil {
		return fmt.Errorf("decode: %w", err)
	}
	for _, v := range crd.Spec.Versions {
		if v.Served {
			list := schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.ListKind}
			if err := awaitServed(ctx, c, list); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitServed waits until objects of a kind can be listed. The condition Established of the
// definition comes a little before that.
func awaitServed(ctx context.Context, c client.Client, kind schema.GroupVersionKind) error {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind)
	var last error
	err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, servedTimeout, true, func(ctx context.Context) (bool, error) {
		last = c.List(ctx, list, client.Limit(1))
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait for %s to be served: %w", kind, errors.Join(err, last))
	}
	return nil
}
