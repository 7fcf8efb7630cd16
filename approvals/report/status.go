package report

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// maxPosts is how many statuses are posted on one commit in one context before only an end is told.
// GitHub takes 1000.
const maxPosts = 900

// Options say how we name ourselves.
type Options struct {
	// Cluster is part of every context; empty where there is only one.
	Cluster string
}

// Prefix begins all contexts of ours.
func (o Options) Prefix() string {
	if o.Cluster == "" {
		return "sluice/"
	}
	return "sluice/" + o.Cluster + "/"
}

// Context is the context of a release.
func (o Options) Context(namespace, name string) string { return o.Prefix() + namespace + "/" + name }

// SyncContext is the context of sources.
func (o Options) SyncContext() string { return o.Prefix() + "sync" }

// Next says which statuses are to be posted now, in this order: none where all is told. Gates are those
// that the release waits for; while one of them is not there yet, or not asked for yet, there is nothing
// to say of the wait.
func Next(release *v1alpha1.BatchRelease, gates []v1alpha1.Gate, o Options) []forge.StatusRequest {
	last := release.Status.Report
	context := o.Context(release.Namespace, release.Name)
	if last != nil && last.Context != context { // we had another name then
		last = nil
	}
	var next []forge.StatusRequest
	if end, due := left(release, last); due {
		next = append(next, end.request(last.Commit, context))
	}
	now, known := stand(release, gates, last)
	if !known || release.Status.Commit == "" {
		return next
	}
	if request := now.request(release.Status.Commit, context); due(request, last) {
		next = append(next, request)
	}
	return next
}

// After is what to write down once a status is posted.
func After(last *v1alpha1.ForgeReport, posted forge.StatusRequest, now time.Time) *v1alpha1.ForgeReport {
	next := &v1alpha1.ForgeReport{}
	if last != nil {
		next = last.DeepCopy()
	}
	if next.Commit != posted.SHA || next.Context != posted.Context {
		next.Posts = 0
	}
	next.Posts++
	next.Commit, next.Context = posted.SHA, posted.Context
	next.State, next.Description, next.URL = string(posted.State), forge.Description(posted.Description), posted.TargetURL
	next.Time = new(metav1.NewTime(now))
	return next
}

// due reports whether a status says something new, and may be posted.
func due(request forge.StatusRequest, last *v1alpha1.ForgeReport) bool {
	if last == nil || last.Commit != request.SHA || last.Context != request.Context {
		return true
	}
	told := last.State == string(request.State) && last.Description == request.Description && last.URL == request.TargetURL
	return !told && (last.Posts < maxPosts || request.State != forge.StatePending)
}

// standing is how something stands, as people are told.
type standing struct {
	state forge.State
	text  string
	url   string
}

func (s standing) request(sha, context string) forge.StatusRequest {
	return forge.StatusRequest{
		SHA: sha, Context: context, State: s.state, Description: forge.Description(s.text), TargetURL: s.url,
	}
}

func pending(text string) standing { return standing{state: forge.StatePending, text: text} }
func success(text string) standing { return standing{state: forge.StateSuccess, text: text} }
func failure(text string) standing { return standing{state: forge.StateFailure, text: text} }
