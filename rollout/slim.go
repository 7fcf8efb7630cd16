package rollout

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

type intOrString = intstr.IntOrString

// hashAnnotation holds the pod template hash of a slim Deployment. It is in the cache only.
const hashAnnotation = v1alpha1.Prefix + "pod-template-hash"

// Slim is a cache transform: it puts digest and hash in the place of the pod template of
// Deployments and ReplicaSets, which is most of their size, and takes off what nobody reads. Whoever needs the template of a cached object reads it live.
func Slim(obj any) (any, error) {
	if meta, ok := obj.(metav1.Object); ok {
		meta.SetManagedFields(nil)
		delete(meta.GetAnnotations(), corev1.LastAppliedConfigAnnotation)
	}
	switch o := obj.(type) {
	case *appsv1.Deployment:
		return o, slimDeployment(o)
	case *appsv1.ReplicaSet:
		return o, slimSet(o)
	}
	return obj, nil
}

func slimDeployment(d *appsv1.Deployment) error {
	if isSlim(&d.Spec.Template) {
		return nil
	}
	digest, err := podtemplate.Digest(&d.Spec.Template)
	if err != nil {
		return fmt.Errorf("digest of Deployment %s: %w", client.ObjectKeyFromObject(d), err)
	}
	hash := podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, v1alpha1.DigestAnnotation, digest)
	metav1.SetMetaDataAnnotation(&d.ObjectMeta, hashAnnotation, hash)
	delete(d.Annotations, corev1.LastAppliedConfigAnnotation)
	d.Spec.Template = corev1.PodTemplateSpec{}
	return nil
}

func slimSet(set *appsv1.ReplicaSet) error {
	if isSlim(&set.Spec.Template) {
		return nil
	}
	digest, err := podtemplate.Digest(&set.Spec.Template)
	if err != nil {
		return fmt.Errorf("digest of ReplicaSet %s: %w", client.ObjectKeyFromObject(set), err)
	}
	metav1.SetMetaDataAnnotation(&set.ObjectMeta, v1alpha1.DigestAnnotation, digest)
	set.Spec.Template = corev1.PodTemplateSpec{}
	return nil
}

// isSlim reports whether the template was taken out: the API server takes none without a container.
func isSlim(template *corev1.PodTemplateSpec) bool { return len(template.Spec.Containers) == 0 }

// digestOfDeployment is the digest of its template. A template always encodes, so that an
// error can't happen here; the empty digest equals no other.
func digestOfDeployment(d *appsv1.Deployment) string {
	return digestOf(d, &d.Spec.Template)
}

func digestOfSet(set *appsv1.ReplicaSet) string { return digestOf(set, &set.Spec.Template) }

func digestOf(obj metav1.Object, template *corev1.PodTemplateSpec) string {
	if isSlim(template) {
		return obj.GetAnnotations()[v1alpha1.DigestAnnotation]
	}
	digest, _ := podtemplate.Digest(template)
	return digest
}

func hashOfDeployment(d *appsv1.Deployment) string {
	if isSlim(&d.Spec.Template) {
		return d.Annotations[hashAnnotation]
	}
	return podtemplate.Hash(&d.Spec.Template, d.Status.CollisionCount)
}
