package journeys

import (
	"encoding/json"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// law is a rule that the journal must keep. docs/develop/architecture.md has its invariants.
type law string

const (
	fewPods    law = "I1" // a write of ours makes too many pods
	enoughLeft law = "I2" // a write of ours leaves too few available pods
	enoughRun  law = "I2, as the pods have it"
	withinStep law = "I3" // more updated pods than approved
	neverFewer law = "I5" // updated pods are taken away
	oldStays   law = "I6" // old pods come back
	heldPaused law = "I8" // a workload that is held is not paused
	servedSide law = "no weight on a Service without ready endpoints"
	pulledPods law = "no pods go that requests need"
	pastSides  law = "none sent past the sides"
	toldApart  law = "the rule that writes are told apart"
)

// judgeHold checks I8: a held workload is never unpaused with Recreate.
func (r *replay) judgeHold(d *appsv1.Deployment) {
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && !d.Spec.Paused {
		r.breaks(heldPaused, "unpaused with Recreate while it is held")
	}
}

// judgeScale checks a write of ours to a ReplicaSet, from had, nil if it was created, to set.
func (r *replay) judgeScale(before *scene, had, set *appsv1.ReplicaSet) {
	d := r.held()
	updates := digestOf(&set.Spec.Template) == r.epoch.digest
	if replicas(set) < replicas(had) {
		r.judgeShrink(before, d)
		r.judgeServing(before, had, set)
	} else {
		r.judgeGrowth(before, had, set)
	}
	switch {
	case updates && replicas(set) < replicas(had):
		r.judgeFall(had, set)
	case updates:
		r.judgeShare(set)
	case replicas(set) > replicas(had):
		r.judgeRise(had, set)
	}
}

// judgeGrowth checks I1: a write that adds pods leaves at most replicas + maxSurge of them,
// counting running pods that are not deleted yet and pods that are not created yet. Without surge
// one more is allowed where a ReplicaSet would be alone otherwise: the first pod beside one other
// set with pods, and the last where all others have none (T1).
func (r *replay) judgeGrowth(before *scene, had, set *appsv1.ReplicaSet) {
	d := r.held()
	limit := max(r.most()+r.bounds(r.most()).surge, r.mostForRequests())
	active := 0
	for _, other := range before.setsOf(d) {
		if replicas(other) > 0 {
			active++
		}
	}
	if replicas(had) == 0 && replicas(set) == 1 && active == 1 || r.total(d) == replicas(set) && replicas(set) <= r.most() {
		limit = max(limit, r.most()+1)
	}
	if peak := r.peak(d); peak > limit {
		r.breaks(fewPods, "%s %d -> %d makes %d pods, at most %d are allowed", set.Name, replicas(had), replicas(set), peak, limit)
	}
}

// judgeShrink checks I2: no write takes available pods below replicas - maxUnavailable, given that
// the unavailable pods of each ReplicaSet go first. It judges a write by the pods that its
// decision can have seen, because pods of another ReplicaSet may fail between the two.
func (r *replay) judgeShrink(before *scene, d *appsv1.Deployment) {
	floor := r.least() - r.bounds(r.least()).unavailable
	if left := r.seenAssured(r.scene, d); left < r.seenAssured(before, d) && left < floor {
		r.breaks(enoughLeft, "%d available pods are left, at least %d are due", left, floor)
	}
	r.left = new(min(r.assured(d), floor))
}

// seenAssured returns the pods that are assured by the sizes of a scene, as the write's decision
// can have seen their availability.
func (r *replay) seenAssured(s *scene, d *appsv1.Deployment) int32 {
	var assured int32
	for _, set := range s.setsOf(d) {
		available := []int32{set.Status.AvailableReplicas}
		if r.now.rests != nil {
			available = since(r.available[set.UID], r.now.rests.sets)
		}
		assured += min(replicas(set), slices.Max(available))
	}
	return assured
}

// judgeLoss checks I2 by the pods. It attributes a lost pod to the last write that took pods away.
func (r *replay) judgeLoss(ready int32) {
	floor := r.least() - r.bounds(r.least()).unavailable
	if r.left != nil {
		floor = min(floor, *r.left)
	}
	if ready < floor {
		r.breaks(enoughRun, "%d pods serve, at least %d are due", ready, floor)
	}
}

// judgeShare checks I3: updated pods stay within the target of the last step before which all
// gates have evidence. Pods that ran the template before the release count as allowed.
func (r *replay) judgeShare(set *appsv1.ReplicaSet) {
	release := r.release()
	if release == nil {
		r.breaks(withinStep, "%s is scaled and there is no release", set.Name)
		return
	}
	r.leaveSteps()
	allowed := max(target(r.steps(release)[r.epoch.passed], r.most()), r.epoch.had)
	if replicas(set) > allowed {
		r.breaks(withinStep, "%s is raised to %d, step %d allows %d", set.Name, replicas(set), r.epoch.passed+1, allowed)
	}
}

// judgeFall checks I5: within a release, the number of updated pods falls only with spec.replicas,
// or by a jump back that takes them away.
func (r *replay) judgeFall(had, set *appsv1.ReplicaSet) {
	if !r.epoch.fell && !(r.returned() && replicas(set) >= target(r.steps(r.release())[r.epoch.passed], r.least())) {
		r.breaks(neverFewer, "updated pods fall from %d to %d", replicas(had), replicas(set))
	}
}

// returned reports whether a jump back that takes pods away is in progress.
func (r *replay) returned() bool { return r.epoch.returns && r.release() != nil }

// judgeRise checks I6: only the template beside the released one grows, when spec.replicas grows
// or updated pods are taken away.
func (r *replay) judgeRise(had, set *appsv1.ReplicaSet) {
	if r.servesRequests(set) {
		return
	}
	if r.epoch.rollback || !r.epoch.rose && !r.returned() || !r.stable[digestOf(&set.Spec.Template)] {
		r.breaks(oldStays, "old pods rise from %d to %d", replicas(had), replicas(set))
	}
}

// total returns the sum of replicas of a Deployment's ReplicaSets.
func (s *scene) total(d *appsv1.Deployment) int32 {
	var total int32
	for _, set := range s.setsOf(d) {
		total += replicas(set)
	}
	return total
}

// peak returns the largest number of a Deployment's pods until all ReplicaSets have their sizes.
func (s *scene) peak(d *appsv1.Deployment) int32 {
	var peak int32
	for _, set := range s.setsOf(d) {
		peak += max(replicas(set), int32(s.podsIn(set)))
	}
	return peak
}

// assured returns the number of available pods if the worst of each ReplicaSet go first.
func (s *scene) assured(d *appsv1.Deployment) int32 {
	var assured int32
	for _, set := range s.setsOf(d) {
		assured += min(replicas(set), set.Status.AvailableReplicas)
	}
	return assured
}

type bounds struct{ surge, unavailable int32 }

// bounds returns maxSurge and maxUnavailable of the release, else of what the workload gets back.
func (r *replay) bounds(replicas int32) bounds {
	surge, unavailable := intstr.FromString("25%"), intstr.FromString("25%")
	var hold v1alpha1.HeldWorkload
	var strategy appsv1.DeploymentStrategy
	mustDecode(r.held().Annotations[v1alpha1.HoldAnnotation], &hold)
	mustDecode(hold.Strategy, &strategy)
	if rolling := strategy.RollingUpdate; rolling != nil {
		surge, unavailable = ptr.Deref(rolling.MaxSurge, surge), ptr.Deref(rolling.MaxUnavailable, unavailable)
	}
	if release := r.release(); release != nil {
		surge = ptr.Deref(release.Spec.Strategy.MaxSurge, surge)
		unavailable = ptr.Deref(release.Spec.Strategy.MaxUnavailable, unavailable)
	}
	f := bounds{percentOf(surge, replicas, true), percentOf(unavailable, replicas, false)}
	if f == (bounds{}) {
		f.unavailable = 1
	}
	return f
}

func mustDecode(text string, into any) {
	if err := json.Unmarshal([]byte(text), into); err != nil {
		panic(err)
	}
}

func percentOf(value intstr.IntOrString, replicas int32, up bool) int32 {
	n, err := intstr.GetScaledValueFromIntOrPercent(&value, int(replicas), up)
	if err != nil {
		panic(err)
	}
	return int32(n)
}

// target returns the number of pods that a step updates: rounded up, and below 100% one old pod
// stays.
func target(step v1alpha1.Step, replicas int32) int32 {
	if step.Replicas == intstr.FromString("100%") {
		return replicas
	}
	return max(min(percentOf(step.Replicas, replicas, true), replicas-1), 0)
}

// managerOf returns the field manager that wrote a field last; empty if none owns it.
func managerOf(object metav1.Object, path ...string) string {
	entries := object.GetManagedFields()
	i := slices.IndexFunc(entries, func(e metav1.ManagedFieldsEntry) bool {
		return e.FieldsV1 != nil && hasField(e.FieldsV1.GetRawBytes(), path)
	})
	if i < 0 {
		return ""
	}
	return entries[i].Manager
}

func hasField(raw json.RawMessage, path []string) bool {
	if len(path) == 0 {
		return raw != nil
	}
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && hasField(fields[path[0]], path[1:])
}
