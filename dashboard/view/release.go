package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Release is the page of one release.
type Release struct {
	Row

	UID      string
	Attempt  int64
	Revision string
	// Why says in one sentence what the release does, or why it stops.
	Why string
	// Warnings are facts to know before the release continues.
	Warnings []string
	// Source is the name of its ReleaseSource. Refused is the reason why its newest commit is not
	// applied, Trouble any other problem of it.
	Source, Refused, Trouble string
	// CommitAt is the address of the commit on the forge; empty if there is none.
	CommitAt string
	// Rollback reports whether the batches belong to a rollback; Revert is the pull request that
	// brings Git back in line.
	Rollback bool
	Revert   *Link
	// Merge are the open pull requests that people are to look at.
	Merge  []Link
	Queued *Queued
	// Changes is the difference that the release in progress makes in the template.
	Changes *Diff
	// Guards are the guards of the release.
	Guards  []Gate
	Batches []Batch
	// IsTrain says that the release has members in place of pods and revisions of its own.
	IsTrain   bool
	Members   []Member
	Pods      Pods
	Traffic   *Traffic
	Timeline  []Entry
	Revisions []Revision
	// Hidden names the missing parts: parts that the viewer may not read, in the API server's
	// words, and parts that are too large.
	Hidden []string
	Now    time.Time
}

// Link is a text with an address; the address is empty if a page may not link to it.
type Link struct{ Text, Address string }

// Queued is a newer template that waits.
type Queued struct {
	Commit, Revision string
	Since            Moment
}

// ReleaseOf returns the page of a release; zones says that pods are grouped by zone and not by
// node.
func ReleaseOf(sight *show.Sight, zones bool, now time.Time) *Release {
	release := sight.Release
	status := &release.Status
	page := &Release{
		Row: RowOf(release, now), UID: string(release.UID), Attempt: status.Attempt, Revision: status.UpdateRevision,
		Why: line(show.Progress(release)), Rollback: status.Rollback != nil, Warnings: warningsOf(release),
		Guards: guardsOf(sight.Whole), Batches: batchesOf(sight.Whole), Pods: podsOf(sight.Whole, zones, now), Traffic: trafficOf(release),
		IsTrain: release.IsTrain(), Members: membersOf(sight.Whole), Changes: changesOf(sight), Revisions: revisionsOf(sight), Now: now,
	}
	for _, hidden := range sight.Hidden {
		page.Hidden = append(page.Hidden, line(hidden))
	}
	page.Timeline = timelineOf(sight)
	page.Source = cell(release.Labels[v1alpha1.SourceLabel])
	if sight.Source != nil {
		page.CommitAt = commitAt(sight.Source, status.Commit)
		page.Trouble = line(show.SourceTrouble(sight.Source))
	}
	if why := show.Refused(release, sight.Source); why != "" {
		page.refuse(why)
		page.Refused, page.Trouble = line(why), ""
	}
	if queued := status.Queued; queued != nil {
		page.Queued = &Queued{plain.Commit(queued.Commit), queued.Revision, Moment{queued.Since.Time}}
	}
	page.Revert = revertOf(status)
	page.Merge = page.toMerge(status)
	return page
}

// toMerge returns the open pull requests of gates, and the one that brings Git back in line.
func (r *Release) toMerge(status *v1alpha1.BatchReleaseStatus) []Link {
	var links []Link
	for _, batch := range r.Batches {
		for _, gate := range batch.Gates {
			if batch.Current && gate.Mark == Waiting && gate.Pull != nil && gate.Pull.Address != "" {
				links = append(links, Link{"Open " + gate.Pull.Text, gate.Pull.Address})
			}
		}
	}
	if revert := status.Revert; r.Revert != nil && r.Revert.Address != "" && revert.State == v1alpha1.RevertOpen {
		links = append(links, Link{fmt.Sprintf("Open pull request #%d", revert.PullRequest.Number), r.Revert.Address})
	}
	return links
}

