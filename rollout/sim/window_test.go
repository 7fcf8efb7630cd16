package sim

import "github.com/sluice-dev/sluice/rollout/plan"

// window is what others have changed during a pass: nobody can know of it
// before a write. It only grows where the world changes between two requests.
type window struct {
	// workloads are the workload before each change since it was read.
	workloads []Workload
	// grown and lost are pods added, and available pods lost, by others.
	grown, lost int32
}

// passed notes what has changed before a request was answered.
func (v *window) passed(before, after *World) {
	if before.Workload.Version != after.Workload.Version {
		v.workloads = append(v.workloads, before.Workload)
	}
	grown, lost := byKind(&after.Workload).passed(before, after)
	v.grown += grown
	v.lost += lost
}

func (lawsOfSets) passed(before, after *World) (grown, lost int32) {
	lost = max(effective(before.Sets)-effective(after.Sets), 0)
	lost += max(trulyEffective(before.Sets)-trulyEffective(after.Sets), 0)
	return max(peakPods(after)-peakPods(before), 0), lost
}

// forget forgets what the pass has read since.
func (v *window) forget(what plan.Reads) {
	if what == plan.ReadWorkload {
		v.workloads = nil
	} else {
		v.grown, v.lost = 0, 0
	}
}

// mostPods returns replicas + maxSurge.
func (v *window) mostPods(w *World) int32 {
	return v.extreme(w, func(d *Workload) int32 {
		surge, _ := d.bounds(d.Replicas)
		return d.Replicas + surge
	})
}

// leastAvailable returns replicas - maxUnavailable.
func (v *window) leastAvailable(w *World) int32 {
	return -v.extreme(w, func(d *Workload) int32 {
		_, unavailable := d.bounds(d.Replicas)
		return unavailable - d.Replicas
	})
}

// least returns spec.replicas.
func (v *window) least(w *World) int32 {
	return -v.extreme(w, func(d *Workload) int32 { return -d.Replicas })
}

func (v *window) extreme(w *World, of func(*Workload) int32) int32 {
	most := of(&w.Workload)
	for i := range v.workloads {
		most = max(most, of(&v.workloads[i]))
	}
	return most
}
