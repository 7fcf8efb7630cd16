package rollout

import (
	"encoding/json"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// What is read or written whole is read and written as JSON: a pod template keeps the fields that
// are newer than our Go types. Where a template is copied (to a ReplicaSet, to a
// ControllerRevision, back to the workload) it is copied whole.

// wholeTemplate is the pod template of one generation of the workload as the API server has it.
type wholeTemplate struct {
	uid        types.UID
	generation int64
	raw        json.RawMessage
}

// of returns the template if it is that of a workload, and none otherwise: that of another
// generation is of no use any more, and there is one for each release.
func (t wholeTemplate) of(w workload.Workload) wholeTemplate {
	if w == nil || w.GetUID() != t.uid || w.GetGeneration() != t.generation {
		return wholeTemplate{}
	}
	return t
}

// untyped returns an object of apps/v1 without its Go type.
func untyped(kind string, name client.ObjectKey) *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(kind))
	object.SetNamespace(name.Namespace)
	object.SetName(name.Name)
	return object
}

func (v *view) untypedWorkload() *unstructured.Unstructured {
	return untyped(v.release.Spec.WorkloadRef.Kind, v.workloadName())
}

// typed reads an object into its Go type.
func typed(object *unstructured.Unstructured, into metav1.Object) error {
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into); err != nil {
		return fmt.Errorf("read %s %s: %w", object.GetKind(), object.GetName(), err)
	}
	return nil
}

// sawWhole takes over what a read of, or a write to, the workload answered.
func (v *view) sawWhole(object *unstructured.Unstructured) error {
	w, template, err := whole(object)
	if err != nil {
		return err
	}
	v.process.workload.Saw(w.Object())
	v.process.whole = wholeTemplate{w.GetUID(), w.GetGeneration(), template}
	v.workload = w
	v.facts.Live |= plan.ReadWorkload
	return nil
}

// whole returns a workload in its Go type, and its pod template as it came.
func whole(object *unstructured.Unstructured) (workload.Workload, json.RawMessage, error) {
	w := workload.New(object.GetKind())
	if w == nil {
		return nil, nil, fmt.Errorf("a %s can't be released", object.GetKind())
	}
	if err := typed(object, w.Object()); err != nil {
		return nil, nil, err
	}
	managed := w.GetManagedFields()
	for i := range managed { // who wrote when is read, what they wrote is not, and is large
		managed[i].FieldsV1 = nil
	}
	template, err := hold.TemplateIn(object)
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(template)
	if err != nil {
		return nil, nil, fmt.Errorf("encode pod template: %w", err)
	}
	return w, raw, nil
}

// wholeTemplate returns the pod template of the workload as the view has it, nil if that is not
// known.
func (v *view) wholeTemplate() json.RawMessage {
	return v.process.whole.of(v.workload).raw
}

// withTemplate returns an object of ours with a pod template in place of its own, whole but for the
// labels.
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

// overlooks says which fields of a template we would not see a change of: it is another one than
// the workload's, in nothing that our types know.
func overlooks(given, present json.RawMessage) (string, error) {
	wanted, err := podtemplate.Unknown(given)
	if err != nil {
		return "", err
	}
	is, err := podtemplate.Unknown(present)
	if err != nil || wanted == is {
		return "", err
	}
	return fmt.Sprintf("fields that this version of Sluice does not know are %s in spec.template, and %s in the workload", orNothing(wanted), orNothing(is)), nil
}

func orNothing(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
