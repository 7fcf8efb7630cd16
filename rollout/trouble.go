package rollout

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// mostLookedAt is how many pods are read at most to find out what is wrong with them: of more,
// these tell enough.
const mostLookedAt = 500

// readTrouble finds out what is wrong with the updated pods. It is for people alone: if it can't be
// read the release goes on, and looks again later.
func (r *observer) readTrouble(ctx context.Context, v *view) error {
	v.facts.Trouble = nil
	pods, err := v.parts().updatedPods(ctx, r.kinds, v)
	if err != nil {
		log.FromContext(ctx).V(1).Info("Cannot read the pods to find out what is wrong with them", "error", err.Error())
		return nil
	}
	found := troubleOf(slices.DeleteFunc(pods, func(pod *corev1.Pod) bool { return failedEarlier(v, pod) }))
	v.facts.Trouble = &found
	return nil
}

// failedEarlier reports whether a pod has failed that was made before the step began. A ReplicaSet
// leaves such a pod there for weeks, and it tells nothing about those of the step.
func failedEarlier(v *view, pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodFailed && pod.CreationTimestamp.Before(v.release.Status.StepStartedAt)
}

// updatedPods returns those of the updated ReplicaSet.
func (p replicaSets) updatedPods(ctx context.Context, r *kindShell, v *view) ([]*corev1.Pod, error) {
	set := v.setOf(digestOfWorkload(p.d))
	if set == nil {
		return nil, nil
	}
	selector, err := r.selector(ctx, v)
	if err != nil {
		return nil, err
	}
	options := []client.ListOption{client.InNamespace(v.release.Namespace), client.Limit(mostLookedAt), selector}
	if hash := set.Labels[appsv1.DefaultDeploymentUniqueLabelKey]; hash != "" {
		options = append(options, client.MatchingLabels{appsv1.DefaultDeploymentUniqueLabelKey: hash})
	}
	var list corev1.PodList
	if err := r.live.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("read pods: %w", err)
	}
	return pointers(podsOf(&list, set.UID)), nil
}

func (p ordinals) updatedPods(ctx context.Context, r *kindShell, v *view) ([]*corev1.Pod, error) {
	return r.pods.placedPods(ctx, v, p.s.Status.UpdateRevision)
}

func (p nodes) updatedPods(ctx context.Context, r *kindShell, v *view) ([]*corev1.Pod, error) {
	return r.pods.placedPods(ctx, v, p.name(v, digestOf(p.d.PodTemplate())))
}

// placedPods returns those of a revision that have places. They are watched: that costs no request.
func (r *podReader) placedPods(ctx context.Context, v *view, revision string) ([]*corev1.Pod, error) {
	if !v.pods.listed {
		if err := r.readPlaces(ctx, v); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(v.pods.pods), func(pod *corev1.Pod) bool {
		return revision == "" || pod.Labels[appsv1.ControllerRevisionHashLabelKey] != revision || v.pods.lost[nodeOf(pod)]
	}), nil
}

// ailment holds the problem of one pod.
type ailment struct {
	reason v1alpha1.PodTroubleReason
	text   string
}

// troubleOf returns what most of the pods that are in trouble have in common. Pods that failed have
// been replaced, and a ReplicaSet leaves them there: they tell something only where nothing is
// wrong with the others.
func troubleOf(pods []*corev1.Pod) plan.Trouble {
	var present, failed []ailment
	for _, pod := range pods {
		switch {
		case pod.DeletionTimestamp != nil || pod.Status.Phase == corev1.PodSucceeded:
		case pod.Status.Phase == corev1.PodFailed:
			failed = append(failed, replacedFor(pod))
		default:
			present = append(present, ailmentOf(pod))
		}
	}
	return cmp.Or(mostOf(present), mostOf(failed))
}

// mostOf returns the most frequent reason, and its most frequent text.
func mostOf(ailments []ailment) plan.Trouble {
	reasons, texts := map[v1alpha1.PodTroubleReason]int{}, map[ailment]int{}
	for _, a := range ailments {
		if a != (ailment{}) {
			reasons[a.reason]++
			texts[a]++
		}
	}
	if len(reasons) == 0 {
		return plan.Trouble{}
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(reasons)), func(a, b v1alpha1.PodTroubleReason) int {
		return cmp.Compare(reasons[a], reasons[b])
	})
	maps.DeleteFunc(texts, func(a ailment, _ int) bool { return a.reason != most })
	said := slices.MaxFunc(slices.Collect(maps.Keys(texts)), func(a, b ailment) int {
		return cmp.Or(cmp.Compare(texts[a], texts[b]), strings.Compare(b.text, a.text))
	})
	return plan.Trouble{Reason: most, Pods: int32(reasons[most]), Message: said.text}
}

