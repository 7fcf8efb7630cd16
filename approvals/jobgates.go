package approvals

import (
	"context"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
	"github.com/sluice-dev/sluice/internal/kube"
)

// JobGates runs the Jobs of Gates, and decides the Gates by them. config/components/job has the
// rights that it needs.
type JobGates struct {
	gates store[*v1alpha1.Gate]
	jobs  *jobWatch
	logs  logs
}

const (
	// unwatchedAgain is the time between two looks for the watch of Jobs, while it starts.
	unwatchedAgain = time.Second
	// refusedAgain is the time between two tries while the API server refuses a Job.
	refusedAgain = 30 * time.Second
)

// Reconcile creates the Job of a gate, starts it, and decides the gate by its end.
func (r *JobGates) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, found, err := r.gates.read(ctx, req.NamespacedName, &v1alpha1.Gate{})
	if err != nil || !found || g.DeletionTimestamp != nil {
		return reconcile.Result{}, err
	}
	watch := r.jobs.state()
	if !watch.synced && watch.problem == "" {
		return reconcile.Result{RequeueAfter: unwatchedAgain}, nil
	}
	p := &jobPass{JobGates: r, gate: newJudging(r.gates, g), problem: watch.problem}
	next := func(facts lifecycle.GateFacts) []lifecycle.JobIntent {
		return lifecycle.NextOfJob(p.gate.object, facts)
	}
	facts, _, err := run(ctx, p.gather, next, p.do)
	if refused := jobProblem(err); refused != nil {
		return p.recordRefusal(ctx, refused)
	}
	if err != nil || gate.Decided(p.gate.object) || facts.Decision == nil {
		return reconcile.Result{}, err
	}
	if facts.Job != nil && facts.Job.Problem != "" {
		return reconcile.Result{RequeueAfter: refusedAgain}, nil
	}
	return reconcile.Result{RequeueAfter: r.gates.until(facts.Decision.WakeUp)}, nil
}

// jobPass is one pass over a job gate.
type jobPass struct {
	*JobGates
	gate *judging
	// problem says why Jobs can't be watched; empty if they can.
	problem string
}

// gather reads the release, the Job and, where it has failed, the end of its log.
func (p *jobPass) gather(ctx context.Context) (lifecycle.GateFacts, error) {
	g := p.gate.object
	var facts lifecycle.GateFacts
	var err error
	if facts.Facts, err = p.gate.factsOf(ctx); err != nil || g.Spec.Policy.Job == nil {
		return facts, err
	}
	if !gate.Decided(g) && !gate.Awaited(g, facts.Release) {
		return facts, nil
	}
	if facts.Job, err = p.read(ctx); err != nil || gate.Decided(g) {
		return facts, err
	}
	return p.gate.decide(ctx, facts)
}

// read returns the facts on the gate's Job. While the gate is open they are live.
func (p *jobPass) read(ctx context.Context) (*gate.JobFacts, error) {
	g, reader := p.gate.object, p.gates.live
	if gate.Decided(g) {
		reader = p.jobs.cache
	}
	if p.problem != "" {
		return &gate.JobFacts{Problem: p.problem}, nil
	}
	job := &batchv1.Job{}
	err := reader.Get(ctx, client.ObjectKey{Namespace: g.Namespace, Name: gate.JobName(g)}, job)
	switch {
	case apierrors.IsNotFound(err):
		return &gate.JobFacts{}, nil
	case apierrors.IsForbidden(err):
		return &gate.JobFacts{Problem: noRight(err)}, nil
	case err != nil:
		return nil, fmt.Errorf("read Job: %w", err)
	}
	facts := &gate.JobFacts{Job: job}
	if !gate.Decided(g) && g.Status.Job == nil && gate.RunsFor(job, g) {
		if facts.Another, err = p.isAnother(ctx, job); err != nil {
			return nil, err
		}
	}
	if !gate.Decided(g) && gate.JobFailed(job) && gate.RunsFor(job, g) {
		facts.Log = p.logs.tail(ctx, job)
	}
	return facts, nil
}

