package sim

import (
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/order"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// satisfyNeeds observes what the plan needs to know.
func satisfyNeeds(x *pass, needs plan.Needs) {
	reads := []struct {
		what plan.Reads
		read func(*pass)
	}{
		{plan.ReadRelease, readRelease},
		{plan.ReadWorkload, readWorkload},
		{plan.ReadCounts, x.workload.kind.read},
		{plan.ReadPods, readPods},
		{plan.ReadGates, readGates},
		{plan.ReadKept, readKept},
		{plan.ReadFailing, readFailing},
		{plan.ReadTrain, readTrain},
		{plan.ReadMembers, readMembers},
	}
	for _, fact := range reads {
		if needs.Has(fact.what) && x.report.Ended == "" {
			fact.read(x)
			x.facts.Live |= fact.what
		}
	}
	if needs.Drift != nil && x.report.Ended == "" {
		readDrift(x, *needs.Drift)
	}
	if needs.Preflight != nil && x.report.Ended == "" {
		x.request()
		x.facts.Preflight = &preflight.Findings{}
		if x.world.API.Crowded {
			x.facts.Preflight.WillNotFit = []string{"a quota leaves no room"}
		}
	}
	if needs.Resolve != nil {
		x.request()
		resolveTemplate(x, *needs.Resolve)
	}
}

// readPods lists the pods that have places: of a Deployment no release here has an order.
func readPods(x *pass) {
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

func readGates(x *pass) {
	x.request()
	x.gates = slices.Clone(x.world.Gates)
}

func readKept(x *pass) {
	x.request()
	x.facts.Kept = slices.Clone(x.world.Kept)
}

func readFailing(x *pass) {
	x.request()
	x.facts.Failing = "pods are failing"
}

func readRelease(x *pass) {
	x.request()
	if x.world.Release.Version != x.release.Version {
		x.rememberRelease()
		x.outdated("the release")
		return
	}
}

func readWorkload(x *pass) {
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
func readDrift(x *pass, t plan.Template) {
	released, asked := x.world.API.admitted(templateOf(x, t)), x.workload.Template
	readWorkload(x)
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

// resolveTemplate runs the server's dry run of a template.
func resolveTemplate(x *pass, t plan.Template) {
	template := x.world.API.admitted(templateOf(x, t))
	x.facts.Resolved = &plan.Resolved{ResolvedTemplate: v1alpha1.ResolvedTemplate{
		Digest: Digest(template), Revision: revisionOf(template, x.sets),
	}}
	if t.Given {
		x.facts.Resolved.Given = Given(x.release.Template)
	}
	if same(template, x.world.API.Refused) {
		x.facts.Resolved.Refused = refusal
	}
}

// templateOf returns the revision of the template to write.
func templateOf(x *pass, t plan.Template) string {
	if t.Given {
		return x.release.Template
	}
	return t.Revision
}
