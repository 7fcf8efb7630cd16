package hold

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TemplateIn returns the pod template of an object, with fields that are newer than our Go types.
func TemplateIn(object *unstructured.Unstructured) (map[string]any, error) {
	template, _, err := unstructured.NestedMap(object.Object, "spec", "template")
	if err != nil {
		return nil, fmt.Errorf("read pod template of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return template, nil
}

// TemplateOfSet returns the pod template of a ReplicaSet without the hash label, which the native
// controller adds. A copy to a workload must keep fields that are newer than our Go types: without
// them it would be another template, and replace all pods.
func TemplateOfSet(set *unstructured.Unstructured) (json.RawMessage, error) {
	template, err := TemplateIn(set)
	if err != nil {
		return nil, err
	}
	unstructured.RemoveNestedField(template, "metadata", "labels", appsv1.DefaultDeploymentUniqueLabelKey)
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, fmt.Errorf("encode pod template: %w", err)
	}
	return raw, nil
}
