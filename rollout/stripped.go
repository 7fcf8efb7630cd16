package rollout

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// hashAnnotation holds, beside the digest, the pod template hash of a stripped Deployment.
const hashAnnotation = v1alpha1.Prefix + "pod-template-hash"

// formerAnnotation holds the digest that the template had by the former rule, if that is another one.
const formerAnnotation = v1alpha1.Prefix + "former-template-digest"

// Strip is a cache transform: of the pod template of Deployments and ReplicaSets, which is most
// of their size, it leaves digest and hash, as annotations of an otherwise empty template. It
// also takes off what nobody reads. Whoever needs the template of a cached object reads it live.
func Strip(obj any) (any, error) {
	changed := ""
	if d, ok := obj.(*appsv1.Deployment); ok {
		changed = changedBy(d)
	}
	if meta, ok := obj.(metav1.Object); ok && meta.GetManagedFields() != nil {
		meta.SetManagedFields(nil)
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		delete(o.Annotations, corev1.LastAppliedConfigAnnotation)
		err := strip(&o.Spec.Template, o.Status.CollisionCount)
		if err == nil && changed != "" {
			o.Spec.Template.Annotations[changedByAnnotation] = changed
		}
		return o, err
	case *appsv1.ReplicaSet:
		return o, strip(&o.Spec.Template, nil)
	}
	return obj, nil
}

// strip is a no-op on a template that is stripped already: a transform may meet an object twice.
func strip(template *corev1.PodTemplateSpec, collisions *int32) error {
	if isStripped(template) {
		return nil
	}
	digest, err := podtemplate.Digest(template)
	if err != nil {
		return fmt.Errorf("digest of pod template: %w", err)
	}
	marks := map[string]string{
		v1alpha1.DigestAnnotation: digest,
		hashAnnotation:            podtemplate.Hash(template, collisions),
	}
	if former := formerDigest(template); former != digest {
		marks[formerAnnotation] = former
	}
	*template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: marks}}
	return nil
}

// isStripped reports whether the template was taken out: the API server takes none without a container.
func isStripped(template *corev1.PodTemplateSpec) bool { return len(template.Spec.Containers) == 0 }

func digestOfDeployment(d *appsv1.Deployment) string { return digestOf(&d.Spec.Template) }

func digestOfSet(set *appsv1.ReplicaSet) string { return digestOf(&set.Spec.Template) }

// digestOf is the digest of a template, stripped or not. A template always encodes, so that an
// error can't happen here; the empty digest equals no other.
func digestOf(template *corev1.PodTemplateSpec) string {
	if isStripped(template) {
		return template.Annotations[v1alpha1.DigestAnnotation]
	}
	digest, _ := podtemplate.Digest(template)
	return digest
}

func hashOfDeployment(d *appsv1.Deployment) string {
	if isStripped(&d.Spec.Template) {
		return d.Spec.Template.Annotations[hashAnnotation]
	}
	return podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
}
