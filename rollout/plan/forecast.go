package plan

import "github.com/sluice-dev/sluice/api/v1alpha1"

// Forecast is what the steps of a release come to if nothing else happens.
type Forecast struct {
	// Surge and Unavailable are how many pods there may be beyond spec.replicas, or fewer.
	Surge, Unavailable int32
	Batches            []Batch
}

// Batch is what one step comes to.
type Batch struct {
	// Pods run the new template when the step is done, New more than before it.
	Pods, New int32
	// Gates are what is waited for then, those that nobody needs to name included.
	Gates []v1alpha1.GatePolicy
}

// Foresee says what the steps of a release, or of a rollback of it, come to for a workload that keeps its size. They
// must be valid.
func Foresee(release *v1alpha1.BatchRelease, workload *Workload, rollback bool) Forecast {
	p := foreseeing(release, workload, rollback)
	fence := p.fence()
	forecast := Forecast{Surge: fence.Surge, Unavailable: fence.Unavailable}
	reached := int32(0)
	for i := range p.steps() {
		p.status.CurrentStepIndex = int32(i)
		target := max(p.share().entered(workload.Replicas), reached)
		forecast.Batches = append(forecast.Batches, Batch{Pods: target, New: target - reached, Gates: p.gates()})
		reached = target
	}
	return forecast
}

// Shares are what the steps of a release, or of a rollback of it, ask for, as they are written.
func Shares(release *v1alpha1.BatchRelease, rollback bool) []string {
	p := foreseeing(release, nil, rollback)
	var shares []string
	for _, step := range p.steps() {
		shares = append(shares, step.Replicas.String())
	}
	return shares
}

// foreseeing is a pass at which nothing has happened yet.
func foreseeing(release *v1alpha1.BatchRelease, workload *Workload, rollback bool) *pass {
	p := &pass{Observation: Observation{Release: release, Workload: workload}}
	if rollback {
		p.status.RollbackTo = "the revision before"
	}
	return p
}
