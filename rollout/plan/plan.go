package plan

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Plan is what a release does next.
type Plan struct {
	// Actions are carried out in their order; the first that fails ends the pass.
	Actions []Action
	// Status is the whole new status. It holds once the actions are done.
	Status v1alpha1.BatchReleaseStatus
	// StatusFirst says that the status is an intent that must be durable before anything else, except Records: what the history
	// must have even if the status is lost.
	StatusFirst bool
	Records     []Action
	// Needs is what must be observed before the release can go on. Actions come first.
	Needs Needs
	// Wake is after how long to look again though nothing has changed; 0 is never.
	Wake time.Duration
	// Timed is for how long from now the release does no more than wait for a time that it says itself: that is no lack of progress.
	Timed time.Duration
	// PodLooks are for the next Observation of the same process.
	PodLooks PodLooks
	// Events are to be published once Status is written.
	Events []Event
}

// Event tells people what happened.
type Event struct {
	Warning bool
	// Quiet says that it is for the log alone: it costs no request.
	Quiet           bool
	Reason, Message string
}

// Urgent reports whether next tells people something that before does not, apart from counts and
// progress: such a status must not wait.
func Urgent(before, next *v1alpha1.BatchReleaseStatus) bool {
	a, b := withoutCounts(before), withoutCounts(next)
	if sameProblem(before, next) {
		a, b = withoutMessages(a), withoutMessages(b)
	}
	if pods, requests := v1alpha1.StateRolling, v1alpha1.StateShifting; a.State == pods && b.State == requests || a.State == requests && b.State == pods {
		a, b = withoutWords(a), withoutWords(b) // which of a step's is waited for changes within seconds
	}
	return !equality.Semantic.DeepEqual(a, b)
}

// withoutWords is a status without what says to people how a step goes on.
func withoutWords(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := withoutMessages(status)
	bare.State, bare.Reason = "", ""
	for i := range bare.Conditions {
		bare.Conditions[i].Reason = ""
	}
	return bare
}

// withoutMessages is a status without its sentences.
func withoutMessages(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := *status
	bare.Message, bare.Conditions = "", slices.Clone(bare.Conditions)
	for i := range bare.Conditions {
		bare.Conditions[i].Message = ""
	}
	return &bare
}

// sameProblem reports whether a status tells that a Gateway does not accept a route as one before it told. Its sentences quote the Gateway, which
// can say something else each time. In other problems other words say what is wrong now.
func sameProblem(before, next *v1alpha1.BatchReleaseStatus) bool {
	a, b := urgentTraffic(before.Traffic), urgentTraffic(next.Traffic)
	return a != nil && b != nil && a.Problem != nil && b.Problem != nil && *a.Problem == *b.Problem && a.Problem.Type == v1alpha1.TrafficNotAccepted &&
		before.StalledBy == v1alpha1.StallTrafficBlocked && next.StalledBy == v1alpha1.StallTrafficBlocked
}

// OnlyHandsBack reports whether a status tells no more than the one before but that the workload is handed back: not who has passed a gate,
// nor that a write is refused.
func OnlyHandsBack(before, next *v1alpha1.BatchReleaseStatus) bool {
	rolled := before.Phase == v1alpha1.PhaseRollingUpdate || before.Phase == v1alpha1.PhaseRollingBack
	return rolled && next.Phase == v1alpha1.PhaseFinalizing && before.Attempt == next.Attempt &&
		len(before.Gates) == 0 && slices.Equal(before.Forced, next.Forced) && next.RefusedWrite == nil
}

func withoutCounts(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := *status
	bare.UpdatedReplicas, bare.UpdatedReadyReplicas, bare.UpdatedAvailableReplicas = 0, 0, 0
	bare.ReadyReplicas, bare.AvailableReplicas, bare.UnavailableReplicas = 0, 0, 0
	bare.Progress, bare.LastUpdateTime, bare.Traffic = nil, nil, urgentTraffic(status.Traffic)
	bare.Conditions = slices.DeleteFunc(slices.Clone(bare.Conditions), func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionAvailable
	})
	return &bare
}

// urgentTraffic is what of the traffic must not wait: the rest changes within seconds.
func urgentTraffic(t *v1alpha1.TrafficStatus) *v1alpha1.TrafficStatus {
	if t == nil || t.Problem == nil && t.Ending == nil && !t.GaveUp {
		return nil
	}
	urgent := &v1alpha1.TrafficStatus{Ending: t.Ending, GaveUp: t.GaveUp}
	if t.Problem != nil {
		urgent.Problem = &v1alpha1.TrafficProblem{Type: t.Problem.Type, Object: t.Problem.Object}
	}
	return urgent
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
