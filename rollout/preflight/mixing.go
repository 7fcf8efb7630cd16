package preflight

import "fmt"

// MixesVersions says what stands against releasing a Deployment in batches whose own strategy is
// Recreate. What it is comes first: a commit's status has room for little.
func MixesVersions(workload string) string {
	return fmt.Sprintf("Deployment %q has strategy Recreate, and a release in batches runs two versions at once: set "+
		"spec.strategy.allowMixedVersions: true in the BatchRelease if they get along, or strategy RollingUpdate in the Deployment; "+
		"or scale the Deployment to 0 until it is released", workload)
}
