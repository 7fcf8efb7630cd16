package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Sources is the page of the repositories.
type Sources struct {
	Sources []Source
	Now     time.Time
}

// Source is a repository that releases are read from.
type Source struct {
	Namespace, Name string
	Mark            Mark
	// Standing says in one sentence whether it can be read.
	Standing     string
	URL          Link
	Branch, Path string
	Commit       string
	// CommitAt is the address of the commit on the forge; empty if there is none.
	CommitAt string
	Synced   Moment
	// Refused is the head of a branch that was rewritten.
	Refused    string
	Releases   int32
	Errors     []FileError
	ErrorCount int
}

// FileError is an error in a file.
type FileError struct{ Place, Message string }

// SourcesOf returns the page of some sources.
func SourcesOf(sources []v1alpha1.ReleaseSource, now time.Time) Sources {
	page := Sources{Now: now}
	for i := range sources {
		page.Sources = append(page.Sources, sourceOf(&sources[i]))
	}
	slices.SortFunc(page.Sources, func(a, b Source) int {
		return cmp.Or(cmp.Compare(rankOf(a.Mark), rankOf(b.Mark)), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return page
}

func rankOf(mark Mark) int {
	if mark == Bad {
		return 0
	}
	return 1
}

func sourceOf(source *v1alpha1.ReleaseSource) Source {
	status := &source.Status
	shown := Source{
		Namespace: source.Namespace, Name: source.Name, Mark: Good, Standing: "Read and applied.",
		URL: Link{cell(withoutUser(source.Spec.URL)), link(source.Spec.URL)}, Branch: cell(source.Branch()), Path: cell(source.Spec.Path),
		Commit: plain.Commit(status.ObservedCommit), CommitAt: commitAt(source, status.ObservedCommit), Refused: plain.Commit(status.RefusedHead), Releases: status.Releases,
		ErrorCount: int(status.ErrorCount), Synced: moment(status.LastSyncTime),
	}
	ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
	switch {
	case ready == nil:
		shown.Mark, shown.Standing = Moving, "The controller has not read it yet."
	case ready.Status == metav1.ConditionFalse && !status.Unread && status.ErrorCount > 0:
		shown.Mark, shown.Standing = Bad, fmt.Sprintf("%s: what they are about stays as it was.", plain.Count(status.ErrorCount, "error"))
	case ready.Status == metav1.ConditionFalse:
		shown.Mark, shown.Standing = Bad, line(show.SourceTrouble(source))
	case ready.Status == metav1.ConditionUnknown:
		shown.Mark, shown.Standing = Moving, line(ready.Message)
	}
	if forge := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionForgeReady); forge != nil && forge.Status == metav1.ConditionFalse {
		shown.Mark, shown.Standing = Bad, line(strings.TrimSpace(shown.Standing+" The forge: "+forge.Message))
	}
	for _, problem := range status.Errors {
		place := problem.File
		if problem.Line > 0 {
			place = fmt.Sprintf("%s:%d", problem.File, problem.Line)
		}
		shown.Errors = append(shown.Errors, FileError{cell(place), line(problem.Message)})
	}
	return shown
}

// withoutUser returns an address without the user before its host, which may include a password.
func withoutUser(address string) string {
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndex(host, "@"); at >= 0 {
		host = host[at+1:]
	}
	return strings.TrimSuffix(scheme+"://"+host+"/"+path, "/")
}
