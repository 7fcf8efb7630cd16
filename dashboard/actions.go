package dashboard

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/dashboard/view"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// dashboardOwner is the field manager of what people write with the dashboard.
const dashboardOwner = "sluice-dashboard"

// patchGate is the right to force gates.
var patchGate = access.Verb{Verb: "patch", Group: v1alpha1.GroupVersion.Group, Resource: "gates", Subresource: "status"}

// deed is one thing that viewers can do with a release.
type deed struct {
	verb  view.Verb
	needs access.Verb
	// compares are the facts that must be as the person saw them.
	compares facts
	// decide returns what to write, by the rules of the command line.
	decide func(situation, asked) ([]steer.Change, error)
	// done reports whether what the form requests has been done already.
	done func(situation, asked) bool
	// taken is nil if there is nothing to wait for except the decisions of gates.
	taken act.Taken
}

// situation is a release as it is, with the gates that it waits for and the templates that it
// keeps.
type situation struct {
	release *v1alpha1.BatchRelease
	gates   []v1alpha1.Gate
	// all includes the gates that it no longer waits for.
	all  []v1alpha1.Gate
	kept []plan.Kept
}

// asked is what a form requests.
type asked struct {
	by, words string
	// gates are the UIDs of the gates that it answers.
	gates []string
	batch int32
	// to is the revision of a rollback; empty for the previous one, which was before when the person
	// saw the page.
	to, before string
	// saw is how the release was when the person decided.
	saw seen
}

// deeds are in the order of their buttons.
var deeds = []deed{
	{view.Approve, patchStatus, everyFact, answering(steer.Approve), answered(v1alpha1.VerdictApprove), act.PausePointTaken},
	{view.Reject, patchStatus, everyFact, answering(steer.Reject), answered(v1alpha1.VerdictReject), nil},
	{view.Pause, patchRelease, releaseFacts, suspending(true), suspended(true), act.SuspendTaken(true)},
	{view.Resume, patchRelease, releaseFacts, suspending(false), suspended(false), act.SuspendTaken(false)},
	{view.Retry, patchRelease, phaseFacts, retrying, retried, act.RetryTaken},
	{view.Jump, patchStatus, batchFacts, jumping, jumped, act.JumpTaken},
	{view.RollBack, patchRelease, phaseFacts, rollingBack, rolledBack, act.RollbackTaken},
	{view.Force, patchGate, everyFact, answering(steer.Force), forced, nil},
}

func deedOf(verb string) *deed {
	i := slices.IndexFunc(deeds, func(d deed) bool { return string(d.verb) == verb })
	if i < 0 {
		return nil
	}
	return &deeds[i]
}

// actions returns the buttons for what a viewer may do with a release now.
func (d *Dashboard) actions(ctx context.Context, viewer *access.Viewer, sight *show.Sight) ([]Action, error) {
	var actions []Action
	now := situationOf(sight)
	for i := range deeds {
		one := &deeds[i]
		if !one.possible(now, viewer.Name) {
			continue
		}
		may, err := d.rights.May(ctx, viewer, sight.Release.Namespace, one.needs)
		if err != nil {
			return nil, err
		}
		if may {
			actions = append(actions, Action{Text: one.verb.Button(), Address: addressOf(sight.Release, string(one.verb)), Kind: kindOf(one.verb), Apart: one.verb.Rare()})
		}
	}
	return actions, nil
}

func kindOf(verb view.Verb) string {
	switch {
	case verb.Danger():
		return "danger"
	case verb == view.Approve:
		return "primary"
	}
	return ""
}

func addressOf(release *v1alpha1.BatchRelease, verb string) string {
	address := "/releases/" + release.Namespace + "/" + release.Name
	if verb != "" {
		address += "/" + verb
	}
	return address
}

// situationOf returns how a release is, as a viewer sees it.
func situationOf(sight *show.Sight) situation {
	now := situation{release: sight.Release, all: sight.Gates, kept: act.Templates(sight.Kept)}
	for _, reference := range sight.Release.Status.Gates {
		for i := range sight.Gates {
			if sight.Gates[i].Name == reference.Name && sight.Gates[i].Spec.ReleaseRef.UID == sight.Release.UID {
				now.gates = append(now.gates, sight.Gates[i])
			}
		}
	}
	return now
}

// possible reports whether the release allows the action now.
func (d *deed) possible(now situation, who string) bool {
	switch d.verb {
	case view.Jump:
		return len(view.BatchesOf(now.release, 0)) > 0
	case view.RollBack:
		return len(targets(now, "")) > 0
	default:
		_, err := d.decide(now, asked{by: who, gates: uids(now.gates)})
		return err == nil
	}
}

func uids(gates []v1alpha1.Gate) []string {
	all := make([]string, len(gates))
	for i := range gates {
		all[i] = string(gates[i].UID)
	}
	return all
}

