package sim

import (
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/order"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// satisfy observes what the plan needs to know.
func (x *pass) satisfy(needs plan.Needs) {
	reads := []struct {
		what plan.Reads
		read func()
	}{
		{plan.ReadRelease, x.readRelease},
		{plan.ReadWorkload, x.readWorkload},
		{plan.ReadCounts, func() { x.workload.kind.read(x) }},
		{plan.ReadPods, x.readPods},
		{plan.ReadGates, x.readGates},
		{plan.ReadKept, x.readKept},
		{plan.ReadFailing, x.readFailing},
	}
	for _, fact := range reads {
		if needs.Has(fact.what) && x.report.Ended == "" {
			fact.read()
			x.facts.Live |= fact.what
		}
	}
	if needs.Drift != nil && x.report.Ended == "" {
		x.readDrift(*needs.Drift)
	}
	if needs.Preflight != nil && x.report.Ended == "" {
		x.request()
		x.facts.Preflight = &preflight.Findings{}
		if x.world.Crowded {
			x.facts.Preflight.WillNotFit = []string{"a quota leaves no room"}
		}
	}
	if needs.Resolve != nil {
		x.request()
		x.resolve(*needs.Resolve)
	}
}

// readPods lists the pods that have places: of a Deployment no release here has an order.
func (x *pass) readPods() {
	x.request()
	x.facts.Pods = nil
	for i := range x.world.Places {
		p := &x.world.Places[i]
		if p.Going {
			continue
		}
		stage := order.NotReady
		if p.ready() {
			stage = order.Ready
		}
		x.facts.Pods = append(x.facts.Pods, order.Pod{
			Name: p.Name, UID: p.UID, Node: p.Node, NodeLabels: x.world.NodeLabels[p.Node], Stage: stage,
		})
	}
}

func (x *pass) readGates() {
	x.request()
	x.gates = slices.Clone(x.world.Gates)
}

func (x *pass) readKept() {
	x.request()
	x.facts.Kept = slices.Clone(x.world.Kept)
}

func (x *pass) readFailing() {
	x.request()
	x.facts.Failing = "pods are failing"
}

func (x *pass) readRelease() {
	x.request()
	if x.world.Release.Version != x.release.Version {
		x.rememberRelease()
		x.outdated("the release")
		return
	}
}

func (x *pass) readWorkload() {
	x.request()
	if x.world.Workload.UID != x.workload.UID {
		x.rememberWorkload()
		x.outdated("the workload")
		return
	}
	x.sawWorkload()
	x.world.see(factRead{plan.ReadWorkload})
}

func (x *pass) rememberWorkload() {
	workload := x.world.Workload
	x.process.workload = &workload
}

func (deployments) read(x *pass) {
	x.request()
	x.sets, x.setsLive, x.process.sets = nil, nil, nil
	for _, s := range x.world.Sets {
		x.sawSet(s)
	}
	x.world.see(factRead{plan.ReadCounts})
}

// readDrift compares the template of the workload, as it is now, with a released one.
func (x *pass) readDrift(t plan.Template) {
	released, asked := x.world.admitted(x.templateOf(t)), x.workload.Template
	x.readWorkload()
	switch {
	case x.report.Ended != "":
	case x.workload.Template != asked:
		x.outdated("the workload")
	case same(released, asked):
		x.facts.Drift = &plan.Drift{Digest: Digest(released)}
	default:
		x.facts.Drift = &plan.Drift{Digest: Digest(released), Fields: []string{released + " -> " + asked}}
	}
}

// refusal is what the API server says of a template that it does not take: it may quote all of it.
var refusal = "it is refused: " + strings.Repeat("é", 40_000)

// resolve is the server's dry run.
func (x *pass) resolve(t plan.Template) {
	template := x.world.admitted(x.templateOf(t))
	x.facts.Resolved = &plan.Resolved{ResolvedTemplate: v1alpha1.ResolvedTemplate{
		Digest: Digest(template), Revision: revisionOf(template, x.sets),
	}}
	if t.Given {
		x.facts.Resolved.Given = Given(x.release.Template)
	}
	if same(template, x.world.Refused) {
		x.facts.Resolved.Refused = refusal
	}
}

// templateOf returns the revision of the template to write.
func (x *pass) templateOf(t plan.Template) string {
	if t.Given {
		return x.release.Template
	}
	return t.Revision
}
