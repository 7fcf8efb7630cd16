package plan

import (
	"fmt"
	"regexp"
	"strings"
)

// rollbackTarget returns the stable revision in a release, the last stable one after it, or the one
// that was named by its revision or commit; nil and the problem if there is none.
func rollbackTarget(s *snapshot, asked string) (*Kept, noTargetError) {
	target, why := s.history.stable(rollbackRevision(s)), noStable
	if asked != Previous {
		target, why = s.history.named(asked)
	}
	problem := noTargetError{asked: asked, why: why, kept: s.history}
	switch {
	case target == nil:
		return nil, problem
	case s.record.completed() && s.record.isOf(target.Revision, target.Digest) && !s.hold().unrecorded():
		problem.why, problem.revision = runsAlready, target.Revision
		return nil, problem
	case asked == Previous && isUpdateRevision(s, target.Revision, target.Digest):
		problem.why, problem.revision = isReleased, target.Revision
		return nil, problem
	default:
		return target, noTargetError{}
	}
}

// abbreviated matches a commit, in full or as people quote it.
var abbreviated = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// targetProblem names the reason for which there is nothing to roll back to.
type targetProblem int

// noTargetError is a requested target that is missing.
type noTargetError struct {
	asked    string
	why      targetProblem
	revision string
	kept     []Kept
}

// mostNamed limits the templates that a message names.
const mostNamed = 10

// keptWords names the templates that can be rolled back to, the newest first.
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

const (
	noStable targetProblem = iota + 1
	wasRolledBack
	unknownRevision
	unknownCommit
	ambiguousCommit
	runsAlready
	isReleased
	onlyPrevious
	noRun
)

// words says what was requested, why it is missing, and which targets there are.
func (n noTargetError) words() string { return fmt.Sprintf("rollback=%s: %s", n.asked, n.Error()) }

// Error says why there is nothing to roll back to, and which targets there are.
func (n noTargetError) Error() string {
	switch n.why {
	case runsAlready:
		return fmt.Sprintf("revision %q already runs", n.revision)
	case isReleased:
		return fmt.Sprintf("revision %q is the one that is being released; ", n.revision) + keptWords(n.kept)
	case onlyPrevious:
		return "a train can return only to what its members ran before its last run: rollback=true"
	case noRun:
		return "the train has no run to return from"
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
