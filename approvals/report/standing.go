package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/plain"
)

// standing is the state of a release or a source in a report. The next post depends on the content;
// the rest is only shown.
type standing struct {
	v1alpha1.ReportContent

	// toward is the revision that a revert in Git goes back to.
	toward string
	// target of replicas pods run the revision at the end of the batch.
	target, replicas int32
	// members of a train's run are shown in place of its pods.
	train   bool
	members int32
	// through counts the members that have done the batch once its gates are asked.
	through int32
	// requests is the new version's share of requests; empty if no route shares them.
	requests string
	// trouble is the problem of updated pods; empty for none.
	trouble string
	// by is the commit or revision that took over.
	by string
	// detail is the rest of the text.
	detail string
	forced []v1alpha1.ForcedGate
	url    string
}

// of returns a standing that is said in a sentence.
func of(kind v1alpha1.ReportKind, detail string) standing {
	return standing{ReportContent: v1alpha1.ReportContent{Kind: kind}, detail: detail}
}

// stateOf returns the state of the statuses of a kind.
func stateOf(kind v1alpha1.ReportKind) forge.State {
	switch kind {
	case v1alpha1.ReportQueued, v1alpha1.ReportStopped, v1alpha1.ReportUpdating, v1alpha1.ReportWaiting:
		return forge.StatePending
	case v1alpha1.ReportReleased, v1alpha1.ReportReverted, v1alpha1.ReportNothingToRelease, v1alpha1.ReportFilesValid:
		return forge.StateSuccess
	default:
		return forge.StateFailure
	}
}

// post returns the standing as it is posted and recorded. A release that failed is remembered with
// its description: the report of a rollback that somebody requests includes that.
func (s standing) post(commit, context string) Post {
	text, content := s.text(), s.ReportContent
	if content.Cause == nil && stateOf(content.Kind) == forge.StateFailure {
		content.Cause = said(text)
	}
	return Post{
		Status: forge.StatusRequest{
			SHA: commit, Context: context, State: stateOf(content.Kind), Description: forge.Description(text), TargetURL: s.url,
		},
		Content: content,
	}
}

// text returns the standing in words.
func (s standing) text() string { return s.words() + forcedWords(s.forced) }

func (s standing) words() string {
	switch s.Kind {
	case v1alpha1.ReportUpdating:
		return s.updating()
	case v1alpha1.ReportWaiting:
		return s.done() + ", waiting " + s.detail + and("; ", s.trouble)
	case v1alpha1.ReportRejected:
		return s.done() + ", rejected: " + s.detail
	case v1alpha1.ReportApprovalRefused:
		return s.going() + batchWords(s.Batch, s.Batches) + ": " + s.detail
	case v1alpha1.ReportFailed:
		return s.going() + s.detail
	case v1alpha1.ReportDrifted:
		return "drifted: " + s.detail
	case v1alpha1.ReportReleased:
		if s.train {
			return "released: " + s.all()
		}
		return "released: " + s.all() + " to " + s.Revision
	case v1alpha1.ReportReverted:
		if s.train {
			return "reverted: " + s.all()
		}
		return fmt.Sprintf("reverted to %s: %s", s.Revision, s.all())
	case v1alpha1.ReportRollingBack:
		return "rolling back to " + s.back()
	case v1alpha1.ReportRollbackStuck:
		if s.train {
			return "rollback stuck: " + s.detail
		}
		return "rollback stuck on the way to " + s.Revision + ": " + s.detail
	case v1alpha1.ReportRolledBack:
		return "rolled back to " + s.back()
	case v1alpha1.ReportSuperseded:
		return "superseded by " + s.by + s.where()
	case v1alpha1.ReportDeleted:
		return "the release was deleted" + s.where()
	case v1alpha1.ReportNotReleased:
		return "not released: the workload was rolled back to " + s.Revision
	case v1alpha1.ReportNothingToRelease:
		return "nothing to release: revision " + s.Revision + " is what it asks for"
	default:
		return s.detail
	}
}

