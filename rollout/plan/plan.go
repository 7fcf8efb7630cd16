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
	// StatusFirst says that the status is an intent that must be durable before anything else.
	StatusFirst bool
	// Needs is what must be observed before the release can go on. Actions come first.
	Needs Needs
	// Wake is after how long to look again though nothing has changed; 0 is never.
	Wake time.Duration
	// Events are to be published once Status is written.
	Events []Event
}

// Needs is what to observe before asking again.
type Needs struct {
	// Release, Workload, Sets, Gates, Kept ask for a live read of these.
	Release, Workload, Sets, Gates, Kept bool
	// Pods asks for the pods of the ReplicaSets.
	Pods bool
	// Resolve asks what the API server makes of a template.
	Resolve *Template
	// Failing asks what is wrong with the updated pods.
	Failing bool
	// Drift asks how the workload's template differs from this one.
	Drift *Template
	// Preflight asks what in the namespace stands against a release.
	Preflight *Shape
}

// Any reports whether anything is needed.
func (n Needs) Any() bool { return n != Needs{} }

// Event tells people what happened.
type Event struct {
	Warning         bool
	Reason, Message string
}

// Next decides what a release does next. It never fails: what a user must mend is in the status.
func Next(o Observation) Plan {
	p := newPass(o)
	for _, rule := range rules {
		if rule(p) {
			break
		}
	}
	return p.plan()
}

// A rule looks at one side of the release. It reports whether the pass ends with it.
type rule func(*pass) bool

// The rules in the order in which they are asked.
var rules = []rule{
	(*pass).leave,
	(*pass).missWorkload,
	(*pass).meetWorkload,
	(*pass).yieldToHolder,
	(*pass).putBack,
	(*pass).answerRollback,
	(*pass).refuseStrategy,
	(*pass).answerRetry,
	(*pass).chooseTemplate,
	(*pass).answerJump,
	(*pass).rest,
	(*pass).arrive,
	(*pass).hold,
	(*pass).roll,
}

// pass is one run of the rules. Only its own status is ever changed.
type pass struct {
	Observation
	status v1alpha1.BatchReleaseStatus
	out    Plan
	// target is how many pods are to run the update revision, for the present spec.replicas.
	target int32
	// empty says that the workload has the stable template because it was scaled to 0. Workload is then as it is meant to be.
	empty bool
	// blocked says that the step waits for a gate.
	blocked bool
	// refused is the first write of the pass that is left out because it is known to be refused.
	refused *Refusal
	// stalled is why the release can't go on until somebody changes something.
	stalled *Event
	// invalid stops a release whose steps can't be read.
	invalid *stop
	// handingBack says that the steps can't be read and are behind the release.
	handingBack bool
	// pastGit says that spec.template is not Git's, and counts as not given.
	pastGit bool
	// seconds is Now in whole seconds, once somebody has asked for it.
	seconds metav1.Time
}

func newPass(o Observation) *pass {
	p := &pass{Observation: o, status: *o.Release.Status.DeepCopy()}
	p.status.ObservedGeneration = o.Release.Generation
	if pastGit(&o) {
		p.pastGit, p.Given, p.Resolved = true, "", nil
	}
	if p.anotherWorkload() && o.Workload.Live {
		p.forgetWorkload()
	}
	if meant := p.emptied(); meant != nil {
		p.Workload, p.empty = meant, true
	}
	return p
}

// anotherWorkload reports whether the workload is not the one that the status speaks of.
func (p *pass) anotherWorkload() bool {
	return p.Workload != nil && p.status.WorkloadUID != "" && p.status.WorkloadUID != p.Workload.UID
}

// forgetWorkload starts over: the workload of this name is another one now. What was told to a forge is
// not ours to forget.
func (p *pass) forgetWorkload() {
	p.status = v1alpha1.BatchReleaseStatus{
		Attempt:            p.status.Attempt,
		Quarantined:        p.status.Quarantined,
		Rollback:           p.status.Rollback,
		Conditions:         p.status.Conditions,
		ObservedGeneration: p.status.ObservedGeneration,
		Ended:              p.status.Ended,
		Superseded:         p.status.Superseded,
		Report:             p.status.Report,
		Refusal:            p.status.Refusal,
		Revert:             p.status.Revert,
	}
}

// wakeAt asks to look again at a time.
func (p *pass) wakeAt(t time.Time) {
	wait := max(t.Sub(p.Now), time.Millisecond)
	if p.out.Wake == 0 || wait < p.out.Wake {
		p.out.Wake = wait
	}
}

// say sets reason and message of the status.
func (p *pass) say(reason, message string) {
	p.status.Reason, p.status.Message = reason, message
}

// stall says that only a change can help.
func (p *pass) stall(reason, message string) {
	p.stalled = &Event{Warning: true, Reason: reason, Message: message}
}

func (p *pass) plan() Plan {
	before := &p.Release.Status
	p.status.Message = withoutNext(p.status.Message)
	p.tellRefusal()
	p.boundTexts()
	p.sayNext()
	p.setConditions()
	if p.status.Phase != before.Phase || p.status.CurrentStepIndex != before.CurrentStepIndex ||
		p.status.CurrentStepState != before.CurrentStepState {
		p.status.LastUpdateTime = p.now()
	}
	p.out.Status = p.status
	p.out.Events = append(p.out.Events, p.announce(before)...)
	return p.out
}

// Urgent reports whether next tells people something that before does not, counts and
// progress aside: such a status must not wait.
func Urgent(before, next *v1alpha1.BatchReleaseStatus) bool {
	return !equality.Semantic.DeepEqual(withoutCounts(before), withoutCounts(next))
}

func withoutCounts(status *v1alpha1.BatchReleaseStatus) *v1alpha1.BatchReleaseStatus {
	bare := *status
	bare.UpdatedReplicas, bare.UpdatedReadyReplicas, bare.UpdatedAvailableReplicas = 0, 0, 0
	bare.ReadyReplicas, bare.AvailableReplicas, bare.UnavailableReplicas = 0, 0, 0
	bare.Progress, bare.LastUpdateTime = nil, nil
	bare.Conditions = slices.DeleteFunc(slices.Clone(bare.Conditions), func(c metav1.Condition) bool {
		return c.Type == v1alpha1.ConditionAvailable
	})
	return &bare
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }
