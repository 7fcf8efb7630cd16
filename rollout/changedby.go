package rollout

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// changedByAnnotation holds, beside the digest of a stripped workload, who else has written it.
const changedByAnnotation = v1alpha1.Prefix + "changed-by"

// changedBy names the field manager that has written a workload since we did, and when; empty if
// none is known. The API server records no owner for a removed field, so the name may be missing.
func changedBy(w workload.Workload) string {
	if template := w.PodTemplate(); isStripped(template) {
		return template.Annotations[changedByAnnotation]
	}
	var ours, last *metav1.ManagedFieldsEntry
	managed := w.GetManagedFields()
	for i := range managed {
		switch entry := &managed[i]; {
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
