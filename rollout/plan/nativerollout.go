package plan

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// nativeRollout waits where the workload has the template without our doing, and not all of its pods run it: the native
// controller is still rolling it out, or the workload was paused on the way. What has not come to its end is no version
// to go back to yet. It reports whether it waits. What we have handed back ourselves has come to its end, unless
// somebody has had the native controller begin another rollout since.
func (p *pass) nativeRollout() bool {
	w, ours := p.Workload, p.status.Held != nil
	left := int32(0)
	for _, set := range p.oldSets() {
		left += set.Replicas
		if !ours {
			left += max(set.Current-set.Replicas, 0)
		}
	}
	have := p.updated()
	if w.Replicas == 0 || left == 0 && (ours || have > 0) {
		return false
	}
	p.count()
	p.status.Replicas = w.Replicas
	what := fmt.Sprintf("%d of %s run revision %s", have, pods(w.Replicas), w.Revision)
	if w.Paused {
		p.say(v1alpha1.ReasonNativeRollout, fmt.Sprintf(
			"the Deployment is paused, and %s: the release is completed when it is resumed and all run it; kubectl rollout resume deployment %s -n %s",
			what, w.Name, p.Release.Namespace))
		return true
	}
	p.say(v1alpha1.ReasonNativeRollout, "the Deployment's own rollout is under way: "+what)
	return true
}
