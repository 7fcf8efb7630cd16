package rollout

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// hashAnnotation holds, beside the digest, the name of the version that the native controller gives
// the template of a stripped workload: for a Deployment, the pod template hash. A ReplicaSet has
// its own as a label.
const hashAnnotation = v1alpha1.Prefix + "pod-template-hash"

// Strip returns a cache transform. It replaces the pod template of workloads and ReplicaSets, which
// is most of their size, by an empty one with the digest as an annotation, and for workloads the
// name of the version. It also removes unused fields. Code that needs the template of a cached
// object reads it live.
func Strip(obj any) (any, error) {
	object, ok := obj.(client.Object)
	if !ok { // a tombstone of the informer
		return obj, nil
	}
	if set, ok := obj.(*appsv1.ReplicaSet); ok {
		set.ManagedFields = nil
		return set, strip(&set.Spec.Template)
	}
	w, err := workload.Of(object)
	if err != nil {
		return nil, err
	}
	template := w.PodTemplate()
	if isStripped(template) { // it may be in readers' hands
		return obj, nil
	}
	changed := changedBy(w)
	w.SetManagedFields(nil)
	if annotations := w.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		annotations[corev1.LastAppliedConfigAnnotation] = "" // a patch relies on whether there are any on the server
	}
	w.Trim()
	name := w.Foretell()
	if err := strip(template); err != nil {
		return obj, err
	}
	template.Annotations[hashAnnotation] = name
	if changed != "" {
		template.Annotations[changedByAnnotation] = changed
	}
	return obj, nil
}

// StripService returns a cache transform: of a Service that is not a release's it leaves what tells
// it apart, and what its sides copy.
func StripService(obj any) (any, error) {
	service, ok := obj.(*corev1.Service)
	if !ok { // a tombstone of the informer
		return obj, nil
	}
	if service.ManagedFields != nil { // what was stripped before may be in readers' hands: it is not touched
		service.ManagedFields = nil
	}
	if owner := metav1.GetControllerOf(service); owner != nil && owner.Kind == "BatchRelease" {
		return service, nil
	}
	if service.Labels != nil || service.Annotations != nil {
		service.Labels, service.Annotations = nil, nil
	}
	if status := &service.Status; status.LoadBalancer.Ingress != nil || status.Conditions != nil {
		*status = corev1.ServiceStatus{}
	}
	return service, nil
}

// strip does nothing to a stripped template: a transform may get an object twice.
func strip(template *corev1.PodTemplateSpec) error {
	if isStripped(template) {
		return nil
	}
	digest, err := podtemplate.Digest(template)
	if err != nil {
		return fmt.Errorf("digest of pod template: %w", err)
	}
	*template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.DigestAnnotation: digest}}}
	return nil
}

// isStripped reports whether the template was taken out: the API server takes none without a
// container.
func isStripped(template *corev1.PodTemplateSpec) bool { return len(template.Spec.Containers) == 0 }

func digestOfWorkload(w workload.Workload) string { return digestOf(w.PodTemplate()) }

func digestOfSet(set *appsv1.ReplicaSet) string { return digestOf(&set.Spec.Template) }

// digestOf returns the digest of a template, stripped or not. A template always encodes, so that an
// error can't happen here; the empty digest equals no other.
func digestOf(template *corev1.PodTemplateSpec) string {
	if isStripped(template) {
		return template.Annotations[v1alpha1.DigestAnnotation]
	}
	digest, _ := podtemplate.Digest(template)
	return digest
}

// foretold returns the name that the native controller gives the version that a workload's template
// has.
func foretold(w workload.Workload) string {
	if template := w.PodTemplate(); isStripped(template) {
		return template.Annotations[hashAnnotation]
	}
	return w.Foretell()
}
