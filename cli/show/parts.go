package show

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Sight is a release as far as somebody may see it.
type Sight struct {
	*Whole

	// Kept are the templates in its history.
	Kept []appsv1.ControllerRevision
	// Hidden says what is missing: what the user may not read, in the words of the API server, and what
	// is too large.
	Hidden []string
}

// StateOf returns the state of a release at a glance.
func StateOf(release *v1alpha1.BatchRelease) State { return releaseState(release) }

// CommitOf returns the author and the subject of the released commit, if the release still has
// them.
func CommitOf(release *v1alpha1.BatchRelease) (author, subject string) { return commitWords(release) }

// BatchState returns the state of a step of a release, counted from 0.
func BatchState(release *v1alpha1.BatchRelease, step int) State { return batchState(release, step) }

// PodState returns the state of a pod, and the reason in a few words.
func PodState(pod *corev1.Pod) (State, string) {
	node := podNode(pod)
	return node.State, podText(pod)
}

// OpenGates returns the gates after a step, counted from 0, in the current attempt, in their order.
func OpenGates(w *Whole, step int) []v1alpha1.Gate {
	status := &w.Release.Status
	var gates []v1alpha1.Gate
	for _, gate := range w.Gates {
		ours := gate.Spec.ReleaseRef.UID == w.Release.UID && gate.Spec.Attempt == status.Attempt
		if ours && gate.Spec.Revision == status.UpdateRevision && int(gate.Spec.Step) == step {
			gates = append(gates, gate)
		}
	}
	slices.SortFunc(gates, func(a, b v1alpha1.Gate) int { return cmp.Compare(a.Spec.Index, b.Spec.Index) })
	return gates
}

// Version is a template of a workload that has pods or is being released, with its pods.
type Version struct {
	Revision string
	// Role is what the version is to the release: new, stable, old.
	Role   string
	New    bool
	Images string
	Pods   []corev1.Pod
}

// Versions returns the versions of a workload that have pods or are part of the release, the new
// one first.
func Versions(w *Whole) []Version {
	if w.Workload == nil {
		return nil
	}
	roles, images, owned := versionsOf(w)
	var versions []Version
	for revision, r := range roles {
		own := owned[revision]
		if len(own) == 0 && r == roleOld {
			continue
		}
		versions = append(versions, Version{
			Revision: revision, Role: r.word(w.Release), New: r == roleNew, Images: images[revision], Pods: own,
		})
	}
	slices.SortFunc(versions, func(a, b Version) int {
		return cmp.Or(cmp.Compare(roles[a.Revision], roles[b.Revision]), cmp.Compare(a.Revision, b.Revision))
	})
	return versions
}

// versionsOf returns the role in the release, the images and the pods of each version.
func versionsOf(w *Whole) (roles map[string]role, images map[string]string, owned map[string][]corev1.Pod) {
	roles, images = map[string]role{}, map[string]string{}
	if len(w.Sets) == 0 {
		newest := newestOf(w.Revisions)
		for i := range w.Revisions {
			record := &w.Revisions[i]
			revision := hashOf(record.Name)
			roles[revision], images[revision] = w.role(revision, record.Name == newest), recordImages(record)
		}
		return roles, images, podsByHash(w)
	}
	owned = map[string][]corev1.Pod{}
	for i := range w.Sets {
		set := &w.Sets[i]
		revision := revisionOf(set)
		roles[revision], images[revision] = setRole(set, w), templateImages(&set.Spec.Template)
		for _, pod := range w.Pods {
			if metav1.IsControlledBy(&pod, set) {
				owned[revision] = append(owned[revision], pod)
			}
		}
	}
	return roles, images, owned
}

// ImagesOf returns the images of a pod template as JSON, separated by commas.
func ImagesOf(raw []byte) string { return imagesOf(raw) }