// warningsOf returns the conditions of a release that the sentence about it does not mention.
func warningsOf(release *v1alpha1.BatchRelease) []string {
	var warnings []string
	status := &release.Status
	unfit := status.State == v1alpha1.StateWillNotFit
	drifted := status.State.Differs() || status.StoppedFor(v1alpha1.StopWorkloadChanged)
	for condition, isSaid := range map[string]bool{
		v1alpha1.ConditionBeyondStep:       false,
		v1alpha1.ConditionRolledBackServes: false,
		v1alpha1.ConditionReplicaFailure:   false,
		v1alpha1.ConditionPreflightFailed:  unfit,
		v1alpha1.ConditionDrifted:          drifted,
	} {
		if found := meta.FindStatusCondition(status.Conditions, condition); found != nil && !isSaid {
			warnings = append(warnings, line(found.Message))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// revertOf returns the pull request of the last rollback.
func revertOf(status *v1alpha1.BatchReleaseStatus) *Link {
	revert := status.Revert
	switch {
	case revert == nil || revert.Attempt != status.Attempt:
		return nil
	case revert.State == v1alpha1.RevertRefused:
		return &Link{Text: line("Change Git by hand: " + revert.Message)}
	case revert.PullRequest == nil:
		return nil
	case revert.State == v1alpha1.RevertOpen:
		return &Link{fmt.Sprintf("Merge pull request #%d to bring Git back in line", revert.PullRequest.Number), link(revert.PullRequest.URL)}
	default:
		return &Link{fmt.Sprintf("Pull request #%d that brings Git back in line: %s", revert.PullRequest.Number, revert.State), link(revert.PullRequest.URL)}
	}
}

// Batch is one step, with its gates.
type Batch struct {
	// Number counts from 1.
	Number int
	Mark   Mark
	// Current says that the release is at this batch.
	Current bool
	// Share is how many pods run the new version at its end, as in the strategy; Requests is their
	// share of requests.
	Share, Requests string
	Gates           []Gate
}

// Gate is a gate that a batch waits for, or will wait for.
type Gate struct {
	Name, UID string
	Type      string
	Mark      Mark
	// Text is its message, Needs the people or facts that pass it.
	Text, Needs string
	// Since is when it opened, or was decided; zero for one that is not open yet.
	Since Moment
	// Pull is its pull request; nil where there is none.
	Pull *Link
	// Evidence are the facts behind its decision.
	Evidence []Evidence
	// Plots are the courses of its comparisons.
	Plots []Plot
	// Record is the file that passes it if there is no forge.
	Record string
	// Opened says that the Gate exists.
	Opened bool
}

// Evidence is one fact behind a decision.
type Evidence struct {
	Kind, Actor, Detail string
	Link                string
}

func batchesOf(w *show.Whole) []Batch {
	spec, status := &w.Release.Spec, &w.Release.Status
	rollback := status.Rollback != nil
	steps := spec.Steps(rollback)
	batches := make([]Batch, 0, len(steps))
	for i, step := range steps {
		batch := Batch{
			Number: i + 1, Mark: markOf(show.BatchState(w.Release, i)), Share: cell(verb.ShareWords(step.Replicas)),
			Current: status.Entered() && int(status.CurrentStepIndex) == i && status.Phase != v1alpha1.PhaseCompleted,
		}
		if weight, shared := spec.TrafficOf(rollback, i); shared {
			batch.Requests = v1alpha1.RequestWords(weight, len(step.Matches))
		}
		gates := show.OpenGates(w, i)
		for j := range gates {
			batch.Gates = append(batch.Gates, gateOf(&gates[j]))
		}
		if len(gates) == 0 && (batch.Mark == Plain || batch.Mark == Moving || batch.Mark == Bad) {
			for _, policy := range spec.Gates(rollback, i) {
				batch.Gates = append(batch.Gates, Gate{Type: string(policy.Type()), Mark: Plain, Needs: line(show.NeedsAt(w, i, policy))})
			}
		}
		batches = append(batches, batch)
	}
	return batches
}

func gateOf(gate *v1alpha1.Gate) Gate {
	status := &gate.Status
	shown := Gate{
		Name: gate.Name, UID: string(gate.UID), Type: string(gate.Spec.Type), Mark: Waiting, Opened: true,
		Text: line(cmp.Or(status.Message, "waits")), Needs: line(show.Needs(gate.Spec.Policy)), Since: Moment{gate.CreationTimestamp.Time},
		Plots: plotsOf(gate),
	}
	switch status.Decision {
	case v1alpha1.DecisionPassed:
		shown.Mark = Good
	case v1alpha1.DecisionRejected:
		shown.Mark = Bad
	}
	if status.DecidedAt != nil {
		shown.Since = Moment{status.DecidedAt.Time}
	}
	if pull := status.PullRequest; pull != nil && pull.Number > 0 {
		shown.Pull = &Link{fmt.Sprintf("pull request #%d", pull.Number), link(pull.URL)}
		if shown.Pull.Address != "" { // the link has the address, which is long on a phone
			shown.Text = line(cmp.Or(strings.TrimSuffix(status.Message, ": "+pull.URL), "waits"))
		}
	}
	if status.Record != nil {
		shown.Record = line(status.Record.Path)
	}
	for _, fact := range status.Evidence[:min(len(status.Evidence), mostEvidence)] {
		shown.Evidence = append(shown.Evidence, Evidence{line(fact.Kind), cell(fact.Actor), line(fact.Detail), link(fact.URL)})
	}
	return shown
}

// mostEvidence is the number of facts that are shown of a gate.
const mostEvidence = 20

// Traffic is the share of requests of each version.
type Traffic struct {
	// Weight is the current percentage of the new version, Target the one that it moves to.
	Weight, Target int32
	New, Stable    string
	Mark           Mark
	// Awaits is the cause of a wait, Problem an error to fix.
	Awaits, Problem string
	// Plan is the share of each batch.
	Plan []int32
	// Batch is the current one, counted from 1.
	Batch int
}

func trafficOf(release *v1alpha1.BatchRelease) *Traffic {
	told, spec := release.Status.Traffic, &release.Spec
	if told == nil || spec.Strategy.Traffic == nil {
		return nil
	}
	shown := &Traffic{
		Weight: min(max(told.Weight, 0), 100), Target: told.TargetWeight, New: told.CanaryRevision, Stable: told.StableRevision, Mark: Good,
		Batch: int(release.Status.CurrentStepIndex) + 1,
	}
	if told.Awaits != "" {
		shown.Mark, shown.Awaits = Moving, line(told.AwaitsWords())
	}
	if told.Problem != nil {
		shown.Mark, shown.Problem = Bad, line(told.Problem.Words())
	}
	for i := range spec.Strategy.Steps {
		weight, _ := spec.TrafficOf(false, i)
		shown.Plan = append(shown.Plan, weight)
	}
	return shown
}