// ailmentOf returns what keeps a pod from becoming available, if time alone does not help.
func ailmentOf(pod *corev1.Pod) ailment {
	if c := podCondition(pod, corev1.PodScheduled); c != nil && c.Status == corev1.ConditionFalse && c.Reason != corev1.PodReasonSchedulingGated {
		return ailment{v1alpha1.PodsUnschedulable, c.Message}
	}
	if c := podCondition(pod, corev1.PodReady); c != nil && c.Status == corev1.ConditionTrue {
		return ailment{}
	}
	var again ailment // of a container that runs again, which may be well: it counts where no other is worse
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		a := containerAilment(&status)
		if a != (ailment{}) && status.State.Running == nil {
			return a
		}
		again = cmp.Or(again, a)
	}
	return again
}

// replacedFor returns why a pod has failed that did not even start: a node has refused it, or
// evicted it at once. One that ran did start, and its replacement is checked like any other pod.
func replacedFor(pod *corev1.Pod) ailment {
	reason := word(pod.Status.Reason)
	if reason == "" || slices.ContainsFunc(slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses), hasRun) {
		return ailment{}
	}
	return ailment{v1alpha1.PodsCannotStart, reason}
}

func hasRun(status corev1.ContainerStatus) bool {
	ended := cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
	switch {
	case status.State.Running != nil:
		return true
	case ended == nil:
		return false
	case ended.Reason == endedUnseen && ended.ContainerID == "" && ended.StartedAt.IsZero() && status.RestartCount == 0:
		return false
	default:
		return !slices.Contains(notStarted, ended.Reason)
	}
}

// endedUnseen is the reason that the kubelet gives each container of a pod that it ends while it
// knows nothing of the container, also one that it has not made yet.
const endedUnseen = "ContainerStatusUnknown"

// Reasons for which a container waits, as the kubelet has them (pkg/kubelet/images and
// pkg/kubelet/container of Kubernetes).
var (
	starts      = []string{"", "ContainerCreating", "PodInitializing"}
	lacksImages = []string{
		"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError", "RegistryUnavailable",
		"SignatureValidationFailed",
	}
	// notStarted are the reasons of a container that ended before it ran, such as one whose command
	// does not exist.
	notStarted = []string{"StartError", "ContainerCannotRun"}
)

func containerAilment(status *corev1.ContainerStatus) ailment {
	reason, ended := "", cmp.Or(status.State.Terminated, status.LastTerminationState.Terminated)
	if waiting := status.State.Waiting; waiting != nil {
		reason = word(waiting.Reason)
	}
	switch {
	case ended != nil && !status.Ready && slices.Contains(notStarted, ended.Reason): // in turn with CrashLoopBackOff, and RunContainerError
		return ailment{v1alpha1.PodsCannotStart, endedWith(ended) + inContainer(status)}
	case slices.Contains(lacksImages, reason):
		return ailment{v1alpha1.PodsLackImage, reason + ": " + status.Image + inContainer(status)}
	case ended != nil && !status.Ready && (reason == "" || reason == "CrashLoopBackOff" || slices.Contains(starts, reason)):
		return ailment{v1alpha1.PodsCrash, strings.Join(slices.DeleteFunc([]string{reason, endedWith(ended)}, isEmpty), ": ") + inContainer(status)}
	case reason == "CrashLoopBackOff":
		return ailment{v1alpha1.PodsCrash, reason + inContainer(status)}
	case !slices.Contains(starts, reason):
		return ailment{v1alpha1.PodsCannotStart, reason + inContainer(status)}
	default:
		return ailment{}
	}
}

// endedWith says how a container ended, with the word for it if that says more than its exit code.
func endedWith(ended *corev1.ContainerStateTerminated) string {
	code := fmt.Sprintf("exit code %d", ended.ExitCode)
	if reason := word(ended.Reason); reason != "" && reason != "Error" && reason != "Completed" {
		return reason + ", " + code
	}
	return code
}

func inContainer(status *corev1.ContainerStatus) string { return " (container " + status.Name + ")" }

// longestWord is how much is shown of a word that a kubelet says, in bytes.
const longestWord = 60

func word(text string) string { return plain.UpTo(plain.Line(text), longestWord) }

func isEmpty(text string) bool { return text == "" }
