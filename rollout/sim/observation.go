package sim

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// releaseUID is that of the release.
const releaseUID types.UID = "release-1"

func version(n int64) string { return strconv.FormatInt(n, 10) }

// observationOf returns the pass's view as the plan takes it.
func observationOf(x *pass) plan.Observation {
	o := plan.Observation{
		Now:      x.world.Now.Add(x.world.Skew),
		Release:  x.release.object(),
		Begun:    x.release.Status.Attempt != x.stored.Attempt,
		Given:    Given(x.release.Template),
		Workload: observedWorkload(x),
		Facts:    x.facts,
		Refusals: x.process.refusals,
		Wrote:    x.process.wrote,
		Watched:  x.process.watches.Watched(x.release.Status, x.world.Now),
	}
	o.Release.Name = x.world.name()
	showTimes(x, &o)
	o.Gates = make([]v1alpha1.Gate, 0, len(x.gates))
	for i := range x.gates {
		o.Gates = append(o.Gates, x.gates[i].object())
	}
	return o
}

// showTimes shifts the times that the process remembers to its present clock, since the monotonic
// clock of a machine does not jump.
func showTimes(x *pass, o *plan.Observation) {
	if !x.lastScale.IsZero() {
		o.LastScale = x.lastScale.Add(x.world.Skew)
	}
	if x.world.Skew == 0 {
		return
	}
	o.Refusals = slices.Clone(o.Refusals)
	for i := range o.Refusals {
		if until := &o.Refusals[i].Until; !until.IsZero() {
			*until = until.Add(x.world.Skew)
		}
	}
}

func (r *Release) object() *v1alpha1.BatchRelease {
	object := &v1alpha1.BatchRelease{Spec: *r.Spec, Status: *r.Status}
	object.Name, object.UID, object.Generation = Name, releaseUID, r.Generation
	object.ResourceVersion = version(r.Version)
	object.Annotations = r.Annotations
	if r.FromGit {
		object.Labels = map[string]string{v1alpha1.SourceLabel: "source"}
	}
	if r.Finalizer {
		object.Finalizers = []string{v1alpha1.Finalizer}
	}
	if r.Deleting {
		deleted := metav1.NewTime(time.Unix(0, 0))
		object.DeletionTimestamp = &deleted
	}
	return object
}

func observedWorkload(x *pass) *plan.Workload {
	d := &x.workload
	if d.Absent {
		return nil
	}
	w := &plan.Workload{
		UID: d.UID, Name: Name, Behind: d.behind(),
		Replicas: d.kind.size(d, x.places), Mover: d.kind.mover(x),
		Digest: Digest(d.Template), Revision: revisionOf(d.Template, x.sets), Hold: d.Hold,
		Follower: d.Follower, Waiting: d.Waiting, Guarded: x.world.API.Guards,
	}
	if d.ownStrategy() == RollingUpdate {
		w.MaxSurge, w.MaxUnavailable = d.MaxSurge, d.MaxUnavailable
	}
	return w
}

// mover returns the Deployment with its ReplicaSets as the pass sees them.
func (deployments) mover(x *pass) mover.Mover {
	d := &x.workload
	m := deployment.Mover{
		Paused: d.Paused, Recreate: d.Strategy == Recreate, Strategy: d.own().Strategy, PausedByPolicy: d.Paused && !d.own().Paused,
		Sets: make([]deployment.Set, 0, len(x.sets)),
	}
	for i := range x.sets {
		m.Sets = append(m.Sets, x.sets[i].observed(slices.Contains(x.setsLive, x.sets[i].UID)))
	}
	return m
}

func (s *Set) observed(live bool) deployment.Set {
	return deployment.Set{
		Name: Name + "-" + s.Revision, UID: s.UID, Live: live,
		Digest: Digest(s.Revision), Revision: s.Revision, Created: time.Unix(s.Made, 0),
		Replicas: s.Replicas, Observed: s.Observed, Noted: s.Desired >= 0,
		Current: s.Status.Current, Ready: s.Status.Ready, Available: s.Status.Available, Terminating: new(s.Status.Terminating),
	}
}

func (g *Gate) object() v1alpha1.Gate {
	return v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Name: g.Name, CreationTimestamp: metav1.NewTime(g.Made)},
		Spec:       *g.Spec,
		Status:     v1alpha1.GateStatus{Decision: g.Decision},
	}
}
