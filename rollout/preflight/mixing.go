package preflight

import "fmt"

// MixesVersions returns the objection to releasing a Deployment with strategy Recreate in batches.
// It begins with the problem, because a commit's status has room for little.
func MixesVersions(workload string) string {
	return fmt.Sprintf("Deployment %q has strategy Recreate, and a release in batches runs two versions at once: set "+
		"spec.strategy.allowMixedVersions: true in the BatchRelease if they get along, or strategy RollingUpdate in the Deployment; "+
		"or scale the Deployment to 0 until it is released", workload)
}
