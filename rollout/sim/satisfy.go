package sim

import (
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// satisfy observes what the plan needs to know.
func (x *pass) satisfy(needs plan.Needs) {
	if needs.Release {
		x.readRelease()
	}
	if needs.Workload && x.report.Ended == "" {
		x.readWorkload()
	}
	if needs.Counts && x.report.Ended == "" {
		x.readSets()
	}
	if needs.Gates {
		x.request()
		x.gates, x.gatesLive = slices.Clone(x.world.Gates), true
	}
	if needs.Kept {
		x.request()
		x.kept, x.keptLive = slices.Clone(x.world.Kept), true
	}
	if needs.Failing {
		x.request()
		text := "pods are failing"
		x.failing = &text
	}
	if needs.Drift != nil && x.report.Ended == "" {
		x.readDrift(*needs.Drift)
	}
	if needs.Preflight != nil && x.report.Ended == "" {
		x.request()
		x.fits = &preflight.Findings{}
		if x.world.Crowded {
			x.fits.WillNotFit = []string{"a quota leaves no room"}
		}
	}
	if needs.Resolve != nil {
		x.request()
		x.resolve(*needs.Resolve)
	}
}

func (x *pass) readRelease() {
	x.request()
	if x.world.Release.Version != x.release.Version {
		x.rememberRelease()
		x.outdated("the release")
		return
	}
	x.releaseLive = true
}

func (x *pass) readWorkload() {
	x.request()
	if x.world.Workload.UID != x.workload.UID {
		x.rememberWorkload()
		x.outdated("the workload")
		return
	}
	x.sawWorkload()
	x.window.readWorkload(x.world)
}

func (x *pass) rememberWorkload() {
	workload := x.world.Workload
	x.process.workload = &workload
}

func (x *pass) readSets() {
	x.request()
	x.sets, x.setsLive, x.process.sets, x.setsListed = nil, nil, nil, true
	for _, s := range x.world.Sets {
		x.sawSet(s)
	}
	x.window.readSets()
}

// readDrift compares the template of the workload, as it is now, with a released one.
func (x *pass) readDrift(t plan.Template) {
	released, asked := x.templateOf(t), x.workload.Template
	x.readWorkload()
	switch {
	case x.report.Ended != "":
	case x.workload.Template != asked:
		x.outdated("the workload")
	case same(released, asked):
		x.drift = &plan.Drift{Digest: Digest(released)}
	default:
		x.drift = &plan.Drift{Digest: Digest(released), Fields: []string{released + " -> " + asked}}
	}
}

// refusal is what the API server says of a template that it does not take: it may quote all of it.
var refusal = "it is refused: " + strings.Repeat("é", 40_000)

// resolve is the server's dry run.
func (x *pass) resolve(t plan.Template) {
	template := x.templateOf(t)
	x.resolved = &plan.Resolved{ResolvedTemplate: v1alpha1.ResolvedTemplate{
		Digest: Digest(template), Revision: revisionOf(template, x.sets),
	}}
	if t.Given {
		x.resolved.Given = Given(template)
	}
	if same(template, x.world.Refused) {
		x.resolved.Refused = refusal
	}
}

// templateOf is the revision of the template to write.
func (x *pass) templateOf(t plan.Template) string {
	if t.Given {
		return x.release.Template
	}
	return t.Revision
}
