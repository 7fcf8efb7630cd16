package plan

import (
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Plan holds the next actions of a release, with its status.
type Plan struct {
	// Actions are carried out in their order; the first that fails ends the pass.
	Actions []Action
	// Status is the whole new status. It holds once the actions are done.
	Status v1alpha1.BatchReleaseStatus
	// StatusFirst marks a status that must be durable before anything else, except Records:
	// entries of the history that must survive a lost status.
	StatusFirst bool
	Records     []Action
	// Needs must be observed before the release can go on. Actions come first.
	Needs Needs
	// Wakes list when to decide again though nothing has changed, the earliest first.
	Wakes []Wake
	// Timed is for how long from now the release only waits for a time that it sets itself: that
	// is no lack of progress.
	Timed time.Duration
	// PodLooks is for the next Observation of the same process.
	PodLooks PodLooks
	// Events are published once Status is written.
	Events []Event
}

// Wake returns after how long to decide again though nothing has changed; 0 is never.
func (p Plan) Wake() time.Duration { return First(p.Wakes).After }

// Event is a Kubernetes Event to publish.
type Event struct {
	Warning bool
	// Quiet marks an event for the log alone: it costs no request.
	Quiet           bool
	Reason, Message string
}

// Urgent reports whether next differs from before in more than counts and progress: such a status
// must not wait.
func Urgent(before, next *v1alpha1.BatchReleaseStatus) bool {
	a, b := withoutCounts(before), withoutCounts(next)
	if sameProblem(before, next) {
		a, b = withoutMessages(a), withoutMessages(b)
	}
	if pods, requests := v1alpha1.StateRolling, v1alpha1.StateShifting; a.State == pods && b.State == requests || a.State == requests && b.State == pods {
		a, b = withoutWords(a), withoutWords(b) // which of a step's is waited for changes within seconds
	}
	if goes := a.State == v1alpha1.StateRolling || a.State == v1alpha1.StateFinishing; goes && a.State == b.State && a.Run != nil && b.Run != nil {
		a, b = withoutMembers(a), withoutMembers(b)
	}
	return !equality.Semantic.DeepEqual(a, b)
}

// withoutMembers returns the status of a train without what counts its members and their pods.
func withoutMembers(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := withoutMessages(status)
	bare.Replicas, bare.TargetReplicas = 0, 0
	return bare
}

// withoutWords returns a status without its state, reasons and messages.
func withoutWords(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := withoutMessages(status)
	bare.State, bare.Reason = "", ""
	for i := range bare.Conditions {
		bare.Conditions[i].Reason = ""
	}
	return bare
}

// withoutMessages returns a status without its messages.
func withoutMessages(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := *status
	bare.Message, bare.Conditions = "", slices.Clone(bare.Conditions)
	for i := range bare.Conditions {
		bare.Conditions[i].Message = ""
	}
	return &bare
}

// sameProblem reports whether two statuses say that a Gateway does not accept the same route. Their
// messages quote the Gateway, which may use other words each time. In other problems other words
// say what is wrong now.
func sameProblem(before, next *v1alpha1.BatchReleaseStatus) bool {
	a, b := urgentTraffic(before.Traffic), urgentTraffic(next.Traffic)
	return a != nil && b != nil && a.Problem != nil && b.Problem != nil && *a.Problem == *b.Problem && a.Problem.Type == v1alpha1.TrafficNotAccepted &&
		before.StalledBy == v1alpha1.StallTrafficBlocked && next.StalledBy == v1alpha1.StallTrafficBlocked
}

// OnlyHandsBack reports whether the only change is the hand-back of the workload: no gate has
// passed, and no write is refused.
func OnlyHandsBack(before, next *v1alpha1.BatchReleaseStatus) bool {
	rolled := before.Phase == v1alpha1.PhaseRollingUpdate || before.Phase == v1alpha1.PhaseRollingBack
	return rolled && next.Phase == v1alpha1.PhaseFinalizing && before.Attempt == next.Attempt &&
		len(before.Gates) == 0 && slices.Equal(before.Forced, next.Forced) && next.RefusedWrite == nil
}

// OnlyEnters reports whether the only change, apart from counts, is that the release has left steps
// without gates, and no route shares its requests. A plan that finds the pods of the later step
// beside the earlier status enters it again (reach).
func OnlyEnters(before, next *v1alpha1.BatchReleaseStatus) bool {
	rolls := before.Phase == v1alpha1.PhaseRollingUpdate || before.Phase == v1alpha1.PhaseRollingBack
	on := before.Attempt == next.Attempt && before.CurrentStepIndex < next.CurrentStepIndex
	if !rolls || !on || len(before.Gates) > 0 || before.Traffic != nil || next.Traffic != nil {
		return false
	}
	return equality.Semantic.DeepEqual(withoutStep(before), withoutStep(next))
}

// withoutStep returns a status without counts, messages, and what tells its step from others.
func withoutStep(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := withoutMessages(withoutCounts(status))
	bare.CurrentStepIndex, bare.Batch, bare.TargetReplicas, bare.EnteredStep, bare.StepStartedAt = 0, "", 0, nil, nil
	return bare
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

// urgentTraffic returns the part of a traffic status that must not wait: the rest changes within
// seconds.
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
