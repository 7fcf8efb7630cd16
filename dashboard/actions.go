package dashboard

import (
	"context"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/dashboard/access"
)

// dashboardOwner is the field manager of what people write with the dashboard.
const dashboardOwner = "sluice-dashboard"

// asked is a request by form.
type asked struct {
	verb.Request

	// saw is the release as the person saw it.
	saw seen
}

// patching returns the right to patch a resource, as access checks it.
func patching(right verb.Right) access.Verb {
	return access.Verb{Verb: "patch", Group: v1alpha1.GroupVersion.Group, Resource: right.Resource, Subresource: right.Subresource}
}

// actions returns the buttons for what a viewer may do with a release now.
func (d *Dashboard) actions(ctx context.Context, viewer *access.Viewer, sight *show.Sight) ([]Action, error) {
	var actions []Action
	now := situationOf(sight)
	for _, what := range verb.All {
		if !what.Possible(now, viewer.Name) {
			continue
		}
		may, err := d.rights.May(ctx, viewer, sight.Release.Namespace, patching(what.Needs))
		if err != nil {
			return nil, err
		}
		if may {
			actions = append(actions, Action{Button: what.Button, Address: addressOf(sight.Release, what.Name)})
		}
	}
	return actions, nil
}

func addressOf(release *v1alpha1.BatchRelease, action string) string {
	address := "/releases/" + release.Namespace + "/" + release.Name
	if action != "" {
		address += "/" + action
	}
	return address
}

// situationOf returns the situation of a release, as a viewer sees it.
func situationOf(sight *show.Sight) verb.Situation {
	return verb.SituationOf(sight.Release, sight.Gates, sight.Kept)
}
