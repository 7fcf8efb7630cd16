package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// comparison is a bench that releases the same fleet natively and with Sluice.
type comparison struct {
	fleet
	goals goals
	// args of kube-apiserver and kube-controller-manager, on both sides.
	args []string
	// peers are the figures of other tools in the same bench.
	argo, kruise *figures
}

// sample holds the measurements of one side in one run.
type sample struct {
	wall time.Duration
	extent
	handOvers []time.Duration
	requests  map[string]int
	// usage is the controller's, plane the CPU time of all that serves it.
	usage
	plane time.Duration
}

// run measures both sides a number of times, the one first in one run and the other in the next.
func (c comparison) run(ctx context.Context, k *kit, runs int) (report, error) {
	sides := []struct {
		name    string
		measure func(context.Context, *lab) (sample, error)
		samples []sample
	}{{"native", c.native, nil}, {"Sluice", c.sluice, nil}}
	for run := range runs {
		for i := range sides {
			side := &sides[(run+i)%len(sides)]
			err := k.inLabOf(ctx, c.lab(c.args...), func(ctx context.Context, l *lab) error {
				s, err := side.measure(ctx, l)
				side.samples = append(side.samples, s)
				return err
			})
			if err != nil {
				return report{}, fmt.Errorf("measure %s: %w", side.name, err)
			}
			k.say("  run %d of %d, %s: %s", run+1, runs, side.name, side.samples[run].headline())
		}
	}
	return c.report(sides[0].samples, sides[1].samples), nil
}

// native lets the native controller update the fleet.
func (c comparison) native(ctx context.Context, l *lab) (s sample, err error) {
	log, err := l.watch(ctx, everything()...)
	if err != nil {
		return s, err
	}
	if err := c.deploy(ctx, l, log); err != nil {
		return s, err
	}
	start := time.Now()
	s.wall, s.plane, err = l.timed(ctx, start, func() (time.Time, error) {
		if err := c.updateNative(ctx, l.client, 2); err != nil {
			return start, fmt.Errorf("update: %w", err)
		}
		return log.await(ctx, c.deployments, runs(2))
	})
	s.extent = widest(replayAll(log.ordered(), start, nil))
	return s, err
}

// timed returns how long something takes until the time that it returns, and how much CPU time
// the control plane uses for it and for what follows.
func (l *lab) timed(ctx context.Context, start time.Time, do func() (time.Time, error)) (wall, plane time.Duration, err error) {
	before, err := l.planeCPU()
	if err != nil {
		return 0, 0, err
	}
	end, err := do()
	if err != nil {
		return 0, 0, err
	}
	if err := pass(ctx, settle); err != nil {
		return 0, 0, err
	}
	after, err := l.planeCPU()
	return end.Sub(start), after - before, err
}

// deploy creates the fleet and waits until it is available.
func (c comparison) deploy(ctx context.Context, l *lab, log *watchLog) error {
	if err := c.create(ctx, l.client); err != nil {
		return fmt.Errorf("deploy: %w", err)
	}
	if _, err := log.await(ctx, c.deployments, runs(1)); err != nil {
		return err
	}
	return pass(ctx, settle)
}

// sluice releases the fleet in steps.
func (c comparison) sluice(ctx context.Context, l *lab) (s sample, err error) {
	log, err := l.watch(ctx, everything()...)
	if err != nil {
		return s, err
	}
	if err := c.deploy(ctx, l, log); err != nil {
		return s, err
	}
	controller, err := l.startController(ctx)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, controller.stop()) }()
	if err := c.adoptAll(ctx, l, log); err != nil {
		return s, err
	}
	before, err := controller.usage()
	if err != nil {
		return s, err
	}
	start := time.Now()
	s.wall, s.plane, err = l.timed(ctx, start, func() (time.Time, error) {
		if err := c.updateReleases(ctx, l.client, 2); err != nil {
			return start, fmt.Errorf("update: %w", err)
		}
		return log.await(ctx, c.deployments, released(2))
	})
	if err != nil {
		return s, err
	}
	if s.usage, err = controller.usage(); err != nil {
		return s, err
	}
	s.cpu -= before.cpu
	return s, c.read(l, log, start, &s)
}

// adoptAll makes the releases of what runs already, and lets the controller come to rest.
func (c comparison) adoptAll(ctx context.Context, l *lab, log *watchLog) error {
	if err := c.adopt(ctx, l.client); err != nil {
		return fmt.Errorf("create releases: %w", err)
	}
	if _, err := log.await(ctx, c.deployments, released(1)); err != nil {
		return err
	}
	return pass(ctx, settle)
}

// read adds what the logs tell.
func (c comparison) read(l *lab, log *watchLog, start time.Time, s *sample) error {
	requests, err := l.requests(start)
	if err != nil {
		return err
	}
	s.requests = byVerb(requests)
	histories := replayAll(log.ordered(), start, c.targets())
	s.extent = widest(histories)
	clock := newClock(requests)
	for _, h := range histories {
		for _, between := range h.handOvers {
			s.handOvers = append(s.handOvers, clock.duration(between))
		}
	}
	if want := c.deployments * (len(c.steps) - 1); len(s.handOvers) != want {
		return fmt.Errorf("find hand-overs in the watch log: got %d, want %d", len(s.handOvers), want)
	}
	slices.Sort(s.handOvers)
	return nil
}

// widest returns the worst of all Deployments.
func widest(histories []history) extent {
	all := histories[0].extent
	for _, h := range histories {
		all.least, all.most = min(all.least, h.least), max(all.most, h.most)
	}
	return all
}

func (s sample) headline() string {
	text := seconds(s.wall)
	if s.requests != nil {
		text += fmt.Sprintf(", %d requests", total(s.requests))
	}
	return text
}
