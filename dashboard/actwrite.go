package dashboard

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/cli/lookup"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/dashboard/view"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// controllerActs is how long a page waits for the controller to take up what was written.
const controllerActs = 3 * time.Second

// errDone says that what the form requests has been done already.
var errDone = errors.New("it is done already")

// perform writes what a person requests, as that person, if the release is still as they saw it.
func (d *Dashboard) perform(ctx context.Context, viewer *access.Viewer, key client.ObjectKey, what *deed, a asked) (told, error) {
	release := &v1alpha1.BatchRelease{}
	if err := viewer.Client.Get(ctx, key, release); err != nil {
		return told{}, err
	}
	came := told{verb: what.verb, outcome: written, to: subjectOf(what, a, release), at: d.options.Clock.Now()}
	writer := act.Writer{Client: viewer.Client, Owner: dashboardOwner}
	changes, objects, err := writer.Write(ctx, release, func(ctx context.Context, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
		now, err := d.situationNow(ctx, viewer, what, a, release)
		if err != nil {
			return nil, err
		}
		if what.done(now, a) {
			return nil, errDone
		}
		if err := a.saw.compare(now, a, what.compares); err != nil {
			return nil, err
		}
		changes, err := what.decide(now, a)
		for i := range changes {
			changes[i] = changes[i].By(a.by)
		}
		return changes, err
	})
	if errors.Is(err, errDone) {
		came.outcome = again
		return came, nil
	}
	if err != nil {
		return told{}, err
	}
	d.options.Logger.Info("A viewer has acted on a release", "viewer", viewer.Name, "action", what.verb, "namespace", key.Namespace, "release", key.Name)
	if err := d.await(ctx, viewer, what, changes, objects); errors.As(err, new(*act.DeclinedError)) {
		came.outcome = declined
	}
	return came, nil
}

// subjectOf returns what an action was about, for the notice.
func subjectOf(what *deed, a asked, release *v1alpha1.BatchRelease) string {
	switch {
	case what.verb == view.RollBack:
		return a.to
	case what.verb == view.Jump:
		return strconv.Itoa(int(a.batch))
	case what.verb == view.Approve && view.AtPausePoint(release):
		return "continuing past pod " + release.Status.PausePoint.Pod
	case what.compares == everyFact:
		return view.BatchWords(release)
	default:
		return ""
	}
}

// situationNow reads what a deed depends on.
func (d *Dashboard) situationNow(ctx context.Context, viewer *access.Viewer, what *deed, a asked, release *v1alpha1.BatchRelease) (situation, error) {
	sight := &show.Sight{Whole: &show.Whole{Release: release}}
	gates, history := what.compares == everyFact, what.verb == view.RollBack && a.to != ""
	if !gates && !history { // pages that read much do not hold it up
		return situationOf(sight), nil
	}
	done, err := d.reads.take(ctx, viewer.Name)
	if err != nil {
		return situation{}, err
	}
	defer done()
	if gates {
		sight.Gates, err = lookup.Gates(ctx, viewer.Client, client.ObjectKeyFromObject(release))
	} else {
		sight.Kept, err = lookup.Kept(ctx, viewer.Client, release)
	}
	if err != nil {
		return situation{}, fmt.Errorf("read what belongs to release: %w", err)
	}
	return situationOf(sight), nil
}

// await waits a moment for the controller to act on what was written, so that the next page shows
// it. It does not wait if the viewer may not watch.
func (d *Dashboard) await(ctx context.Context, viewer *access.Viewer, what *deed, changes []steer.Change, objects []client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, controllerActs)
	defer cancel()
	for i, change := range changes {
		for j := range change.Decides {
			if _, err := act.AwaitGate(ctx, viewer.Client, &change.Decides[j]); err != nil {
				return err
			}
		}
		release, is := objects[i].(*v1alpha1.BatchRelease)
		if !is || what.taken == nil {
			continue
		}
		if _, err := act.AwaitRelease(ctx, viewer.Client, release, what.taken); err != nil {
			return err
		}
	}
	return nil
}
