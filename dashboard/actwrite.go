package dashboard

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/act"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/dashboard/access"
	"github.com/sluice-dev/sluice/rollout/steer"
)

// controllerActs is how long a page waits for the controller to take up what was written.
const controllerActs = 3 * time.Second

// errDone says that what the form requests has been done already.
var errDone = errors.New("it is done already")

// perform writes what a person requests, as that person, if the release is still as they saw it.
func (d *Dashboard) perform(ctx context.Context, viewer *access.Viewer, key client.ObjectKey, what *verb.Verb, a asked) (told, error) {
	release := &v1alpha1.BatchRelease{}
	if err := viewer.Client.Get(ctx, key, release); err != nil {
		return told{}, err
	}
	came := told{verb: what.Name, outcome: written, to: what.Subject(release, a.Request), at: d.options.Clock.Now()}
	writer := act.Writer{Client: viewer.Client, Owner: dashboardOwner}
	changes, objects, err := writer.Write(ctx, release, func(ctx context.Context, release *v1alpha1.BatchRelease) ([]steer.Change, error) {
		now, err := d.situationNow(ctx, viewer, what, a, release)
		if err != nil {
			return nil, err
		}
		if what.Done(now, a.Request) {
			return nil, errDone
		}
		if err := a.saw.compare(now, a, what.Compares); err != nil {
			return nil, err
		}
		return what.Decide(now, a.Request)
	})
	if errors.Is(err, errDone) {
		came.outcome = again
		return came, nil
	}
	if err != nil {
		return told{}, err
	}
	d.options.Logger.Info("A viewer has acted on a release", "viewer", viewer.Name, "action", what.Name, "namespace", key.Namespace, "release", key.Name)
	if err := d.await(ctx, viewer, what, changes, objects); errors.As(err, new(*verb.DeclinedError)) {
		came.outcome = declined
	}
	return came, nil
}

// situationNow reads what a request depends on.
func (d *Dashboard) situationNow(ctx context.Context, viewer *access.Viewer, what *verb.Verb, a asked, release *v1alpha1.BatchRelease) (verb.Situation, error) {
	if what.Reads(a.Request) {
		done, err := d.reads.take(ctx, viewer.Name)
		if err != nil {
			return verb.Situation{}, err
		}
		defer done()
	}
	now, err := act.Read(ctx, viewer.Client, release, what, a.Request)
	if err != nil {
		return verb.Situation{}, fmt.Errorf("read what belongs to release: %w", err)
	}
	return now, nil
}

// await waits a moment for the controller to act on what was written, so that the next page shows
// it. It does not wait if the viewer may not watch.
func (d *Dashboard) await(ctx context.Context, viewer *access.Viewer, what *verb.Verb, changes []steer.Change, objects []client.Object) error {
	ctx, cancel := context.WithTimeout(ctx, controllerActs)
	defer cancel()
	for i, change := range changes {
		for j := range change.Decides {
			if _, err := act.AwaitGate(ctx, viewer.Client, &change.Decides[j]); err != nil {
				return err
			}
		}
		release, is := objects[i].(*v1alpha1.BatchRelease)
		if !is || what.Taken == nil {
			continue
		}
		if _, err := act.AwaitRelease(ctx, viewer.Client, release, what.Taken); err != nil {
			return err
		}
	}
	return nil
}
