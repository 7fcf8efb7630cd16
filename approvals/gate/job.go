package gate

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// JobFacts holds the facts on the Job of a gate.
type JobFacts struct {
	// Job is the Job with the gate's name for it; nil if there is none.
	Job *batchv1.Job
	// Another says that the Job is not as the gate's is created, though the gate owns it: anyone who
	// may create Jobs can name an owner.
	Another bool
	// Log is the end of the log of the container that failed; empty if it could not be read.
	Log string
	// Problem says why Jobs can't be read or created; empty if they can.
	Problem string
	// Invalid says that the Problem is about this Job, and stays.
	Invalid bool
}

// checkJob passes when the Job that was created for the gate has succeeded. Only the Job whose UID
// is on record counts: until then it is suspended, so that a Job that can't be found any more has
// either never run, or is on record.
func checkJob(g *v1alpha1.Gate, facts Facts, now time.Time) Decision {
	seen, known := facts.Job, g.Status.Job
	switch {
	case seen == nil: // not read yet
		return unchanged(g)
	case !asksFor(facts.Release, g):
		return waiting("the release does not have this gate: its Job does not run", time.Time{})
	case seen.Problem != "" && seen.Invalid:
		return decided(v1alpha1.DecisionRejected, seen.Problem, now)
	case seen.Problem != "":
		return waiting(seen.Problem, time.Time{})
	case known != nil && (seen.Job == nil || seen.Job.UID != known.UID):
		return deletedJob(known.Name, now)
	case seen.Job == nil:
		return waiting("creates Job "+JobName(g), time.Time{})
	case !RunsFor(seen.Job, g) || seen.Another:
		return waiting(fmt.Sprintf("Job %s exists and is not of this gate: delete it, and Sluice creates its own", seen.Job.Name), now.Add(foreignAgain))
	case known == nil:
		return waiting("starts Job "+seen.Job.Name, time.Time{})
	}
	return checkEnd(seen, now)
}

// asksFor reports whether a release has the policy of a gate in its place. A user who may create
// Gates, and not Jobs, runs no other Job than one of the release.
func asksFor(release *v1alpha1.BatchRelease, g *v1alpha1.Gate) bool {
	if g.IsGuard() {
		guards, at := release.Spec.Strategy.Guards, int(g.Spec.Index)-v1alpha1.GuardIndex
		return at < len(guards) && equality.Semantic.DeepEqual(guards[at], g.Spec.Policy)
	}
	for _, rollback := range []bool{false, true} {
		if int(g.Spec.Step) >= len(release.Spec.Steps(rollback)) {
			continue
		}
		policies := release.Spec.Gates(rollback, int(g.Spec.Step))
		if at := int(g.Spec.Index); at >= 0 && at < len(policies) && equality.Semantic.DeepEqual(policies[at], g.Spec.Policy) {
			return true
		}
	}
	return false
}

// foreignAgain is the time between two looks at another's Job, which no watch sees.
const foreignAgain = 30 * time.Second

// checkEnd decides by how the Job on record stands.
func checkEnd(seen *JobFacts, now time.Time) Decision {
	job := seen.Job
	switch complete, failed := conditionOf(job, batchv1.JobComplete), conditionOf(job, batchv1.JobFailed); {
	case complete != nil:
		at := complete.LastTransitionTime.Time
		if job.Status.CompletionTime != nil {
			at = job.Status.CompletionTime.Time
		}
		return passed(fmt.Sprintf("Job %s has succeeded", job.Name),
			evidence(EvidenceJobSucceeded, fmt.Sprintf("Job %s with UID %s has succeeded", job.Name, job.UID), at), now)
	case failed != nil:
		return decided(v1alpha1.DecisionRejected, failure(job, failed, seen.Log), now,
			evidence(EvidenceJobFailed, fmt.Sprintf("Job %s with UID %s has failed", job.Name, job.UID), failed.LastTransitionTime.Time))
	case job.DeletionTimestamp != nil:
		return deletedJob(job.Name, now)
	case job.Status.StartTime == nil || job.Spec.ActiveDeadlineSeconds == nil:
		return waiting("starts Job "+job.Name, time.Time{})
	}
	end := job.Status.StartTime.Add(time.Duration(*job.Spec.ActiveDeadlineSeconds) * time.Second)
	return waiting(fmt.Sprintf("Job %s runs, until %s at most", job.Name, stamp(end)), time.Time{})
}

// deletedJob rejects a gate whose Job was deleted. It may have run, so it is not created again.
func deletedJob(name string, now time.Time) Decision {
	return decided(v1alpha1.DecisionRejected,
		fmt.Sprintf("Job %s was deleted before its end was recorded; it does not run again for this gate", name), now)
}

// failure says why a Job has failed, and how its log ends.
func failure(job *batchv1.Job, failed *batchv1.JobCondition, log string) string {
	words := fmt.Sprintf("Job %s has failed: %s", job.Name, plain.UpTo(plain.Line(failed.Message), maxFailure))
	if failed.Reason == batchv1.JobReasonDeadlineExceeded && job.Status.Failed == 0 && job.Status.Succeeded == 0 {
		words += fmt.Sprintf("; none of its pods came to run: see 'kubectl describe job %s -n %s'", job.Name, job.Namespace)
	}
	if log != "" {
		words += "; its log ends: " + log
	}
	return words
}

// maxFailure limits what a Job says about its failure, in bytes.
const maxFailure = 200

func conditionOf(job *batchv1.Job, of batchv1.JobConditionType) *batchv1.JobCondition {
	for i := range job.Status.Conditions {
		if c := &job.Status.Conditions[i]; c.Type == of && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// RunsJob reports whether a release waits for exactly this gate, and has its policy.
func RunsJob(g *v1alpha1.Gate, release *v1alpha1.BatchRelease) bool {
	return Awaited(g, release) && asksFor(release, g)
}

// JobFailed reports whether a Job has failed.
func JobFailed(job *batchv1.Job) bool { return conditionOf(job, batchv1.JobFailed) != nil }

// SameJob reports whether two Jobs do the same, as the API server completes them: their specs
// differ in nothing but names that it generates, and in whether they are suspended.
func SameJob(a, b *batchv1.Job) bool {
	plainSpec := func(job *batchv1.Job) *batchv1.JobSpec {
		spec := job.Spec.DeepCopy()
		spec.Selector, spec.Suspend = nil, nil
		for _, name := range []string{batchv1.ControllerUidLabel, batchv1.JobNameLabel, "controller-uid", "job-name"} {
			delete(spec.Template.Labels, name)
		}
		return spec
	}
	return equality.Semantic.DeepEqual(plainSpec(a), plainSpec(b))
}

// RunsFor reports whether a Job was created for a gate: by its owner, never by a label.
func RunsFor(job *batchv1.Job, g *v1alpha1.Gate) bool {
	owner := metav1.GetControllerOfNoCopy(job)
	return owner != nil && owner.UID == g.UID
}
