package report

import (
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Sync says what to report of the files of a source: a failure that names the first that is wrong,
// and success only where a failure of the same commit was reported before.
func Sync(source *v1alpha1.ReleaseSource, o Options) (Post, bool) {
	status := &source.Status
	if status.ObservedCommit == "" {
		return Post{}, false
	}
	if status.RefusedHead != "" {
		now := of(v1alpha1.ReportRewriteRefused, fmt.Sprintf("not released: the branch was rewritten, this does not descend from %s: push that again, or set spec.allowRewrite of ReleaseSource %s",
			plain.Commit(status.ObservedCommit), source.Name))
		post := now.post(status.RefusedHead, o.SyncContext())
		return post, due(post.Status, status.Report)
	}
	last, context := status.Report, o.SyncContext()
	now := of(v1alpha1.ReportFilesInvalid, mistakes(status))
	if status.ErrorCount == 0 && len(status.Errors) == 0 {
		now = of(v1alpha1.ReportFilesValid, fmt.Sprintf("all %d files can be read", status.Files))
		blamed := last != nil && last.Commit == status.ObservedCommit && last.Context == context &&
			last.State == string(forge.StateFailure)
		if !blamed {
			return Post{}, false
		}
	}
	post := now.post(status.ObservedCommit, context)
	return post, due(post.Status, last)
}

// mistakes names the first one with file and line, and how many there are.
func mistakes(status *v1alpha1.ReleaseSourceStatus) string {
	count := max(int(status.ErrorCount), len(status.Errors))
	if len(status.Errors) == 0 {
		return plain.Count(count, "error")
	}
	first := status.Errors[0]
	text := first.File
	if first.Line > 0 {
		text = fmt.Sprintf("%s:%d", text, first.Line)
	}
	text += ": " + first.Message
	if count > 1 {
		text = fmt.Sprintf("%d errors: %s", count, text)
	}
	return text
}
