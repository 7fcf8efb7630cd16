package report

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// leadToPage lets a status that leads nowhere lead to the page of its release. The address alone is
// no news: a status that was posted before there was a page stays as it is.
func (o Options) leadToPage(post Post, release *v1alpha1.BatchRelease, last *v1alpha1.ForgeReport) Post {
	if o.Page == nil || post.Status.TargetURL != "" {
		return post
	}
	if last != nil {
		as := post.Status
		if as.TargetURL = last.URL; same(as, last) {
			post.Status = as
			return post
		}
	}
	post.Status.TargetURL = forge.Link(o.Page(release))
	return post
}
