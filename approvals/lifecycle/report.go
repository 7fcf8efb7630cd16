package lifecycle

import (
	"slices"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
)

// ReportIntent is one thing to tell of a release: RepeatStatus, PostStatus, HoldStatus,
// EndDeployment or Deploy.
//
//sumtype:decl
type ReportIntent interface{ reportIntent() }

type (
	// RepeatStatus posts what was posted last again: the forge has something else.
	RepeatStatus struct{}
	// PostStatus posts a status, if the forge does not have it, and writes it down.
	PostStatus struct {
		Of   report.Subject
		Post report.Post
	}
	// HoldStatus looks again at a time: a status that is not worth a request yet may be replaced by
	// then.
	HoldStatus struct{ Until time.Time }
	// EndDeployment ends an earlier deployment of the release, unless it is gone.
	EndDeployment struct{ ID int64 }
	// Deploy shows the release as a deployment, or how it stands.
	Deploy struct {
		Request     forge.DeploymentRequest
		State       forge.DeploymentState
		Description string
		LogURL      string
		// Task is the deployment's name in status.report.
		Task string
	}
)

func (RepeatStatus) reportIntent()  {}
func (PostStatus) reportIntent()    {}
func (HoldStatus) reportIntent()    {}
func (EndDeployment) reportIntent() {}
func (Deploy) reportIntent()        {}

// ReportFacts holds what is known of a release's reports besides the release's own fields.
type ReportFacts struct {
	// Gates are the gates that the release waits for.
	Gates []v1alpha1.Gate
	// Words say how we name ourselves, and Environment where the release is deployed to; empty for
	// nowhere.
	Words       report.Options
	Environment string
	// Now is the time of the report.
	Now time.Time
	// Doubted says that the forge was asked what it has of the last status, and Standing is the newest
	// that it has; nil for none.
	Doubted  bool
	Standing *forge.Status
}

// NextOfReport says what to report of a release now, in this order.
func NextOfReport(release *v1alpha1.BatchRelease, facts ReportFacts) []ReportIntent {
	posts, last := report.Next(release, facts.Gates, facts.Words), release.Status.Report
	var next []ReportIntent
	if facts.Doubted && !stands(last, facts.Standing) && !follows(last, posts) {
		next = append(next, RepeatStatus{})
	}
	for _, post := range report.Waiting(release, facts.Words) {
		next = append(next, PostStatus{report.OfWaiting, post})
	}
	told := release.DeepCopy()
	for _, post := range posts {
		if until := heldUntil(told.Status.Report, post); facts.Now.Before(until) {
			next = append(next, HoldStatus{until})
			break
		}
		next = append(next, PostStatus{report.OfRelease, post})
		told.Status.Report = report.After(told.Status.Report, post, time.Time{})
	}
	return append(next, deploying(told, facts.Environment)...)
}

const (
	// betweenProgress is the least time between a status and one after it that only shows progress, and
	// betweenWaits that before one that names what a release waits for.
	betweenProgress = 10 * time.Second
	betweenWaits    = 2 * time.Second
)

// heldUntil returns the time from which a status is worth a request; zero for now. Outcomes and
// failures always are.
func heldUntil(last *v1alpha1.ForgeReport, post report.Post) time.Time {
	if last == nil || last.Time == nil || last.Commit != post.Status.SHA || last.State != string(forge.StatePending) || post.Status.State != forge.StatePending {
		return time.Time{}
	}
	if post.Content.Kind == v1alpha1.ReportUpdating {
		return last.Time.Add(betweenProgress)
	}
	return last.Time.Add(betweenWaits)
}

// stands reports whether the forge has what was posted last.
func stands(last *v1alpha1.ForgeReport, standing *forge.Status) bool {
	return standing != nil && string(standing.State) == last.State && standing.Description == forge.Description(last.Description)
}

// follows reports whether a status of the same commit is to be posted, which makes up for one that
// was lost.
func follows(last *v1alpha1.ForgeReport, posts []report.Post) bool {
	return slices.ContainsFunc(posts, func(p report.Post) bool { return p.Status.SHA == last.Commit })
}

// deploying shows a release of which something was told as a deployment, if the source asks for it.
func deploying(release *v1alpha1.BatchRelease, environment string) []ReportIntent {
	last := release.Status.Report
	if environment == "" || last == nil || release.Spec.Train != "" { // the train is the deployment
		return nil
	}
	request, state, description, ok := report.Deployment(release, environment)
	task := request.Task + "@" + request.SHA
	if !ok || last.DeploymentTask == task && last.DeploymentState == string(state) {
		return nil
	}
	var next []ReportIntent
	if last.DeploymentID != 0 && last.DeploymentTask != task && last.DeploymentState == string(forge.DeploymentInProgress) {
		next = append(next, EndDeployment{last.DeploymentID})
	}
	if active := activeBefore(last, task); active != 0 && state == forge.DeploymentSuccess {
		next = append(next, EndDeployment{active})
	}
	return append(next, Deploy{Request: request, State: state, Description: description, LogURL: last.URL, Task: task})
}

// activeBefore returns the deployment that is active beside that of a task; 0 for none.
func activeBefore(last *v1alpha1.ForgeReport, task string) int64 {
	if last.DeploymentTask != task && last.DeploymentState == string(forge.DeploymentSuccess) {
		return last.DeploymentID
	}
	return last.ActiveDeploymentID
}

// Deployed returns what to record once a deployment, which has the ID, is shown.
func Deployed(last *v1alpha1.ForgeReport, deploy Deploy, id int64) *v1alpha1.ForgeReport {
	next := last.DeepCopy()
	next.DeploymentID, next.DeploymentTask, next.DeploymentState = id, deploy.Task, string(deploy.State)
	next.ActiveDeploymentID = 0
	if deploy.State != forge.DeploymentSuccess {
		next.ActiveDeploymentID = activeBefore(last, deploy.Task)
	}
	return next
}
