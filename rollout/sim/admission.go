package sim

import (
	"strings"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// Admission holds the rules by which the API server takes writes.
type Admission struct {
	// Refused is a revision whose template is not taken.
	Refused string
	// Refusing lists the writes that are refused, or changed.
	Refusing Writes
	// Policied reports whether a policy writes into the templates of workloads, and Stamp is the text
	// that it writes now, if any.
	Policied bool
	Stamp    string
	// Guards reports whether the policies of config/follow are in effect.
	Guards bool
	// Crowded reports whether a quota leaves no room for a release.
	Crowded bool
}

// stamped separates a template from the stamp of a policy.
const stamped = "@"

// admit has a policy write a stamp into the template of each workload that somebody writes, none if
// it is empty. It reports whether that is another stamp.
func (a *Admission) admit(stamp string) bool {
	changed := a.Stamp != stamp
	a.Stamp = stamp
	return changed
}

// admitted returns the template after the policy.
func (a *Admission) admitted(template string) string {
	if a.Stamp == "" || template == "" {
		return template
	}
	return unstamped(template) + stamped + a.Stamp
}

// unstamped returns a template without what a policy has written into it.
func unstamped(template string) string {
	bare, _, _ := strings.Cut(template, stamped)
	return bare
}

// cureAdmission has the policy write again what the version has that is released, or that a refused
// write is to bring or to leave. It reports whether that is another stamp.
func cureAdmission(w *World) bool {
	status := w.Release.Status
	revision := status.UpdateRevision
	if told := status.RefusedWrite; told != nil {
		write, brought, _ := strings.Cut(told.Key, "/")
		if write == "TakeOver" || write == "HandBack" {
			revision = or(brought, w.Workload.Template)
		}
	}
	if revision == "" {
		return false
	}
	_, stamp, _ := strings.Cut(revision, stamped)
	return w.API.admit(stamp)
}

// touchWorkload writes the workload without changing what counts, as kubectl annotate does.
// Admission may change its template.
func touchWorkload(w *World) bool {
	d := &w.Workload
	before := d.Template
	if d.Absent || w.API.admitted(before) == before {
		return false
	}
	w.updateWorkload(func(*Workload) {})
	return true
}

// asked holds the template that a write asks for: as sent, as it will come out, as it also may, and
// its revision.
type asked struct{ sent, digest, or, revision string }

// askedOf returns what a write of the process asks for; without a template, for the one that the
// workload has.
func askedOf(x *pass, t *plan.Template, digest, revision string) asked {
	switch {
	case t == nil:
		return asked{sent: x.workload.Template, digest: Digest(x.workload.Template), or: digest}
	case t.Given:
		return asked{sent: templateOf(x, *t), digest: digest, revision: revision}
	default:
		return asked{sent: templateOf(x, *t), digest: or(digest, Digest(templateOf(x, *t))), revision: revision}
	}
}

// is reports whether a template is the requested one.
func (a asked) is(template string) bool {
	return Digest(template) == a.digest || Digest(template) == a.or || a.revision != "" && same(template, a.revision)
}

// by reports whether the API server would make that of it.
func (a asked) by(w *World) bool { return a.is(w.API.admitted(a.sent)) }

// triedWrite lets the policy change between a dry run and its write.
func triedWrite(x *pass) {
	if x.raced = false; x.world.API.Policied {
		before := x.world.API.Stamp
		x.request()
		x.raced = x.world.API.Stamp != before
	}
}

// secureAgain holds a workload again whose template has changed with a write.
func secureAgain(x *pass, held plan.Hold) {
	if x.report.Ended != "" {
		return
	}
	held.Window = ""
	writeWorkload(x, func(d *Workload) {
		d.kind.secure(d)
		d.Hold = &held
	})
}

// crowd leaves a release no room in the quota of its namespace. It reports whether there was some.
func (a *Admission) crowd() bool {
	changed := !a.Crowded
	a.Crowded = true
	return changed
}
