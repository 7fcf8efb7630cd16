package rollout

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// What is read or written whole is read and written as JSON: a pod template keeps the fields that are newer than
// our Go types. Where a template is copied (to a ReplicaSet, to a ControllerRevision, back to the Deployment) it
// is copied whole.

// wholeTemplate is the pod template of one version of the Deployment as the API server has it.
type wholeTemplate struct {
	version string
	raw     json.RawMessage
}

// untyped is an object of apps/v1 without its Go type.
func untyped(kind string, name client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}

func untypedDeployment(name client.ObjectKey) *unstructured.Unstructured {
	return untyped("Deployment", name)
}

// typed reads an object into its Go type.
func typed(object *unstructured.Unstructured, into metav1.Object) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// templateIn is the pod template of an object.
func templateIn(object *unstructured.Unstructured) (map[string]any, error) {
	template, _, err := unstructured.NestedMap(object.Object, "spec", "template")
	if err != nil {
		return nil, fmt.Errorf("read pod template of %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return template, nil
}

// sawWhole takes over what a read of, or a write to, the Deployment answered.
func (v *view) sawWhole(object *unstructured.Unstructured) error {
	deployment, template, err := whole(object)
	if err != nil {
		return err
	}
	v.process.deployment.Saw(deployment)
	v.process.whole = wholeTemplate{deployment.ResourceVersion, template}
	v.deployment = deployment
	v.facts.Live |= plan.ReadWorkload
	return nil
}

// whole is a Deployment in its Go type, and its pod template as it came.
func whole(object *unstructured.Unstructured) (*appsv1.Deployment, json.RawMessage, error) {
	deployment := &appsv1.Deployment{}
	if err := typed(object, deployment); err != nil {
		return nil, nil, err
	}
	template, err := templateIn(object)
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, nil, fmt.Errorf("encode pod template: %w", err)
	}
	return deployment, raw, nil
}

// wholeTemplate is the pod template of the Deployment as the view has it, nil if that is not known.
func (v *view) wholeTemplate() json.RawMessage {
	if known := v.process.whole; v.deployment != nil && known.version == v.deployment.ResourceVersion {
		return known.raw
	}
	return nil
}

// withTemplate is an object of ours with a pod template in place of its own, whole but for the labels.
func withTemplate(object metav1.Object, template json.RawMessage, labels map[string]string) (*unstructured.Unstructured, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", object.GetName(), err)
	}
	into := untyped("ReplicaSet", client.ObjectKey{Namespace: object.GetNamespace(), Name: object.GetName()})
	kind := into.GroupVersionKind()
	into.Object = fields
	into.SetGroupVersionKind(kind)
	var all map[string]any
	if err := utiljson.Unmarshal(template, &all); err != nil { // whole numbers stay whole
		return nil, fmt.Errorf("read pod template: %w", err)
	}
	if err := unstructured.SetNestedStringMap(all, labels, "metadata", "labels"); err != nil {
		return nil, fmt.Errorf("label pod template: %w", err)
	}
	if err := unstructured.SetNestedMap(into.Object, all, "spec", "template"); err != nil {
		return nil, fmt.Errorf("set pod template: %w", err)
	}
	return into, nil
}

// overlooks says which fields of a template we would not see a change of: it is another one than the Deployment's,
// in nothing that our types know.
func overlooks(given, present json.RawMessage) (string, error) {
	wanted, err := podtemplate.Unknown(given)
	if err != nil {
		return "", err
	}
	is, err := podtemplate.Unknown(present)
	if err != nil || wanted == is {
		return "", err
	}
	return fmt.Sprintf("fields that this version of Sluice does not know are %s, and have been %s", orNothing(wanted), orNothing(is)), nil
}

func orNothing(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
