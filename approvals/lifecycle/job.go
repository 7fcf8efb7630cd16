package lifecycle

import (
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// JobIntent is one thing to do for a job gate: CreateJob, KeepJob, StartJob, RecordJobGate or
// RetireJob.
//
//sumtype:decl
type JobIntent interface{ jobIntent() }

type (
	// CreateJob creates the Job of the gate, suspended.
	CreateJob struct{ Job *unstructured.Unstructured }
	// KeepJob records the Job on the gate, before it runs, and what the gate waits for.
	KeepJob struct {
		Job    v1alpha1.JobReference
		Status v1alpha1.GateStatus
	}
	// StartJob lets the Job run that is on record.
	StartJob struct{ Job *batchv1.Job }
	// RecordJobGate writes a decision. The record of the Job stays.
	RecordJobGate struct{ Status v1alpha1.GateStatus }
	// RetireJob lets the Job be deleted some time after its end: the gate is decided.
	RetireJob struct {
		Job     *batchv1.Job
		Seconds int32
	}
)

func (CreateJob) jobIntent()     {}
func (KeepJob) jobIntent()       {}
func (StartJob) jobIntent()      {}
func (RecordJobGate) jobIntent() {}
func (RetireJob) jobIntent()     {}

// NextOfJob returns the intents for a job gate, in the order to carry them out. The Job is on
// record before it runs, so that no crash makes it run twice.
func NextOfJob(g *v1alpha1.Gate, facts GateFacts) []JobIntent {
	job := jobOf(g, facts)
	if gate.Decided(g) {
		if job != nil && job.Spec.TTLSecondsAfterFinished == nil && job.DeletionTimestamp == nil {
			return []JobIntent{RetireJob{job, gate.JobKeptSeconds(g)}}
		}
		return nil
	}
	var next []JobIntent
	for _, intent := range judged(g, facts) {
		if record, is := intent.(RecordGate); is {
			next = append(next, RecordJobGate(record))
		}
	}
	if facts.Decision == nil || facts.Job == nil || facts.Job.Problem != "" || facts.Decision.Status.Decision != v1alpha1.DecisionWaiting ||
		!gate.RunsJob(g, facts.Release) {
		return next
	}
	switch {
	case facts.Job.Job == nil:
		return append(next, CreateJob{gate.JobOf(g)})
	case job == nil: // another's
		return next
	case g.Status.Job == nil:
		return []JobIntent{KeepJob{v1alpha1.JobReference{Name: job.Name, UID: job.UID}, Fit(facts.Decision.Status)}}
	case job.Spec.Suspend != nil && *job.Spec.Suspend && job.DeletionTimestamp == nil:
		return append(next, StartJob{job})
	}
	return next
}

// jobOf returns the Job that runs for a gate; nil if it is not known, or another's.
func jobOf(g *v1alpha1.Gate, facts GateFacts) *batchv1.Job {
	if facts.Job == nil || facts.Job.Job == nil || facts.Job.Another || !gate.RunsFor(facts.Job.Job, g) {
		return nil
	}
	return facts.Job.Job
}
