package sim

import (
	"fmt"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// putsBackWhole: the native controller makes pods between two writes, of the template that the
// first leaves. Whose they are is noted, so that they go.
func putsBackWhole(w *World, c change) string {
	a, taken := c.action.(plan.TakeOver)
	status, before, now := c.pass.intent, c.workload.Template, &w.Workload
	if !taken || a.PutBack == "" || now.Hold.Emptied || same(before, status.UpdateRevision) || status.StepStartedAt == nil || w.API.Refusing != "" {
		return ""
	}
	if knowsRewritten(c.pass) || !same(w.API.admitted(status.UpdateRevision), status.UpdateRevision) {
		return "" // admission lets nobody bring the template
	}
	if given := c.pass.release.Template; same(given, status.UpdateRevision) && !same(now.Template, given) {
		return fmt.Sprintf("it is left with %s, and %s is released", now.Template, given)
	}
	if now.Hold.Foreign != before && !past(w).isStable(before) && same(now.Template, status.UpdateRevision) {
		return "nobody will know whose the pods of " + before + " are"
	}
	return ""
}
