package sim

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// OnDelete is the strategy of a StatefulSet or DaemonSet whose native controller replaces no pods.
const OnDelete = "OnDelete"

// strategyText stands for the JSON of spec.updateStrategy.
func strategyText(s *Spec) string {
	if s.Partition == 0 {
		return s.Strategy
	}
	return s.Strategy + " from " + strconv.Itoa(int(s.Partition))
}

// giveBack writes what strategyText has told.
func (placed) giveBack(d *Workload, held v1alpha1.HeldWorkload) {
	strategy, from, _ := strings.Cut(held.Strategy, " from ")
	partition, _ := strconv.ParseInt(from, 10, 32)
	d.Strategy, d.Partition, d.AtOnce = strategy, int32(partition), 0
}

// loosens leaves out a workload that no release holds: its strategy belongs to its user.
func (placed) loosens(w *World) bool {
	d := &w.Workload
	return (d.Hold != nil || w.Release.Status.Held != nil) && strategyText(&d.Spec) != RollingUpdate
}

// observe takes the pods from their cache while the workload is held, and once it is handed back,
// without those that the process has deleted.
func (placed) observe(x *pass) {
	held, ends := x.workload.Hold, x.release.Status.Phase == v1alpha1.PhaseFinalizing
	if x.workload.Absent || (held == nil || held.Release != x.world.name()) && !ends {
		return
	}
	x.listed = true
	x.places = slices.DeleteFunc(slices.Clone(cached(x.world.Lag.Places, x.world.Places)), func(p Place) bool {
		return slices.Contains(x.process.gone, p.UID)
	})
}

func (placed) read(x *pass) {
	x.request()
	x.places, x.listed, x.live, x.process.gone = slices.Clone(x.world.Places), true, true, nil
	x.world.see(factRead{plan.ReadCounts})
}

func (placed) refused(write mover.Write) Writes {
	if write.Updates() {
		return Shrinkage
	}
	if _, opens := write.(inplace.Window); opens {
		return NewSets
	}
	return Growth
}

func (placed) move(x *pass, write mover.Write) {
	switch w := write.(inplace.Write).(type) {
	case inplace.Replace:
		replacePods(x, w)
	case inplace.Window:
		setPartition(x, w)
	}
}

// replacePods deletes the pods that have not changed since. Each is a request, and the process may
// end after any.
func replacePods(x *pass, a inplace.Replace) {
	outdated := false
	for i := range a.Pods {
		if i > 0 && x.wrotePart() {
			return
		}
		pod := &a.Pods[i]
		now := findPlace(x.world.Places, pod.UID)
		if now == nil || version(now.Version) != pod.Version || now.Going {
			outdated = true
			continue
		}
		x.world.deletePlace(pod.UID)
		x.process.gone = append(slices.Clone(x.process.gone), pod.UID)
		x.places = slices.Clone(x.places)
		if seen := findPlace(x.places, pod.UID); seen != nil { // its place is there until another takes it
			seen.Going = true
		}
	}
	x.process.scaled = x.world.Now
	if outdated {
		x.outdated("a pod")
	}
}

// setPartition writes the partition with the note in the hold that it is ours.
func setPartition(x *pass, a inplace.Window) {
	if x.workload.Hold == nil {
		x.outdated("the workload")
		return
	}
	asked := askedOf(x, nil, "", "")
	if !asked.by(x.world) {
		refuseAction(x, plan.MovePods{Write: a}, true, false)
		return
	}
	if triedWrite(x); x.report.Ended != "" {
		return
	}
	held := *x.workload.Hold
	writeWorkload(x, func(d *Workload) {
		hold := *d.Hold
		hold.Window = ""
		if a.Partition != inplace.Held {
			hold.Window = strconv.Itoa(int(a.Partition))
		}
		d.Hold = &hold
		d.Strategy, d.Partition, d.AtOnce = RollingUpdate, a.Partition, 0
		switch {
		case a.Partition == inplace.Anywhere:
			d.Strategy, d.Partition = OnDelete, 0
		case x.world.Several:
			d.AtOnce = a.Unavailable
		}
	})
	if x.report.Ended != "" {
		return
	}
	x.process.scaled = x.world.Now
	if !asked.is(x.world.Workload.Template) {
		refuseAction(x, plan.MovePods{Write: a}, true, true)
		secureAgain(x, held)
	}
}

// windowOf returns the partition that the hold notes.
func windowOf(hold *plan.Hold) int32 {
	if hold == nil || hold.Window == "" {
		return math.MaxInt32
	}
	n, _ := strconv.ParseInt(hold.Window, 10, 32)
	return int32(n)
}

// forgetGone forgets pods whose deletion the cache has seen.
func (p *Process) forgetGone(w *World) {
	if w.Lag.Places == nil {
		p.gone = nil
		return
	}
	p.gone = slices.DeleteFunc(slices.Clone(p.gone), func(uid types.UID) bool { return findPlace(*w.Lag.Places, uid) == nil })
}
