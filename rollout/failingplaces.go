package rollout

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/plain"
)

// failingPlaces holds the reasons why updated pods are not available in places that had other pods
// before.
type failingPlaces struct {
	// updated are the pods there are. They don't include those that are not gone yet, of either
	// version.
	updated []corev1.Pod
	// going names pods that are not gone yet, and broken those of the version before that are not
	// ready.
	going, broken []string
	// vacant is how many places have no pod.
	vacant int
	// ordered says that the native controller makes no pod before all others are ready.
	ordered bool
	// describe is the command that shows the events of the workload: its status does not say why pods
	// can't be created.
	describe string
}

// failingPods says what keeps the updated pods from being available, or from being created.
func (r *podReader) failingPods(ctx context.Context, v *view, ordered bool, updated func(*corev1.Pod) bool) (string, error) {
	selector, err := r.selector(ctx, v)
	if err != nil {
		return "", err
	}
	var list corev1.PodList
	if err := r.live.List(ctx, &list, client.InNamespace(v.release.Namespace), selector); err != nil {
		return "", fmt.Errorf("read pods: %w", err)
	}
	f := failingPlaces{
		ordered:  ordered,
		describe: fmt.Sprintf("'kubectl describe %s %s -n %s'", strings.ToLower(v.workload.Kind()), v.workload.GetName(), v.release.Namespace),
	}
	occupied := 0
	for i := range list.Items {
		pod := &list.Items[i]
		if !ownedBy(pod, v.workload.GetUID()) || v.pods.lost[nodeOf(pod)] {
			continue
		}
		occupied++
		switch {
		case !active(pod):
			f.going = append(f.going, pod.Name)
		case updated(pod):
			f.updated = append(f.updated, *pod)
		case complaintOf(pod) != "":
			f.broken = append(f.broken, pod.Name)
		}
	}
	f.vacant = max(int(v.parts().size(v))-occupied, 0)
	return f.String(), nil
}

func (f failingPlaces) String() string {
	if text := complaints(f.updated, len(f.updated)+len(f.going)+f.vacant, f.notCreated()); text != "" {
		return text
	}
	if n := len(f.broken); n > 0 {
		return fmt.Sprintf("waiting for %s of the previous version, not ready: %s", plain.Count(n, "pod"), names(f.broken))
	}
	return describeFailing(f.updated, len(f.updated), "")
}

// notCreated returns why pods are missing; empty if none are.
func (f failingPlaces) notCreated() string {
	var why []string
	if len(f.going) > 0 {
		why = append(why, names(f.going)+" not gone yet")
	}
	switch {
	case f.vacant == 0:
	case f.ordered && len(f.broken) > 0:
		why = append(why, "podManagementPolicy OrderedReady waits for "+names(f.broken))
	default:
		why = append(why, "see "+f.describe)
	}
	return strings.Join(why, ", ")
}

// names returns the first of so many.
func names(pods []string) string {
	slices.Sort(pods)
	text := strings.Join(pods[:min(len(pods), maxComplaints)], ", ")
	if more := len(pods) - maxComplaints; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