// isAnother reports whether a Job that is not on record does something else than the gate's would.
// Defaults and webhooks complete both, so the API server makes the other one of the two, and keeps
// nothing of it.
func (p *jobPass) isAnother(ctx context.Context, job *batchv1.Job) (bool, error) {
	wanted := gate.JobOf(p.gate.object)
	wanted.SetName(wanted.GetName() + "-check")
	if err := p.gates.client.Create(ctx, wanted, client.DryRunAll); err != nil {
		return false, jobError{fmt.Errorf("compare Job: %w", err)}
	}
	made := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(wanted.Object, made); err != nil {
		return false, fmt.Errorf("read Job: %w", err)
	}
	return !gate.SameJob(job, made), nil
}

// noRight says that a right is missing, and where to find it.
func noRight(err error) string {
	return "can't run Jobs: the controller lacks the rights of config/components/job (or the chart's job.enabled): " + err.Error()
}

// jobError is the error of a write of a Job.
type jobError struct{ error }

// Unwrap returns the error of the API server.
func (e jobError) Unwrap() error { return e.error }

// do carries out one intent.
func (p *jobPass) do(ctx context.Context, _ lifecycle.GateFacts, intent lifecycle.JobIntent) (bool, error) {
	switch intent := intent.(type) {
	case lifecycle.CreateJob:
		err := p.gates.client.Create(ctx, intent.Job)
		if err == nil || apierrors.IsAlreadyExists(err) {
			return true, nil // the watch brings it
		}
		return false, jobError{fmt.Errorf("create Job: %w", err)}
	case lifecycle.KeepJob:
		return p.gate.record(ctx, func(status *v1alpha1.GateStatus) {
			*status = intent.Status
			status.Job = &intent.Job
		})
	case lifecycle.StartJob:
		return p.patch(ctx, intent.Job, func(job *batchv1.Job) { job.Spec.Suspend = new(false) })
	case lifecycle.RecordJobGate:
		return p.gate.recordDecision(ctx, intent.Status)
	case lifecycle.RetireJob:
		return p.patch(ctx, intent.Job, func(job *batchv1.Job) { job.Spec.TTLSecondsAfterFinished = &intent.Seconds })
	}
	return false, nil
}

// patch changes a Job, if it is still the version that was decided on.
func (p *jobPass) patch(ctx context.Context, job *batchv1.Job, change func(*batchv1.Job)) (bool, error) {
	wanted := job.DeepCopy()
	change(wanted)
	switch outcome := kube.Patch(ctx, p.gates.client, job, wanted).(type) {
	case kube.Written, kube.Unchanged:
		return true, nil
	case kube.Outdated, kube.Gone:
		return false, nil
	case kube.Refused, kube.Failed:
		return false, jobError{fmt.Errorf("write Job: %w", kube.Err(outcome))}
	}
	return false, nil
}

// jobProblem returns the problem of a Job that the API server refuses; nil for any other error.
func jobProblem(err error) *gate.JobFacts {
	refused, is := err.(jobError) //nolint:errorlint // run returns it as it is
	switch {
	case !is:
		return nil
	case apierrors.IsForbidden(refused):
		return &gate.JobFacts{Problem: "the API server refuses the Job: " + kube.Refusal(refused.error)}
	case apierrors.IsInvalid(refused), apierrors.IsBadRequest(refused):
		return &gate.JobFacts{Problem: "the API server refuses the Job: " + kube.Refusal(refused.error), Invalid: true}
	}
	return nil
}

// recordRefusal records why the Job can't be written, and schedules the next try.
func (p *jobPass) recordRefusal(ctx context.Context, refused *gate.JobFacts) (reconcile.Result, error) {
	gather := func(ctx context.Context) (lifecycle.GateFacts, error) {
		facts, err := p.gate.factsOf(ctx)
		if facts.Job = refused; err != nil {
			return lifecycle.GateFacts{}, err
		}
		return p.gate.decide(ctx, lifecycle.GateFacts{Facts: facts})
	}
	next := func(facts lifecycle.GateFacts) []lifecycle.JobIntent {
		return lifecycle.NextOfJob(p.gate.object, facts)
	}
	_, _, err := run(ctx, gather, next, p.do)
	return reconcile.Result{RequeueAfter: refusedAgain}, err
}

// gateOfJob returns the gate that a Job runs for.
func gateOfJob(job client.Object) []reconcile.Request {
	for _, owner := range job.GetOwnerReferences() {
		if owner.Controller != nil && *owner.Controller && owner.Kind == "Gate" {
			return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: job.GetNamespace(), Name: owner.Name}}}
		}
	}
	return nil
}
