package view

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// WithRefused returns rows in which the releases are marked whose newest commit in Git is not
// applied, as the sources that the viewer may see tell. The given rows stay as they are: all
// viewers have them.
func WithRefused(rows []*Row, sources []v1alpha1.ReleaseSource) []*Row {
	troubled := slices.DeleteFunc(slices.Clone(sources), func(s v1alpha1.ReleaseSource) bool {
		return !s.Status.Unread && len(s.Status.Refused) == 0
	})
	if len(troubled) == 0 {
		return rows
	}
	marked := slices.Clone(rows)
	for i, row := range rows {
		if why := refusedOf(row, troubled); why != "" {
			one := *row
			one.refuse(why)
			marked[i] = &one
		}
	}
	Order(marked)
	return marked
}

func refusedOf(row *Row, sources []v1alpha1.ReleaseSource) string {
	release := &v1alpha1.BatchRelease{}
	release.Namespace, release.Name, release.Labels = row.Namespace, row.Name, map[string]string{v1alpha1.SourceLabel: row.source}
	return show.Refused(release, show.Sources(sources).Of(release))
}

// refuse marks a release whose newest commit in Git is not applied.
func (r *Row) refuse(why string) {
	r.Standing, r.Mark = show.StandingRefused(r.Standing), Bad
	if r.WaitsFor != "" {
		r.WaitsFor += ","
	}
	r.WaitsFor += show.WaitsForGit
	if r.Message != "" {
		r.Message += "; "
	}
	r.Message = cell(r.Message + why)
}
