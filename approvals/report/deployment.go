package report

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// Deployment says how to show a release as a deployment: one for each attempt at a commit. A
// commit that is rolled back from gets no other: the one that it has is a failure then. It reports
// false for a release that has no commit or has not begun.
//
//nolint:revive // what to make, how it stands, in which words, and whether at all
func Deployment(release *v1alpha1.BatchRelease, environment string) (forge.DeploymentRequest, forge.DeploymentState, string, bool) {
	status := &release.Status
	request := forge.DeploymentRequest{
		SHA: status.Commit, Environment: environment,
		Task:        fmt.Sprintf("sluice:%s/%s:%d", release.Namespace, release.Name, status.Attempt),
		Description: forge.Description(fmt.Sprintf("release %s/%s", release.Namespace, release.Name)),
	}
	state, text := deployed(status)
	if takenBack(status) {
		task, found := deployedBefore(status)
		request.Task = task
		return request, state, forge.Description(text), found && status.Commit != ""
	}
	return request, state, forge.Description(text), status.Commit != "" && state != ""
}

// deployedBefore returns the task under which the present commit was deployed, before it was rolled
// back.
func deployedBefore(status *v1alpha1.BatchReleaseStatus) (string, bool) {
	if status.Report == nil {
		return "", false
	}
	return strings.CutSuffix(status.Report.DeploymentTask, "@"+status.Commit)
}

// deployed returns the state of a deployment; empty before the release has begun.
func deployed(status *v1alpha1.BatchReleaseStatus) (forge.DeploymentState, string) {
	switch {
	case takenBack(status):
		return forge.DeploymentFailure, backFrom(status, status.Report).text()
	case done(status):
		return forge.DeploymentSuccess, completed(status).text()
	case !inBatch(status):
		return "", ""
	case broken(status):
		return forge.DeploymentFailure, status.Message
	default:
		return forge.DeploymentInProgress, "releasing revision " + status.UpdateRevision
	}
}