// going returns what stands before the words of a rollback that Git asks for.
func (s standing) going() string {
	switch {
	case s.toward == "":
		return ""
	case s.train:
		return "reverting: "
	}
	return "reverting to " + s.toward + ": "
}

// updating returns how far the batch is to come, or what comes after the last one.
func (s standing) updating() string {
	if s.detail != "" {
		return s.done() + ", " + s.detail
	}
	if s.trouble != "" {
		return s.going() + batchWords(s.Batch, s.Batches) + ": " + s.trouble
	}
	if s.train {
		return s.going() + batchWords(s.Batch, s.Batches) + ": updating " + plain.Count(s.members, "member")
	}
	return s.going() + fmt.Sprintf("%s: updating to %d of %s", batchWords(s.Batch, s.Batches), s.target, plain.Count(s.replicas, "pod")) + and(", ", s.requests)
}

// done returns how far the batch is.
func (s standing) done() string {
	if s.train {
		return s.going() + batchWords(s.Batch, s.Batches) + ": " + s.membersDone()
	}
	return s.going() + fmt.Sprintf("%s: %d/%d updated", batchWords(s.Batch, s.Batches), s.target, s.replicas) + and(", ", s.requests)
}

// membersDone returns how many members of the run have done the batch.
func (s standing) membersDone() string {
	if s.through < s.members {
		return fmt.Sprintf("%d of %s done", s.through, plain.Count(s.members, "member"))
	}
	return plain.Count(s.members, "member") + " done"
}

// all returns what is updated once nothing is left to be.
func (s standing) all() string {
	if s.train {
		return plain.Count(s.members, "member") + " updated"
	}
	return fmt.Sprintf("%d/%d updated", s.replicas, s.replicas)
}

// where returns where a release was that never ended.
func (s standing) where() string { return s.detail + at(s.Batch, s.Batches) }

// back returns the description of a rollback after its beginning.
func (s standing) back() string {
	text := s.Revision
	if s.train {
		text = "what " + plain.Count(s.members, "member") + " ran before"
	}
	if s.by != "" {
		text += " by " + s.by
	}
	switch {
	case s.PullRequest != 0:
		text += fmt.Sprintf(", merge #%d to update Git", s.PullRequest)
	case s.ByHand:
		text += ", change Git by hand"
	}
	if s.Cause == nil {
		return text + at(s.Batch, s.Batches)
	}
	return text + ": " + causeWords(s.Cause)
}

// longestCause is how much of a cause is remembered, in bytes: more than any description shows.
const longestCause = 600

// said returns a cause that a sentence says.
func said(sentence string) *v1alpha1.ReportCause {
	return &v1alpha1.ReportCause{Kind: v1alpha1.CauseMessage, Message: plain.UpTo(plain.Line(sentence), longestCause)}
}

func causeWords(cause *v1alpha1.ReportCause) string {
	switch cause.Kind {
	case v1alpha1.CauseAsked:
		return "asked for" + at(cause.Batch, cause.Batches)
	case v1alpha1.CauseAskedAfterRelease:
		return "requested after it was released"
	default:
		return cause.Message
	}
}

func batchWords(batch, batches int32) string { return fmt.Sprintf("batch %d/%d", batch, batches) }

// at says at which batch something happened; nothing where it was at none.
func at(batch, batches int32) string {
	if batch == 0 {
		return ""
	}
	return " at " + batchWords(batch, batches)
}

// forcedWords names those who passed gates despite their policies, in the words that a description
// has room for.
func forcedWords(gates []v1alpha1.ForcedGate) string {
	var words []string
	for _, one := range gates {
		word := fmt.Sprintf("gate %d forced by %s: %s", one.Step+1, one.By, one.Reason)
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " (" + strings.Join(words, "; ") + ")"
}
