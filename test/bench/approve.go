package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// confirmPatience is how long after a confirmation its gate may stay closed before the
// confirmation counts as lost, and is given again.
const confirmPatience = 10 * time.Second

// confirmPatch is what a user patches to pass a manual gate.
const confirmPatch = `{"status":{"currentStepState":"Completed"}}`

// approve is a bench of one release after the other, whose manual gates somebody confirms the
// moment they block.
type approve struct {
	fleet
	times int
}

// manualSteps returns steps of one more pod each, with a manual gate after all but the last.
func manualSteps(pods int) []v1alpha1.Step {
	var all []v1alpha1.Step
	for i := 1; i < pods; i++ {
		s := step(fmt.Sprint(i))
		s.Gates = []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}
		all = append(all, s)
	}
	return append(all, step("100%"))
}

// run gives the confirmations once, whatever the number of runs: they are many.
func (a approve) run(ctx context.Context, k *kit, _ int) (report, error) {
	var w *watcher
	err := k.inLab(ctx, func(ctx context.Context, l *lab) (err error) {
		w, err = a.measure(ctx, l)
		return err
	})
	if err != nil {
		return report{}, err
	}
	return a.report(w), nil
}

func (a approve) measure(ctx context.Context, l *lab) (w *watcher, err error) {
	log, err := l.watch(ctx, everything()...)
	if err != nil {
		return nil, err
	}
	running, err := l.startController(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, running.stop()) }()
	c := comparison{fleet: a.fleet}
	if err := c.deploy(ctx, l, log); err != nil {
		return nil, err
	}
	if err := c.adoptAll(ctx, l, log); err != nil {
		return nil, err
	}
	w = &watcher{client: l.client, log: log}
	for version := 2; len(w.waits) < a.times; version++ {
		if err := a.updateReleases(ctx, l.client, version); err != nil {
			return nil, fmt.Errorf("update: %w", err)
		}
		if err := w.confirmUntil(ctx, int64(version)); err != nil {
			return nil, err
		}
		l.say("  release %d: %d confirmed so far, %d lost", version-1, len(w.waits), w.lost)
	}
	return w, nil
}

// place is the position of a release.
type place struct {
	attempt int64
	step    int32
}

// watcher confirms gates.
type watcher struct {
	client client.Client
	log    *watchLog
	seen   int // changes of the log
	// confirmed is the gate that was confirmed last, at a time.
	confirmed place
	release   string
	at        time.Time
	// waits are the times from a confirmation to the beginning of the next step.
	waits []time.Duration
	lost  int
}

// confirmUntil confirms what blocks until an attempt has completed.
func (w *watcher) confirmUntil(ctx context.Context, attempt int64) error {
	for {
		changes, more, err := w.log.since(w.seen)
		if err != nil {
			return err
		}
		w.seen += len(changes)
		for _, c := range changes {
			if release, ok := c.object.(*v1alpha1.BatchRelease); ok {
				if err := w.look(ctx, release, c.at); err != nil {
					return err
				}
				if released(attempt)(release) {
					return nil
				}
			}
		}
		if err := w.wait(ctx, more); err != nil {
			return err
		}
	}
}

// look confirms a release that blocks, and notes one that went on.
func (w *watcher) look(ctx context.Context, release *v1alpha1.BatchRelease, at time.Time) error {
	status := &release.Status
	now := place{status.Attempt, status.CurrentStepIndex}
	if !w.at.IsZero() && now != w.confirmed {
		w.waits = append(w.waits, at.Sub(w.at))
		w.at = time.Time{}
	}
	if status.CurrentStepState != v1alpha1.StepBlocking || now == w.confirmed {
		return nil
	}
	w.confirmed, w.release = now, release.Name
	return w.confirm(ctx)
}

// confirm does what a user does, at once and without a look at what else there is.
func (w *watcher) confirm(ctx context.Context) error {
	w.at = time.Now()
	patch := client.RawPatch(types.MergePatchType, []byte(confirmPatch))
	if err := w.client.Status().Patch(ctx, releaseNamed(w.release), patch); err != nil {
		return fmt.Errorf("confirm: %w", err)
	}
	return nil
}

// wait waits for more changes. If nothing comes of a confirmation for too long, it is given again.
func (w *watcher) wait(ctx context.Context, more <-chan struct{}) error {
	var late <-chan time.Time
	if !w.at.IsZero() {
		timer := time.NewTimer(time.Until(w.at.Add(confirmPatience)))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-more:
		return nil
	case <-late:
		w.lost++
		return w.confirm(ctx)
	case <-ctx.Done():
		return fmt.Errorf("wait for the release: %w", context.Cause(ctx))
	}
}

func (a approve) report(w *watcher) report {
	return report{rows: []row{
		{label: "confirmations", sluice: fmt.Sprint(len(w.waits) + w.lost)},
		{label: "  lost", sluice: fmt.Sprint(w.lost), wanted: "0", verdict: atMost(w.lost, 0)},
		{label: "until the next step, median", sluice: seconds(median(w.waits))},
		{label: "  p99", sluice: seconds(percentile(w.waits, 99))},
		{label: "  worst", sluice: seconds(slices.Max(w.waits))},
	}}
}
