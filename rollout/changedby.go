package rollout

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// changedByAnnotation holds, beside the digest of a stripped Deployment, who else has written it.
const changedByAnnotation = v1alpha1.Prefix + "changed-by"

// changedBy names the field manager that has written a Deployment since we did, and when; empty if none is
// known. Nobody is recorded as the owner of a removed field, so it may well be empty.
func changedBy(d *appsv1.Deployment) string {
	if isStripped(&d.Spec.Template) {
		return d.Spec.Template.Annotations[changedByAnnotation]
	}
	var ours, last *metav1.ManagedFieldsEntry
	for i := range d.ManagedFields {
		switch entry := &d.ManagedFields[i]; {
		case entry.Subresource != "" || entry.Time == nil:
		case entry.Manager == v1alpha1.OwnerRollout:
			ours = entry
		case last == nil || last.Time.Before(entry.Time):
			last = entry
		}
	}
	if ours == nil || last == nil || last.Time.Before(ours.Time) {
		return ""
	}
	return last.Manager + " at " + last.Time.UTC().Format(time.RFC3339)
}
