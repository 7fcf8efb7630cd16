package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/dashboard/view"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// seen is the part of a release that a person saw when they decided.
type seen struct {
	uid, revision, phase, before, pod string
	// plan tells the batches and their gates from others: Git, or anyone who may write the release, can
	// change them at any time.
	plan    string
	attempt int64
	step    int32
}

func seenOf(release *v1alpha1.BatchRelease) seen {
	status := &release.Status
	s := seen{
		uid: string(release.UID), attempt: status.Attempt, revision: status.UpdateRevision, phase: string(status.Phase),
		before: plan.Before(release), step: status.CurrentStepIndex, plan: planOf(release),
	}
	if verb.AtPausePoint(release) {
		s.pod = status.PausePoint.Pod
	}
	return s
}

// planOf returns a short text for the batches of a release, or of its rollback, and for what they
// wait for.
func planOf(release *v1alpha1.BatchRelease) string {
	data, err := json.Marshal(struct {
		Steps []v1alpha1.Step
		Back  v1alpha1.StepBackPolicy
	}{release.Spec.Steps(release.Status.Rollback != nil), release.Spec.Strategy.StepBack})
	if err != nil {
		return "" // they are texts and numbers
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// fields returns what a form carries of it.
func (s seen) fields() []view.Field {
	return []view.Field{
		{Name: "uid", Value: s.uid}, {Name: "attempt", Value: strconv.FormatInt(s.attempt, 10)}, {Name: "revision", Value: s.revision},
		{Name: "phase", Value: s.phase}, {Name: "before", Value: s.before}, {Name: "step", Value: strconv.Itoa(int(s.step))}, {Name: "pod", Value: s.pod},
		{Name: "plan", Value: s.plan},
	}
}

// readSeen reads what a form carries. A form without it matches no release.
func readSeen(form url.Values) seen {
	attempt, err := strconv.ParseInt(form.Get("attempt"), 10, 64)
	if err != nil {
		attempt = -1
	}
	step, err := strconv.ParseInt(form.Get("step"), 10, 32)
	if err != nil {
		step = -1
	}
	return seen{
		uid: form.Get("uid"), attempt: attempt, revision: form.Get("revision"), phase: form.Get("phase"), before: form.Get("before"),
		step: int32(step), pod: form.Get("pod"), plan: form.Get("plan"),
	}
}

// changedError says what has changed since a person saw the page.
type changedError struct{ what []string }

func (c *changedError) Error() string { return strings.Join(c.what, " ") }

// compare returns a changedError if a release differs from what was seen, as far as it matters.
func (s seen) compare(now verb.Situation, a asked, which verb.Facts) error {
	is := seenOf(now.Release)
	if s.uid != is.uid {
		return &changedError{[]string{"The release was deleted, and a new one has its name."}}
	}
	var what []string
	tell := func(differs bool, text string, args ...any) {
		if differs {
			what = append(what, fmt.Sprintf(text, args...))
		}
	}
	switch {
	case s.revision != is.revision:
		tell(true, "Its revision is now %s; you saw %s.", is.revision, orNone(s.revision))
	case s.attempt != is.attempt:
		tell(true, "A new attempt of revision %s has begun.", is.revision)
	}
	tell(which >= verb.PhaseFacts && s.phase != is.phase, "Its phase is now %s; you saw %s.", is.phase, orNone(s.phase))
	tell(which >= verb.PhaseFacts && s.before != is.before, "The previous version is now %s; you saw %s.", orNone(is.before), orNone(s.before))
	tell(which >= verb.BatchFacts && s.step != is.step, "It is now at batch %d; you saw batch %d.", is.step+1, s.step+1)
	tell(which >= verb.BatchFacts && s.plan != is.plan, "Its batches, or the gates of one, are others now.")
	tell(which >= verb.EveryFact && s.pod != is.pod, "It no longer waits before that pod.")
	if which >= verb.EveryFact {
		what = append(what, gatesChanged(now, a)...)
	}
	if len(what) == 0 {
		return nil
	}
	return &changedError{what}
}

// gatesChanged says which of the gates that a form answers are no longer open.
func gatesChanged(now verb.Situation, a asked) []string {
	var what []string
	for _, uid := range a.Gates {
		i := slices.IndexFunc(now.Gates, func(g v1alpha1.Gate) bool { return string(g.UID) == uid })
		if i < 0 {
			what = append(what, "A gate that you saw is no longer open.")
			continue
		}
		status := &now.Gates[i].Status
		if force := status.Force; force != nil && force.By == a.By { // by this form: the write of another gate had to be decided again
			continue
		}
		if status.Decision == v1alpha1.DecisionPassed {
			what = append(what, fmt.Sprintf("The %s gate has passed in the meantime.", now.Gates[i].Spec.Type))
		}
	}
	return what
}

func orNone(text string) string {
	if text == "" {
		return "none"
	}
	return text
}
