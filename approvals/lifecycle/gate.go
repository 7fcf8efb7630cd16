package lifecycle

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/report"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/plain"
)

// GateIntent is one thing to do for a gate: ClaimGate, OpenPull, MovePull, RewritePull, KeepNames,
// RecordGate, CommentPull, ClosePull, RemoveBranch or LetGateGo.
//
//sumtype:decl
type GateIntent interface{ gateIntent() }

type (
	// ClaimGate writes onto the gate that something is about to be opened for it, and where.
	ClaimGate struct{ SourceLabel string }
	// OpenPull opens the pull request, or finds the one that was opened before, and writes it down.
	OpenPull struct {
		Request forge.ChangeRequest
		Digest  string
	}
	// MovePull keeps the branch of the pull request on the tracked branch, if that was rewritten since
	// MadeOn.
	MovePull struct {
		Request forge.ChangeRequest
		MadeOn  string
	}
	// RewritePull tells people what has changed since the pull request was opened.
	RewritePull struct {
		Number int
		Text   Text
	}
	// KeepNames writes down whom the names in the policy mean, on the source as it was judged.
	KeepNames struct{ Added []v1alpha1.NamedAccount }
	// RecordGate writes a decision. The status of the gate's pull request stays.
	RecordGate struct{ Status v1alpha1.GateStatus }
	// CommentPull says below a pull request why its merge was refused.
	CommentPull struct {
		Number       int
		Text, Digest string
	}
	// ClosePull closes a pull request that is not needed any more, and says why.
	ClosePull struct {
		Number          int
		Branch, Comment string
	}
	// RemoveBranch removes the branch of a pull request.
	RemoveBranch struct{ Branch string }
	// LetGateGo takes the claim off the gate: nothing is open for it any more.
	LetGateGo struct{}
)

func (ClaimGate) gateIntent()    {}
func (OpenPull) gateIntent()     {}
func (MovePull) gateIntent()     {}
func (RewritePull) gateIntent()  {}
func (KeepNames) gateIntent()    {}
func (RecordGate) gateIntent()   {}
func (CommentPull) gateIntent()  {}
func (ClosePull) gateIntent()    {}
func (RemoveBranch) gateIntent() {}
func (LetGateGo) gateIntent()    {}

// Text holds the text of a pull request, with a digest that tells two texts apart.
type Text struct{ Title, Body, Digest string }

// GateFacts holds what is known of a gate besides its own fields.
type GateFacts struct {
	gate.Facts

	// Stage is the stage that the facts were gathered for.
	Stage GateStage
	// Decision is the gate's decision by the facts; nil if the stage needs none yet.
	Decision *gate.Decision
	// Text is the pull request's text, set while the pull request is unopened or open.
	Text Text
	// Unmet are the accounts of policy names that the source does not know yet.
	Unmet []v1alpha1.NamedAccount
	// BranchGoes reports whether the forge removes merged branches, set for a gate that has passed.
	BranchGoes bool
}

// GateStage is a gate's stage of life on the forge. It determines which facts the gate needs.
type GateStage int

// The stages of a gate.
const (
	// GateIdle: the release does not wait for the gate.
	GateIdle GateStage = iota
	// GateUnasked: it is judged without the forge, because it was forced or because the source has
	// none.
	GateUnasked
	// GateUnopened: its pull request is to be opened, or to be found.
	GateUnopened
	// GateAsked: the forge is asked what it is judged by.
	GateAsked
	// GateOver: it has passed or is deleted, and what was opened for it is closed.
	GateOver
)

// GateStageOf returns the stage of a gate, with its release and source as the cluster has them.
func GateStageOf(g *v1alpha1.Gate, facts gate.Facts) GateStage {
	switch {
	case GateIsOver(g):
		return GateOver
	case !gate.Awaited(g, facts.Release):
		return GateIdle
	case g.Status.Force != nil || facts.Source == nil || facts.Source.Spec.Forge == nil:
		return GateUnasked
	case g.Spec.Type == v1alpha1.GatePullRequest && !Opened(g):
		return GateUnopened
	default:
		return GateAsked
	}
}

// GateIsOver reports whether a gate needs nothing any more but what was opened for it to be closed.
func GateIsOver(g *v1alpha1.Gate) bool {
	return g.DeletionTimestamp != nil || g.Status.Decision == v1alpha1.DecisionPassed
}

// Opened reports whether a gate knows its pull request.
func Opened(g *v1alpha1.Gate) bool {
	return g.Status.PullRequest != nil && g.Status.PullRequest.Number != 0
}

// Claimed reports whether something may have been opened for a gate.
func Claimed(g *v1alpha1.Gate) bool { return slices.Contains(g.Finalizers, v1alpha1.ForgeFinalizer) }

// NextOfGate returns the intents for a gate, in the order to carry them out.
func NextOfGate(g *v1alpha1.Gate, facts GateFacts) []GateIntent {
	switch facts.Stage {
	case GateUnasked:
		return judged(g, facts)
	case GateUnopened:
		return opening(g, facts)
	case GateAsked:
		if facts.Forge == nil { // the next poll is not due
			return nil
		}
		return asked(g, facts)
	case GateOver:
		return closing(g, facts)
	case GateIdle:
	}
	return nil
}

func opening(g *v1alpha1.Gate, facts GateFacts) []GateIntent {
	request := requestFor(g, facts)
	if Claimed(g) {
		return []GateIntent{OpenPull{request, facts.Text.Digest}}
	}
	request.First = true
	return []GateIntent{ClaimGate{facts.Release.Labels[v1alpha1.SourceLabel]}, OpenPull{request, facts.Text.Digest}}
}

