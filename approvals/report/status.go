package report

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// maxPosts is how many statuses are posted on one commit in one context before only an end is
// reported. GitHub takes 1000.
const maxPosts = 900

// Options say how we name ourselves.
type Options struct {
	// Cluster is part of every context; empty where there is only one.
	Cluster string
	// Page returns the address of a release's page, for statuses without another link; nil or empty
	// for no page.
	Page func(release *v1alpha1.BatchRelease) string
}

// Prefix begins all contexts of ours.
func (o Options) Prefix() string {
	if o.Cluster == "" {
		return "sluice/"
	}
	return "sluice/" + o.Cluster + "/"
}

// Context returns the context of a release.
func (o Options) Context(namespace, name string) string { return o.Prefix() + namespace + "/" + name }

// SyncContext returns the context of sources.
func (o Options) SyncContext() string { return o.Prefix() + "sync" }

// Post is a status to be posted, and what is recorded of it.
type Post struct {
	Status  forge.StatusRequest
	Content v1alpha1.ReportContent
}

// Subject is the commit that a status reports on.
type Subject int

// The subjects of a release's statuses.
const (
	// OfRelease is the commit that is released, or was released last.
	OfRelease Subject = iota
	// OfWaiting is a commit that can't be released, or not yet.
	OfWaiting
)

// Last returns the field of a status that holds the last report on the subject. The API calls the
// report on a waiting commit refusal.
func (s Subject) Last(status *v1alpha1.BatchReleaseStatus) **v1alpha1.ForgeReport {
	if s == OfWaiting {
		return &status.Refusal
	}
	return &status.Report
}

// Next returns the statuses to post now, in order; none if all is reported. It does not report the
// wait for gates before each of them exists and is requested.
func Next(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, o Options) []Post {
	last := release.Status.Report
	context := o.Context(release.Namespace, release.Name)
	if last != nil && last.Context != context { // we had another name then
		last = nil
	}
	var next []Post
	if end, due := left(release, last); due {
		next = append(next, end.post(last.Commit, context))
	}
	now, known := stand(release, gates, last)
	if !known || release.Status.Commit == "" {
		return next
	}
	if post := o.leadToPage(now.post(release.Status.Commit, context), release, last); due(post.Status, last) && worthReporting(release, post, last) {
		next = append(next, post)
	}
	return next
}

// After returns what to record once a status is posted.
func After(last *v1alpha1.ForgeReport, post Post, now time.Time) *v1alpha1.ForgeReport {
	next := &v1alpha1.ForgeReport{}
	if last != nil {
		next = last.DeepCopy()
	}
	next.Content = post.Content.DeepCopy()
	posted := post.Status
	if next.Commit != posted.SHA || next.Context != posted.Context {
		next.Posts = 0
	}
	next.Posts++
	next.Commit, next.Context = posted.SHA, posted.Context
	next.State, next.Description, next.URL = string(posted.State), forge.Description(posted.Description), posted.TargetURL
	next.Time = new(metav1.NewTime(now))
	return next
}

// Again returns the status that was posted last, to be posted again.
func Again(last *v1alpha1.ForgeReport) forge.StatusRequest {
	return forge.StatusRequest{
		SHA: last.Commit, Context: last.Context, State: forge.State(last.State), Description: last.Description, TargetURL: last.URL,
	}
}

// Repeated returns what to record once the status that was posted last is posted again.
func Repeated(last *v1alpha1.ForgeReport, now time.Time) *v1alpha1.ForgeReport {
	next := last.DeepCopy()
	next.Posts++
	next.Time = new(metav1.NewTime(now))
	return next
}

// due reports whether a status says something new, and may be posted.
func due(request forge.StatusRequest, last *v1alpha1.ForgeReport) bool {
	if last == nil || last.Commit != request.SHA || last.Context != request.Context {
		return true
	}
	return !same(request, last) && (last.Posts < maxPosts || request.State != forge.StatePending)
}

// same reports whether a status is the one that was posted last.
func same(request forge.StatusRequest, last *v1alpha1.ForgeReport) bool {
	return request == Again(last)
}
