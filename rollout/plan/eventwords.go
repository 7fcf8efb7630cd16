package plan

import (
	"fmt"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// events put into words what has happened.
func (t *telling) events() []Event {
	var events []Event
	for _, h := range t.happened {
		events = append(events, t.event(h))
	}
	return events
}

func (t *telling) event(what happening) Event {
	switch h := what.(type) {
	case retried:
		return Event{Reason: v1alpha1.ReasonRetrying, Message: "continuing: a retry was requested"}
	case notFound:
		return Event{Warning: true, Reason: v1alpha1.ReasonRevisionNotFound, Message: h.problem.words()}
	case jumpMade:
		return Event{Reason: v1alpha1.ReasonJumped, Message: fmt.Sprintf("from batch %d/%d to batch %d/%d, by %s", h.from+1, h.steps, h.to+1, h.steps, h.by)}
	case jumpRefused:
		return Event{Warning: true, Reason: v1alpha1.ReasonJumpRefused, Message: fmt.Sprintf("%s %d: %s", h.by, h.to, h.words())}
	case pausedBefore:
		return Event{Reason: v1alpha1.ReasonPausePoint, Message: t.pauseWords(&h.at)}
	case gaveUp:
		return Event{Warning: true, Reason: v1alpha1.ReasonGatewaySilent, Message: bounded(h.words())}
	case pauseEnded:
		how := "is gone"
		if h.at.Confirmed == h.at.Pod {
			how = "was confirmed"
		}
		return Event{Reason: v1alpha1.ReasonPausePoint, Message: "the pause point of pod " + h.at.Pod + " " + how}
	}
	return Event{}
}

func (j jumpRefused) words() string {
	switch j.why {
	case InRollback:
		return "a rollback has its own steps"
	case NoSuchStep:
		return fmt.Sprintf("steps count from 0: name one from 0 to %d", j.steps-1)
	case PresentStep:
		return "this is the current step"
	default:
		return "no release is in progress"
	}
}

// words say who is not waited for any more.
func (g gaveUp) words() string {
	return fmt.Sprintf("continuing without Gateways whose status does not say within %s that they follow the route (%s): requests that they still "+
		"route as before may fail; repair them, or detach the route from them", g.after, joined(g.pending))
}

// mostNamed is how many templates a message names.
const mostNamed = 10

// words say what was asked for, why there is none, and what there is.
func (n noTargetError) words() string { return fmt.Sprintf("rollback=%s: %s", n.asked, n.Error()) }

// Error says why there is nothing to roll back to, and what there is.
func (n noTargetError) Error() string {
	switch n.why {
	case runsAlready:
		return fmt.Sprintf("revision %q already runs", n.revision)
	case isReleased:
		return fmt.Sprintf("revision %q is the one that is being released; ", n.revision) + keptWords(n.kept)
	case wasRolledBack:
		return "it was rolled back itself; to release it through its gates again, set it as spec.template; " + keptWords(n.kept)
	case unknownRevision:
		return fmt.Sprintf("revision %q is not in the history; ", n.asked) + keptWords(n.kept)
	case unknownCommit:
		return fmt.Sprintf("no revision or commit %q is in the history; ", n.asked) + keptWords(n.kept)
	case ambiguousCommit:
		return "more than one commit starts like that; " + keptWords(n.kept)
	default:
		return "there is no stable template to go back to; " + keptWords(n.kept)
	}
}

// keptWords names what can be rolled back to, the newest first.
func keptWords(all []Kept) string {
	kept := Stable(all)
	if len(kept) == 0 {
		return "no stable revision is in the history"
	}
	var words []string
	for i := range kept[:min(len(kept), mostNamed)] {
		words = append(words, kept[i].String())
	}
	if more := len(kept) - len(words); more > 0 {
		words = append(words, fmt.Sprintf("%d more", more))
	}
	return "choose one of " + strings.Join(words, ", ")
}
