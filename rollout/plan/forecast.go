package plan

import "github.com/sluice-dev/sluice/api/v1alpha1"

// Forecast is the result of the steps of a release if nothing else happens.
type Forecast struct {
	// Surge and Unavailable are how many pods there may be beyond spec.replicas, or fewer.
	Surge, Unavailable int32
	Batches            []Batch
}

// Batch is the result of one step.
type Batch struct {
	// Pods run the new template when the step is done, New more than before it.
	Pods, New int32
	// Gates are what the release waits for then, including those that nobody needs to name.
	Gates []v1alpha1.GatePolicy
}

// ForecastOf computes the result of the steps of a release, or of a rollback of it, for a workload that keeps its size. They
// must be valid.
func ForecastOf(release *v1alpha1.BatchRelease, workload *Workload, rollback bool) Forecast {
	l := &look{Observation: Observation{Release: release, Workload: workload}}
	if rollback {
		l.record.Rollback = &v1alpha1.RollbackRecord{}
	}
	bounds := l.widest()
	forecast := Forecast{Surge: bounds.Surge, Unavailable: bounds.Unavailable}
	reached := int32(0)
	for i, step := range release.Spec.Steps(rollback) {
		share, _ := parseShare(step.Replicas)
		target := max(share.entered(workload.Replicas), reached)
		forecast.Batches = append(forecast.Batches, Batch{Pods: target, New: target - reached, Gates: release.Spec.Gates(rollback, i)})
		reached = target
	}
	return forecast
}

// Shares are what the steps of a release, or of a rollback of it, ask for, as they are written.
func Shares(release *v1alpha1.BatchRelease, rollback bool) []string {
	var shares []string
	for _, step := range release.Spec.Steps(rollback) {
		shares = append(shares, step.Replicas.String())
	}
	return shares
}
