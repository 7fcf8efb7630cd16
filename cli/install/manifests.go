package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/config"
)

// The folders of config, in the order in which their objects are applied: the CRDs and the
// namespace come before the objects that need them.
var folders = []string{"crd", "rbac", "controller", "policy"}

// manifests returns the objects in folders of config, with another namespace for the controller.
func manifests(namespace string, folders ...string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, folder := range folders {
		files, err := fs.Glob(config.Manifests, folder+"/*.yaml")
		if err != nil {
			return nil, fmt.Errorf("list manifests: %w", err)
		}
		for _, file := range files {
			if path.Base(file) == "kustomization.yaml" {
				continue
			}
			found, err := read(file, namespace)
			if err != nil {
				return nil, fmt.Errorf("read %s: %w", file, err)
			}
			objects = append(objects, found...)
		}
	}
	return objects, nil
}

// read decodes a file. The word for the namespace stands for nothing else in it, and stands in an
// expression too.
func read(file, namespace string) ([]*unstructured.Unstructured, error) {
	text, err := config.Manifests.ReadFile(file)
	if err != nil {
		return nil, err
	}
	text = bytes.ReplaceAll(text, []byte(Namespace), []byte(namespace))
	var objects []*unstructured.Unstructured
	for documents := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text)); ; {
		object := &unstructured.Unstructured{}
		switch err := documents.Decode(object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(object.Object) > 0:
			objects = append(objects, object)
		}
	}
}

// Write writes objects as the documents of one YAML file.
func Write(w io.Writer, objects []*unstructured.Unstructured) error {
	for _, object := range objects {
		text, err := yaml.Marshal(object.Object)
		if err != nil {
			return fmt.Errorf("encode %s %s: %w", object.GetKind(), object.GetName(), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", text); err != nil {
			return fmt.Errorf("write manifests: %w", err)
		}
	}
	return nil
}
