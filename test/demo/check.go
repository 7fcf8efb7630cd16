package main

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// confirmation is an account's action on the forge that let a release through a gate.
type confirmation struct {
	// revision of the cluster right before: only later may the gate pass.
	revision uint64
	// commit and step name the gate.
	commit string
	step   int
	// actor is the login of the account, and what the action, in a word.
	actor, what string
}

// claims are the demo's statements on its releases; check compares them with the watch log.
type claims struct {
	replicas, maxSurge, maxUnavailable int
	// targets are how many pods run the new version at the end of each step.
	targets []int
	// first is the version before any release, last the version in the end.
	first, last string
	// images of the commits that are released.
	images        map[string]string
	confirmations []confirmation
}

// findings are the results from the watch log.
type findings struct {
	leastAvailable int
	// mostDesired is the largest number of desired pods, mostPods of running ones: pods may still
	// terminate when their successors start.
	mostDesired, mostPods int
	// broken claims, in the order in which they broke.
	broken []string
}

// check goes through the watch log in the order of the cluster's revisions.
func (c claims) check(records []record) findings {
	ordered := slices.Clone(records)
	slices.SortStableFunc(ordered, func(a, b record) int { return cmp.Compare(a.revision, b.revision) })
	r := replay{
		claims: c, scene: newScene(), pending: c.confirmations, opened: map[types.UID]bool{}, passed: map[string]int{},
		findings: findings{leastAvailable: c.replicas},
	}
	for _, rec := range ordered {
		r.standAtGates(rec.revision)
		r.passGate(rec)
		r.scene.apply(rec.object, rec.gone)
		r.awaitFirstDeploy()
		r.look(rec.revision)
	}
	r.end()
	return r.findings
}

// replay is a walk through the watch log.
type replay struct {
	claims

	scene *scene
	// pending are the confirmations that are still to come.
	pending []confirmation
	// opened are the gates that have passed, passed the steps that each image has behind it.
	opened   map[types.UID]bool
	passed   map[string]int
	deployed client.Object
	findings findings
}

// awaitFirstDeploy keeps the workload as it was when all pods of the first version were
// available: from then on the claims hold.
func (r *replay) awaitFirstDeploy() {
	if r.deployed == nil && r.scene.workload != nil && r.scene.tallies()[r.first].available == r.replicas {
		r.deployed = r.scene.workload
	}
}

// look holds the claims that must be true at each moment against this one.
func (r *replay) look(revision uint64) {
	if r.deployed == nil {
		return
	}
	total := r.scene.total()
	r.findings.leastAvailable = min(r.findings.leastAvailable, total.available)
	r.findings.mostDesired = max(r.findings.mostDesired, r.scene.desired())
	r.findings.mostPods = max(r.findings.mostPods, total.running())
	if floor := r.replicas - r.maxUnavailable; total.available < floor {
		r.fail("only %d pods were available at revision %d, at least %d were promised", total.available, revision, floor)
	}
	if ceiling := r.replicas + r.maxSurge; r.scene.desired() > ceiling {
		r.fail("%d pods were asked for at revision %d, at most %d were promised", r.scene.desired(), revision, ceiling)
	}
	for image, count := range r.scene.tallies() {
		if allowed := r.allowed(image); count.running() > allowed {
			r.fail("%d pods of %s ran at revision %d, the gates let %d through", count.running(), image, revision, allowed)
		}
	}
}

// allowed returns how many pods of a version may run, by the gates that have passed.
func (r *replay) allowed(image string) int {
	if image == r.first {
		return r.replicas + r.maxSurge
	}
	return r.targets[min(r.passed[image], len(r.targets)-1)]
}

// standAtGates looks at the pods as they were when somebody was about to let them through a gate.
func (r *replay) standAtGates(revision uint64) {
	for len(r.pending) > 0 && r.pending[0].revision < revision {
		r.atGate(r.pending[0])
		r.pending = r.pending[1:]
	}
}

// passGate wants a gate that passes to say who let it, and them to have done so.
func (r *replay) passGate(rec record) {
	gate, ok := rec.object.(*v1alpha1.Gate)
	if !ok || gate.Status.Decision != v1alpha1.DecisionPassed || r.opened[gate.UID] {
		return
	}
	r.opened[gate.UID] = true
	image := r.images[gate.Spec.Commit]
	r.passed[image] = max(r.passed[image], int(gate.Spec.Step)+1)
	i := slices.IndexFunc(r.confirmations, func(c confirmation) bool {
		return c.commit == gate.Spec.Commit && c.step == int(gate.Spec.Step) && c.revision < rec.revision
	})
	if i < 0 {
		r.fail("the gate after batch %d of %s passed at revision %d, but nobody had let it", gate.Spec.Step+1, image, rec.revision)
		return
	}
	by := r.confirmations[i].actor
	if !slices.ContainsFunc(gate.Status.Evidence, func(e v1alpha1.Evidence) bool { return e.Actor == by }) {
		r.fail("the gate after batch %d of %s passed without evidence of %s", gate.Spec.Step+1, image, by)
	}
}

func (r *replay) atGate(c confirmation) {
	image := r.images[c.commit]
	updated, total, target := r.scene.tallies()[image], r.scene.total(), r.targets[c.step]
	if updated.available != target || total.available != r.replicas || total.running() != r.replicas {
		r.fail("at the gate after batch %d, %d of %d pods ran %s and %d in all were available: promised were %d of %d, all available",
			c.step+1, updated.available, total.running(), image, total.available, target, r.replicas)
	}
}

// end looks at what is left when all is done.
func (r *replay) end() {
	if r.deployed == nil {
		r.fail("%s was never deployed", r.first)
		return
	}
	if got, want := r.scene.tallies()[r.last].available, r.replicas; got != want || r.scene.total().running() != want {
		r.fail("in the end %d of %d pods ran %s, %d were promised", got, r.scene.total().running(), r.last, want)
	}
	if got, want := len(r.opened), len(r.confirmations); got != want {
		r.fail("%d gates passed, %d were let through", got, want)
	}
	r.handedBack()
}

// handedBack wants the workload as its owner had it, the template aside.
func (r *replay) handedBack() {
	now, before := r.scene.workload, r.deployed
	if now == nil {
		r.fail("the %s is gone", kindOf(r.deployed))
		return
	}
	_, held := now.GetAnnotations()[v1alpha1.HoldAnnotation]
	own := strategyOf(now)
	if held || own.paused != strategyOf(before).paused || !equality.Semantic.DeepEqual(own.update, strategyOf(before).update) {
		r.fail("the %s was not handed back as it was: held %t, paused %t, strategy %+v", kindOf(now), held, own.paused, own.update)
	}
	if release := r.scene.release; release == nil || release.Status.Phase != v1alpha1.PhaseCompleted {
		r.fail("the release is not completed: %s", headline(release))
	}
}

func (r *replay) fail(format string, args ...any) {
	r.findings.broken = append(r.findings.broken, fmt.Sprintf(format, args...))
}
