package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// judgeUnforeseen is I17 for a write that admission has changed though a dry run could show it.
func judgeUnforeseen(x *pass, c change) {
	w := x.world
	if !w.API.Policied || w.API.Refusing != "" || x.raced {
		return
	}
	excused := past(w).OutOfBand
	past(w).OutOfBand = false
	if how := bringsApproved(w, c); how != "" {
		w.breach("I17 a write leaves the workload with a template that was approved", how)
	}
	past(w).OutOfBand = excused
}

// bringsApproved checks I17 for writes: whatever admission makes of templates, they leave the
// workload with the one that is released, one that is stable, or the one that it had. What closes
// an open partition lets no pod come of any.
func bringsApproved(w *World, c change) string {
	before, now := c.workload.Template, w.Workload.Template
	a, taken := c.action.(plan.TakeOver)
	_, back := c.action.(plan.HandBack)
	closes := taken && a.Template == nil && c.workload.isOpen() && !w.Workload.isOpen()
	switch {
	case same(now, c.pass.intent.UpdateRevision):
		past(w).brought(now)
		return ""
	case past(w).OutOfBand || same(before, now) || past(w).isStable(now) || closes:
		return ""
	case w.follows() && !taken && !back && same(now, past(w).Applied): // others have applied it beside a write of something else
		return ""
	default:
		return fmt.Sprintf("it had %s, and has %s", before, now)
	}
}

// brought notes a revision that a write has given the workload.
func (p *Past) brought(revision string) {
	if !slices.Contains(p.Brought, revision) {
		p.Brought = append(slices.Clone(p.Brought), revision)
		slices.Sort(p.Brought)
	}
}

// judgeMade is I17 for pods: none is made, nor anything for pods to be in, of a template that
// nobody has approved. Where somebody has written the workload while it is held, admission may have
// changed its template with that.
func judgeMade(w *World, revision string) {
	known := func(r string) bool { return same(r, revision) }
	if past(w).OutOfBand || past(w).Exposed || past(w).isStable(revision) || slices.ContainsFunc(past(w).Brought, known) {
		return
	}
	w.breach("I17 no pod is made of a template that nobody approved", revision)
}

// knowsRewritten reports whether the process waits to try a take-over again that admission has
// changed.
func knowsRewritten(x *pass) bool {
	return slices.ContainsFunc(x.process.refusals, func(r plan.Refusal) bool {
		return r.Rewritten && strings.HasPrefix(r.Write.Key, "TakeOver") && r.Generation == x.release.Generation
	})
}