func requestFor(g *v1alpha1.Gate, facts GateFacts) forge.ChangeRequest {
	return forge.ChangeRequest{
		Branch:  record.Branch(g),
		Base:    facts.Source.Branch(),
		Path:    record.Path(g.Namespace, g.Spec.ReleaseRef.Name),
		Content: record.Format(record.Of(g)),
		Tip:     facts.Source.Status.ObservedCommit,
		Tree:    facts.Source.Status.ObservedTree,
		Message: report.CommitMessage(g),
		At:      g.CreationTimestamp.Time,
		Title:   facts.Text.Title,
		Body:    facts.Text.Body,
	}
}

// asked returns what follows from what the forge says: first what people read is brought up to
// date, then whom names mean is kept, and only then the gate is decided.
func asked(g *v1alpha1.Gate, facts GateFacts) []GateIntent {
	var next []GateIntent
	if a := facts.Forge.Approval; a != nil && a.PullRequest.State == forge.PullOpen && a.PullRequest.Head.Ref == record.Branch(g) {
		request, known := requestFor(g, facts), g.Status.PullRequest
		if known.Base != "" && request.Tip != "" && known.Base != request.Tip {
			next = append(next, MovePull{request, known.Base})
		}
		if facts.Text.Digest != known.TextDigest {
			next = append(next, RewritePull{int(known.Number), facts.Text})
		}
	}
	if len(facts.Unmet) > 0 {
		next = append(next, KeepNames{facts.Unmet})
	}
	return append(next, judged(g, facts)...)
}

// judged returns the decision, where it says something new, and what people are told who have
// answered in vain.
func judged(g *v1alpha1.Gate, facts GateFacts) []GateIntent {
	if facts.Decision == nil {
		return nil
	}
	var next []GateIntent
	status := Fit(facts.Decision.Status)
	if !equality.Semantic.DeepEqual(g.Status, status) {
		next = append(next, RecordGate{status})
	}
	if status.Refusal == nil || status.PullRequest == nil || facts.Forge == nil {
		return next
	}
	decided := g.DeepCopy()
	decided.Status = status
	text := report.Refused(decided)
	if digest := Digest(text); status.Refusal.ToldDigest != digest {
		next = append(next, CommentPull{int(status.PullRequest.Number), text, digest})
	}
	return next
}

func closing(g *v1alpha1.Gate, facts GateFacts) []GateIntent {
	switch remove := (RemoveBranch{record.Branch(g)}); {
	case !Claimed(g):
		return nil
	case facts.Source == nil || facts.Source.Spec.Forge == nil:
		return []GateIntent{LetGateGo{}}
	case PassedOnForge(g) && facts.BranchGoes:
		return []GateIntent{LetGateGo{}}
	case PassedOnForge(g) || !Opened(g):
		return []GateIntent{remove, LetGateGo{}}
	default:
		return []GateIntent{ClosePull{int(g.Status.PullRequest.Number), remove.Branch, report.Voided(g, facts.Release)}, remove, LetGateGo{}}
	}
}

// PassedOnForge reports whether a gate has passed by its policy, so that its pull request is
// merged.
func PassedOnForge(g *v1alpha1.Gate) bool {
	return g.Status.Decision == v1alpha1.DecisionPassed && g.Forced() == nil
}

// patience is the time for which a deleted gate waits for a forge that can't be reached.
const patience = 15 * time.Minute

// GivesUp reports whether a deleted gate goes although its pull request stays open: the forge
// refuses to close it, or the gate has waited for too long.
func GivesUp(g *v1alpha1.Gate, problem error, now time.Time) bool {
	refused := []forge.Kind{forge.NotFound, forge.Forbidden, forge.Invalid}
	return slices.Contains(refused, forge.KindOf(problem)) ||
		g.DeletionTimestamp != nil && now.Sub(g.DeletionTimestamp.Time) >= patience
}

// CloseAgain returns when to try again to close what is open for a gate, where the forge allows it
// at a time.
func CloseAgain(g *v1alpha1.Gate, allowed time.Time) time.Time {
	if g.DeletionTimestamp == nil {
		return allowed
	}
	if end := g.DeletionTimestamp.Add(patience); end.Before(allowed) {
		return end
	}
	return allowed
}

// OpenedStatus returns the status of a gate whose pull request was opened, or found.
func OpenedStatus(g *v1alpha1.Gate, source *v1alpha1.ReleaseSource, open OpenPull, pull forge.PullRequest) v1alpha1.GateStatus {
	status := *g.Status.DeepCopy()
	status.Decision = v1alpha1.DecisionWaiting
	status.Message = fmt.Sprintf("waits for pull request #%d to be merged: %s", pull.Number, pull.URL)
	status.PullRequest = &v1alpha1.PullRequestReference{
		Source: v1alpha1.SourceReference{Namespace: source.Namespace, Name: source.Name},
		Branch: open.Request.Branch, Number: int64(pull.Number), URL: pull.URL, TextDigest: open.Digest,
		Base: open.Request.Tip, Head: pull.Written,
	}
	return status
}

// TroubledStatus returns the status of a gate of which the forge can't be asked.
func TroubledStatus(g *v1alpha1.Gate, problem error) v1alpha1.GateStatus {
	status := *g.Status.DeepCopy()
	if status.Decision == "" {
		status.Decision = v1alpha1.DecisionWaiting
	}
	status.Message = "the forge can't be asked: " + problem.Error()
	return Fit(status)
}

// longestMessage of a gate, in bytes: forges, apps and people say what they like.
const longestMessage = 1000

// Fit returns a status with a message that fits.
func Fit(status v1alpha1.GateStatus) v1alpha1.GateStatus {
	status.Message = plain.UpTo(plain.Line(status.Message), longestMessage)
	return status
}
