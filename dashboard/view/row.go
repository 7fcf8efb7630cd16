package view

import (
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Row is a release in the list.
type Row struct {
	Namespace, Name string
	// Workload is its kind and name, such as deployment/web.
	Workload string
	// Train is the train of a member; empty for any other release.
	Train string
	// Standing is its state in one word.
	Standing string
	Mark     Mark
	// Batch counts from 1; 0 before the first.
	Batch, Batches int
	// Updated and Available count pods of the new version. Target is the number that the batch needs,
	// Replicas that of the whole workload.
	Updated, Available, Target, Replicas int32
	// Weight is the percentage of requests that the new version gets, if Shared.
	Weight int32
	Shared bool
	// WaitsFor is its need to continue; empty if there is none.
	WaitsFor string
	// Message is empty for a release that completed.
	Message string
	Since   Moment
	// Version shortens Images, which lists them all.
	Version, Images string
	Commit          string
	Author          string
	Subject         string
	Created         Moment

	// asks are the people who can let it continue.
	asks asks
	// log lists events that the history lacks.
	log []v1alpha1.LogEntry
	// source is the label that names the ReleaseSource.
	source string
	// found is the text that searches look through.
	found string
}

// asks are the people who can let a release continue.
type asks struct {
	// approver: a person with permission to write the status of the release; operator: one with
	// permission to write the release.
	approver, operator bool
	// people are the approvers that policies name, in lower case; anybody says that a policy names
	// nobody.
	people  []string
	anybody bool
}

// RowOf returns the row of a release.
func RowOf(release *v1alpha1.BatchRelease, now time.Time) Row {
	status := &release.Status
	author, subject := show.CommitOf(release)
	row := Row{
		Namespace: release.Namespace, Name: release.Name,
		Workload: show.WorkloadName(release), Train: cell(release.Spec.Train),
		Standing: show.Standing(release), Mark: markOf(show.StateOf(release)),
		Batches: len(release.Spec.Steps(status.Rollback != nil)),
		Updated: status.UpdatedReplicas, Available: status.UpdatedAvailableReplicas,
		Target: status.TargetReplicas, Replicas: status.Replicas,
		WaitsFor: cell(show.WaitsFor(release, now)), Message: cell(status.Message),
		Since: Moment{status.StandsSince().Time}, Created: Moment{release.CreationTimestamp.Time},
		Commit: plain.Commit(status.Commit), Author: cell(author), Subject: cell(subject), asks: asksOf(release),
		Version: cell(show.ReleasedVersion(release)), Images: cell(strings.Join(status.Images, ", ")), source: release.Labels[v1alpha1.SourceLabel], log: status.Log,
	}
	if show.OutcomeOf(release) == show.Completed {
		row.Message = ""
	}
	if status.Entered() {
		row.Batch = min(int(status.CurrentStepIndex)+1, row.Batches)
	}
	if row.Standing == "" {
		row.Standing, row.Mark = "New", Plain
	}
	if status.Traffic != nil {
		row.Weight, row.Shared = status.Traffic.Weight, true
	}
	row.found = strings.ToLower(strings.Join([]string{
		row.Namespace + "/" + row.Name, row.Workload, row.Standing, row.Author, row.Subject, row.Images, status.Commit, status.UpdateRevision, row.Train,
	}, "\n"))
	return row
}

// asksOf returns who can let a release continue.
func asksOf(release *v1alpha1.BatchRelease) asks {
	status := &release.Status
	who := asks{operator: status.HasFailed() || status.StoppedFor(v1alpha1.StopWorkloadChanged)}
	switch {
	case status.State.AtGates():
		who.ofGates(release)
	case status.State == v1alpha1.StatePausePoint:
		who.approver = true
	}
	who.approver = who.approver || slices.ContainsFunc(status.Guards, isUndecided)
	return who
}

// isUndecided reports whether a gate that metrics can't decide waits for an approver.
func isUndecided(g v1alpha1.GateReference) bool {
	return g.Undecided && g.Decision != v1alpha1.DecisionPassed && g.Decision != v1alpha1.DecisionRejected
}

// ofGates adds who can open the gates of the current step.
func (who *asks) ofGates(release *v1alpha1.BatchRelease) {
	status := &release.Status
	open := func(kind v1alpha1.GateType) bool {
		return slices.ContainsFunc(status.Gates, func(g v1alpha1.GateReference) bool {
			return g.Type == kind && g.Decision != v1alpha1.DecisionPassed && g.Decision != v1alpha1.DecisionRejected
		})
	}
	who.approver = open(v1alpha1.GateManual) || slices.ContainsFunc(status.Gates, isUndecided)
	rollback := status.Rollback != nil
	if !open(v1alpha1.GatePullRequest) || int(status.CurrentStepIndex) >= len(release.Spec.Steps(rollback)) {
		return
	}
	for _, policy := range release.Spec.Gates(rollback, int(status.CurrentStepIndex)) {
		if pull := policy.PullRequest; pull != nil {
			who.anybody = who.anybody || len(pull.Approvers) == 0 && len(pull.Teams) == 0
			for _, person := range pull.Approvers {
				login, _, _ := strings.Cut(strings.ToLower(person), "#")
				who.people = append(who.people, login)
			}
		}
	}
}

// Viewer is the person who views a list, as far as it matters for what waits for them.
type Viewer struct {
	Name string
	// Approves and Operates report whether the viewer may write the status of releases in a namespace,
	// and the releases.
	Approves, Operates func(namespace string) bool
}

// AsksFor reports whether a release waits for somebody like the viewer: at a gate that they may
// answer, or for a retry. A pull request waits for the people whom its policy names: the viewer is
// one of them if the policy has their user name in the cluster, or the part of it before an @.
func (r *Row) AsksFor(viewer Viewer) bool {
	switch {
	case r.asks.approver && viewer.Approves(r.Namespace):
		return true
	case r.asks.operator && viewer.Operates(r.Namespace):
		return true
	case r.asks.anybody && viewer.Approves(r.Namespace):
		return true
	}
	login, _, _ := strings.Cut(strings.ToLower(viewer.Name), "@")
	return slices.Contains(r.asks.people, login)
}
