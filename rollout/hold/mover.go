package hold

import (
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// Mover returns a workload as its mover sees it, without its pods and what they are in.
func Mover(w workload.Workload) mover.Mover { return w.Mover(Window(w)) }

// Window returns the part of the pods that Sluice lets the native controller update, as the
// annotation notes it; empty if there is none.
func Window(w workload.Workload) string {
	if held := Of(w); held != nil {
		return held.Window
	}
	return ""
}
