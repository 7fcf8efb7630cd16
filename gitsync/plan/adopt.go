package plan

import (
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// adoptsWithin limits how long after a commit was read a workload is adopted with the template of
// the commit before.
const adoptsWithin = time.Minute

// adopting returns a new release with its workload's template of the commit before, until the
// workload is adopted with it; nil otherwise. If the workload runs that template, this commit has
// brought the difference, and it is released. If not, the release waits for a person.
func adopting(desired Desired, observed Observed, release *spec.Release) *spec.Release {
	earlier, live := desired.Content.Earlier[release], observed.Releases[KeyOf(release)]
	switch {
	case earlier == nil || !observed.Workloads[WorkloadOf(release)]:
		return nil
	case live == nil:
		return earlier
	case live.Annotations[v1alpha1.GitTemplateAnnotation] != earlier.TemplateDigest, // it has another one
		live.Annotations[v1alpha1.CurrentStableAnnotation] != "", len(live.Status.Gates) > 0,
		observed.Now.Sub(desired.ReadAt) > adoptsWithin:
		return nil
	}
	return earlier
}
