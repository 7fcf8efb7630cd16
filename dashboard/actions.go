package dashboard

import (
	"context"
	"net/http"

	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/dashboard/page"
)

// actions are what a viewer may do with a release as it stands.
func (d *Dashboard) actions(context.Context, *access.Viewer, *lookup.Sight) ([]Action, error) {
	return nil, nil
}

// noticeOf is what an action that led here did.
func noticeOf(*http.Request) *page.Notice { return nil }