// chosen returns the gates that a form answers.
func (s situation) chosen(by asked) []v1alpha1.Gate {
	return slices.DeleteFunc(slices.Clone(s.gates), func(g v1alpha1.Gate) bool { return !slices.Contains(by.gates, string(g.UID)) })
}

// errNoName is for people whom the API server does not name.
var errNoName = errors.New("the API server does not say who you are, and answers record a name: get permission to create SelfSubjectReviews, or answer with kubectl")

// answering decides an answer to the chosen gates and no others. A person without a name can't
// answer: the answer records the name.
func answering(how func(*v1alpha1.BatchRelease, []v1alpha1.Gate, steer.Words) ([]steer.Change, error)) func(situation, asked) ([]steer.Change, error) {
	return func(now situation, a asked) ([]steer.Change, error) {
		if a.by == "" {
			return nil, apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("gates").GroupResource(), now.release.Name, errNoName)
		}
		return how(now.release, now.chosen(a), steer.Words{By: a.by, Text: a.words})
	}
}

// answered reports whether the person has already given this answer to each of the gates.
func answered(verdict v1alpha1.Verdict) func(situation, asked) bool {
	decision := v1alpha1.DecisionPassed
	if verdict == v1alpha1.VerdictReject {
		decision = v1alpha1.DecisionRejected
	}
	return func(now situation, a asked) bool {
		return ofEach(now, a, func(gate *v1alpha1.Gate) bool {
			said := slices.ContainsFunc(now.release.Status.Answers, func(one v1alpha1.Answer) bool {
				return one.Gate == gate.UID && one.By == a.by && one.Verdict == verdict
			})
			return said || gate.Status.Decision == decision &&
				slices.ContainsFunc(gate.Status.Evidence, func(fact v1alpha1.Evidence) bool { return fact.Actor == a.by })
		})
	}
}

func forced(now situation, a asked) bool {
	return ofEach(now, a, func(gate *v1alpha1.Gate) bool { return gate.Status.Force != nil && gate.Status.Force.By == a.by })
}

// ofEach reports whether something holds for each gate that a form answers, and the form answers at
// least one.
func ofEach(now situation, a asked, holds func(*v1alpha1.Gate) bool) bool {
	for _, uid := range a.gates {
		i := slices.IndexFunc(now.all, func(g v1alpha1.Gate) bool { return string(g.UID) == uid })
		if i < 0 || !holds(&now.all[i]) {
			return false
		}
	}
	return len(a.gates) > 0
}

func one(change steer.Change, err error) ([]steer.Change, error) {
	if err != nil {
		return nil, err
	}
	return []steer.Change{change}, nil
}

func suspending(suspend bool) func(situation, asked) ([]steer.Change, error) {
	return func(now situation, _ asked) ([]steer.Change, error) {
		return one(steer.Suspend(now.release, suspend, act.SuspendedByGit(now.release)))
	}
}

func suspended(suspend bool) func(situation, asked) bool {
	return func(now situation, _ asked) bool { return now.release.Spec.Suspend == suspend }
}

func retrying(now situation, _ asked) ([]steer.Change, error) { return one(steer.Retry(now.release)) }

func retried(now situation, _ asked) bool {
	_, asked := now.release.Annotations[v1alpha1.RetryAnnotation]
	return asked
}

func jumping(now situation, a asked) ([]steer.Change, error) {
	return one(steer.Jump(now.release, a.batch))
}

func jumped(now situation, a asked) bool {
	next := now.release.Status.NextStepIndex
	return next != nil && *next == a.batch-1
}

func rollingBack(now situation, a asked) ([]steer.Change, error) {
	return one(steer.RollBack(now.release, now.kept, a.to))
}

func rolledBack(now situation, a asked) bool {
	going := plan.RollsBackTo(now.release)
	value, asked := now.release.Annotations[v1alpha1.RollbackAnnotation]
	switch {
	case a.to == "":
		return asked && value == plan.Previous || going != "" && going == a.before
	default:
		return asked && value == a.to || going == a.to
	}
}

// targets returns the revisions that a release can be rolled back to, the previous one first.
func targets(now situation, chosen string) []view.Choice {
	var choices []view.Choice
	before := plan.Before(now.release)
	if _, err := steer.RollBack(now.release, now.kept, ""); err == nil {
		text := "the previous version"
		if before != "" {
			text += ": " + before
		}
		choices = append(choices, view.Choice{Value: "", Text: text, Checked: chosen == ""})
	}
	for _, kept := range plan.Stable(now.kept) {
		if kept.Revision == before || kept.Revision == now.release.Status.UpdateRevision {
			continue
		}
		if _, err := steer.RollBack(now.release, now.kept, kept.Revision); err == nil {
			choices = append(choices, view.Choice{Value: kept.Revision, Text: (&kept).String(), Checked: chosen == kept.Revision})
		}
	}
	return choices
}
