package sim

import (
	"strings"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// stamped separates a template from the stamp of a policy.
const stamped = "@"

// Admit has a policy write a stamp into the template of each workload that somebody writes; nothing
// if it is empty.
func (w *World) Admit(stamp string) bool {
	changed := w.Stamp != stamp
	w.Stamp = stamp
	return changed
}

// admitted returns the template after the policy.
func (w *World) admitted(template string) string {
	if w.Stamp == "" || template == "" {
		return template
	}
	return unstamped(template) + stamped + w.Stamp
}

// unstamped returns a template without what a policy has written into it.
func unstamped(template string) string {
	bare, _, _ := strings.Cut(template, stamped)
	return bare
}

// cureAdmission has the policy write again what the version has that is released, or that a refused
// write is to bring or to leave. It reports whether that is another stamp.
func (w *World) cureAdmission() bool {
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
	return w.Admit(stamp)
}

// TouchWorkload writes the workload without changing what counts, as kubectl annotate does.
// Admission may change its template.
func (w *World) TouchWorkload() bool {
	d := &w.Workload
	before := d.Template
	if d.Absent || w.admitted(before) == before {
		return false
	}
	w.updateWorkload(func(*Workload) {})
	return true
}

// asked holds the template that a write asks for: as sent, as it will come out, as it also may, and
// its revision.
type asked struct{ sent, digest, or, revision string }

// asks returns what a write of the process asks for; without a template, for the one that the
// workload has.
func (x *pass) asks(t *plan.Template, digest, revision string) asked {
	switch {
	case t == nil:
		return asked{sent: x.workload.Template, digest: Digest(x.workload.Template), or: digest}
	case t.Given:
		return asked{sent: x.templateOf(*t), digest: digest, revision: revision}
	default:
		return asked{sent: x.templateOf(*t), digest: or(digest, Digest(x.templateOf(*t))), revision: revision}
	}
}

// is reports whether a template is what was asked for.
func (a asked) is(template string) bool {
	return Digest(template) == a.digest || Digest(template) == a.or || a.revision != "" && same(template, a.revision)
}

// by reports whether the API server would make that of it.
func (a asked) by(w *World) bool { return a.is(w.admitted(a.sent)) }

// tried lets the policy change between a dry run and its write.
func (x *pass) tried() {
	if x.raced = false; x.world.Policied {
		before := x.world.Stamp
		x.request()
		x.raced = x.world.Stamp != before
	}
}

// secureAgain holds a workload again whose template has changed with a write.
func (x *pass) secureAgain(held plan.Hold) {
	if x.report.Ended != "" {
		return
	}
	held.Window = ""
	x.writeWorkload(func(d *Workload) {
		d.kind.secure(d)
		d.Hold = &held
	})
}
