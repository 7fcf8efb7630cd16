package report

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// goesBack reports whether a status of a kind is about a commit that is, or was, rolled back from.
func goesBack(kind v1alpha1.ReportKind) bool {
	switch kind {
	case v1alpha1.ReportRollingBack, v1alpha1.ReportRollbackStuck, v1alpha1.ReportRolledBack:
		return true
	default:
		return false
	}
}

// backFrom returns how the commit stands that is rolled back from: it has failed, however far that
// is.
func backFrom(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) standing {
	now := of(v1alpha1.ReportRollingBack, "")
	now.Revision, now.Cause = status.RolledBackTo(), whyBack(status, last)
	switch {
	case done(status):
		now.Kind = v1alpha1.ReportRolledBack
	case failing(status), stuck(status):
		now.Kind, now.detail = v1alpha1.ReportRollbackStuck, status.Message
		return now
	case blockedTraffic(status) != nil:
		now.Kind, now.detail = v1alpha1.ReportRollbackStuck, blockedWords(status)
		return now
	}
	return now.followed(status)
}

// followed adds how Git comes back in line with a rollback that it did not request, and where.
func (s standing) followed(status *v1alpha1.BatchReleaseStatus) standing {
	revert := status.Revert
	switch {
	case revert == nil || revert.Attempt != status.Attempt:
	case revert.State == v1alpha1.RevertRefused:
		s.ByHand = true
	case revert.State == v1alpha1.RevertOpen && revert.PullRequest != nil && len(status.Quarantined) > 0:
		s.PullRequest = revert.PullRequest.Number
		if link := forge.Link(revert.PullRequest.URL); link != "" {
			s.url = link
		}
	}
	return s
}

// whyBack returns the cause of a rollback. For one that somebody requested, the last report of the
// commit says more than the request.
func whyBack(status *v1alpha1.BatchReleaseStatus, last *v1alpha1.ForgeReport) *v1alpha1.ReportCause {
	request := said(status.Rollback.Message)
	if last == nil || last.Commit != status.Commit || status.Rollback.Trigger != v1alpha1.TriggerAnnotation {
		return request
	}
	switch forge.State(last.State) {
	case forge.StatePending:
		cause := &v1alpha1.ReportCause{Kind: v1alpha1.CauseAsked}
		cause.Batch, cause.Batches = batchTold(last)
		return cause
	case forge.StateSuccess:
		return &v1alpha1.ReportCause{Kind: v1alpha1.CauseAskedAfterRelease}
	}
	if last.Content == nil || last.Content.Cause == nil {
		return request
	}
	return last.Content.Cause.DeepCopy()
}
