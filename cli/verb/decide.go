package verb

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// errNoName refuses answers of people whom the API server does not name.
var errNoName = errors.New("the API server does not say who you are, and answers record a name: get permission to create SelfSubjectReviews, or answer with kubectl")

// answer decides an answer to the chosen gates and no others. The answer records a name, so a
// person without one can't give it.
func answer(how func(*v1alpha1.BatchRelease, []v1alpha1.Gate, steer.Words) ([]steer.Change, error), now Situation, r Request) ([]steer.Change, error) {
	if r.By == "" {
		return nil, apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("gates").GroupResource(), now.Release.Name, errNoName)
	}
	chosen := slices.DeleteFunc(slices.Clone(now.Gates), func(g v1alpha1.Gate) bool { return !slices.Contains(r.Gates, string(g.UID)) })
	return how(now.Release, chosen, steer.Words{By: r.By, Text: r.Text, Only: r.Only})
}

func approve(now Situation, r Request) ([]steer.Change, error) { return answer(steer.Approve, now, r) }
func reject(now Situation, r Request) ([]steer.Change, error)  { return answer(steer.Reject, now, r) }
func force(now Situation, r Request) ([]steer.Change, error)   { return answer(steer.Force, now, r) }

// answered reports whether the person has already given a verdict on each of the gates.
func answered(verdict v1alpha1.Verdict, decision v1alpha1.Decision) func(Situation, Request) bool {
	return func(now Situation, r Request) bool {
		return ofEach(now, r, func(gate *v1alpha1.Gate) bool {
			said := slices.ContainsFunc(now.Release.Status.Answers, func(one v1alpha1.Answer) bool {
				return one.Gate == gate.UID && one.By == r.By && one.Verdict == verdict
			})
			return said || gate.Status.Decision == decision &&
				slices.ContainsFunc(gate.Status.Evidence, func(fact v1alpha1.Evidence) bool { return fact.Actor == r.By })
		})
	}
}

func forced(now Situation, r Request) bool {
	return ofEach(now, r, func(gate *v1alpha1.Gate) bool { return gate.Status.Force != nil && gate.Status.Force.By == r.By })
}

// ofEach reports whether something holds for each gate of a request, and the request has at least
// one.
func ofEach(now Situation, r Request, holds func(*v1alpha1.Gate) bool) bool {
	for _, uid := range r.Gates {
		i := slices.IndexFunc(now.All, func(g v1alpha1.Gate) bool { return string(g.UID) == uid })
		if i < 0 || !holds(&now.All[i]) {
			return false
		}
	}
	return len(r.Gates) > 0
}

// answerWaits reports whether a gate does not count an answer of a person yet.
func answerWaits(now Situation, who string) bool {
	return slices.ContainsFunc(now.Release.Status.Answers, func(a v1alpha1.Answer) bool {
		return a.By == who && slices.ContainsFunc(now.Gates, func(g v1alpha1.Gate) bool { return g.UID == a.Gate && !GateDecided(&g) })
	})
}

// forceWaits reports whether a gate that was forced waits.
func forceWaits(now Situation, _ string) bool {
	return slices.ContainsFunc(now.Gates, func(g v1alpha1.Gate) bool {
		return g.Status.Force != nil && g.Status.Decision == v1alpha1.DecisionWaiting
	})
}

func one(change steer.Change, err error) ([]steer.Change, error) {
	if err != nil {
		return nil, err
	}
	return []steer.Change{change}, nil
}

func suspend(suspend bool) func(Situation, Request) ([]steer.Change, error) {
	return func(now Situation, _ Request) ([]steer.Change, error) {
		return one(steer.Suspend(now.Release, suspend, suspendedByGit(now.Release)))
	}
}

func suspended(suspend bool) func(Situation, Request) bool {
	return func(now Situation, _ Request) bool { return now.Release.Spec.Suspend == suspend }
}

// suspendedByGit returns the file in Git that sets spec.suspend; empty if none does.
func suspendedByGit(release *v1alpha1.BatchRelease) string {
	for _, entry := range release.ManagedFields {
		if entry.Manager != v1alpha1.OwnerGitsync || entry.FieldsV1 == nil {
			continue
		}
		var owned struct {
			Spec struct {
				Suspend json.RawMessage `json:"f:suspend"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &owned) == nil && owned.Spec.Suspend != nil {
			return release.Annotations[v1alpha1.FileAnnotation]
		}
	}
	return ""
}

func retry(now Situation, _ Request) ([]steer.Change, error) { return one(steer.Retry(now.Release)) }

func retried(now Situation, _ Request) bool {
	_, asked := now.Release.Annotations[v1alpha1.RetryAnnotation]
	return asked
}

func jump(now Situation, r Request) ([]steer.Change, error) {
	return one(steer.Jump(now.Release, r.Batch))
}

func jumped(now Situation, r Request) bool {
	next := now.Release.Status.NextStepIndex
	return next != nil && *next == r.Batch-1
}

// batches returns the batches that a release can jump to, each with what the jump does.
func batches(now Situation) []Choice {
	var choices []Choice
	for i := range now.Release.Spec.Strategy.Steps {
		change, err := steer.Jump(now.Release, int32(i)+1)
		if err != nil {
			continue
		}
		choices = append(choices, Choice{
			Value: fmt.Sprint(i + 1),
			Text:  fmt.Sprintf("Batch %d (%s): the release %s", i+1, ShareWords(now.Release.Spec.Strategy.Steps[i].Replicas), change.Done),
		})
	}
	return choices
}

func rollBack(now Situation, r Request) ([]steer.Change, error) {
	if r.Number != 0 {
		return one(steer.Undo(now.Release, now.Kept, r.Number))
	}
	return one(steer.RollBack(now.Release, now.Kept, r.To))
}

func rolledBack(now Situation, r Request) bool {
	going := plan.RollsBackTo(now.Release)
	value, asked := now.Release.Annotations[v1alpha1.RollbackAnnotation]
	if r.To == "" {
		return asked && value == plan.Previous || going != "" && going == r.Before
	}
	return asked && value == r.To || going == r.To
}

// versions returns the revisions that a release can be rolled back to, the previous one first.
func versions(now Situation) []Choice {
	var choices []Choice
	before := plan.Before(now.Release)
	if _, err := steer.RollBack(now.Release, now.Kept, ""); err == nil {
		text := chosenVersion(now.Release, Request{})
		if before != "" && !now.Release.IsTrain() {
			text += ": " + before
		}
		choices = append(choices, Choice{Text: text})
	}
	for _, kept := range plan.Stable(now.Kept) {
		if kept.Revision == before || kept.Revision == now.Release.Status.UpdateRevision {
			continue
		}
		if _, err := steer.RollBack(now.Release, now.Kept, kept.Revision); err == nil {
			choices = append(choices, Choice{Value: kept.Revision, Text: (&kept).String()})
		}
	}
	return choices
}
