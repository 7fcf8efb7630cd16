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
	// Weight is the percentage of requests that the new version then gets: that of the step, or what its pods are enough for, if no more of them
	// would come. 0 where no route shares requests.
	Weight int32
	// Short says that the pods are not enough for that, and that requests wait for more.
	Short bool
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
		l.record.CurrentStepIndex = int32(i)
		batch := Batch{Pods: target, New: target - reached, Gates: release.Spec.Gates(rollback, i)}
		batch.Weight, batch.Short = l.foreseeTraffic(target)
		forecast.Batches = append(forecast.Batches, batch)
		reached = target
	}
	return forecast
}

// foreseeTraffic returns what the current step gives so many pods of the requests, and whether that waits for more of them.
func (l *look) foreseeTraffic(pods int32) (int32, bool) {
	weight, shared := l.Release.Spec.TrafficOf(l.isRollback(), int(l.stepIndex()))
	if !shared || pods == 0 && !l.lastStep() {
		return 0, false
	}
	weight = l.borne(weight, pods)
	least := int64(l.Workload.Replicas - l.bounds().Unavailable)
	return weight, !l.Release.Spec.Strategy.Traffic.AllowOverload && int64(pods)*percent < int64(weight)*least
}

// Shares are what the steps of a release, or of a rollback of it, ask for, as they are written.
func Shares(release *v1alpha1.BatchRelease, rollback bool) []string {
	var shares []string
	for _, step := range release.Spec.Steps(rollback) {
		shares = append(shares, step.Replicas.String())
	}
	return shares
}
