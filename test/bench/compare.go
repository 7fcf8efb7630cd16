package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// comparison is a bench that releases the same fleet natively, with Sluice and with Argo Rollouts.
type comparison struct {
	fleet
	goals goals
	// args of kube-apiserver and kube-controller-manager, on all sides.
	args []string
	// argo has Argo Rollouts take part.
	argo bool
}

// sample holds the measurements of one side in one run.
type sample struct {
	wall time.Duration
	extent
	handOvers []time.Duration
	// requests are the controller's, by verb; all is how many were of any controller.
	requests map[string]int
	all      int
	// usage is the controller's, plane the CPU time of all that serves it.
	usage
	plane time.Duration
}

// side is one of those that are compared.
type side struct {
	name    string
	measure func(context.Context, *lab) (sample, error)
	samples []sample
}

// run measures all sides a number of times, each of them first in one run and last in another.
func (c comparison) run(ctx context.Context, k *kit, runs int) (report, error) {
	all := []side{
		{"native", c.native, nil},
		{"Sluice", func(ctx context.Context, l *lab) (sample, error) { return c.inSteps(ctx, l, c.sluice()) }, nil},
	}
	if c.argo {
		all = append(all, side{"Argo Rollouts", func(ctx context.Context, l *lab) (sample, error) { return c.inSteps(ctx, l, c.argoRollouts()) }, nil})
	}
	if err := c.measure(ctx, k, runs, all); err != nil {
		return report{}, err
	}
	s := sides{native: all[0].samples, sluice: all[1].samples}
	if c.argo {
		s.argo = all[2].samples
	}
	return c.report(s), nil
}

// measure adds the samples of all sides, each on a control plane of its own.
func (c comparison) measure(ctx context.Context, k *kit, runs int, all []side) error {
	options, err := c.labOptions(ctx, k)
	if err != nil {
		return err
	}
	for run := range runs {
		for i := range all {
			side := &all[(run+i)%len(all)]
			err := k.inLabOf(ctx, options, func(ctx context.Context, l *lab) error {
				s, err := side.measure(ctx, l)
				side.samples = append(side.samples, s)
				return err
			})
			if err != nil {
				return fmt.Errorf("measure %s: %w", side.name, err)
			}
			k.say("  run %d of %d, %s: %s", run+1, runs, side.name, side.samples[run].headline())
		}
	}
	return nil
}

// labOptions returns the control plane of all sides: Argo Rollouts has its kinds on each.
func (c comparison) labOptions(ctx context.Context, k *kit) (controlplane.Options, error) {
	options := c.lab(c.args...)
	if !c.argo {
		return options, nil
	}
	err := k.needArgo(ctx)
	options.Manifests = []string{k.argo.ArgoCRDs()}
	return options, err
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
	if err != nil {
		return s, err
	}
	requests, err := l.requests(start)
	s.all = total(byVerb(requests, fromControllers))
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

// tool releases a fleet in steps.
type tool struct {
	// begin starts the controller, and has the fleet up in its first version and the controller at
	// rest.
	begin func(context.Context, *lab, *watchLog) (*controller, error)
	// update gives the fleet a new template.
	update func(context.Context, client.Client, int) error
	// done reports whether an object is one that has been released in its second version.
	done func(client.Object) bool
	// sent reports whether a request is the controller's.
	sent func(controlplane.Request) bool
	// targets are the pods of the new version at the end of each step.
	targets []int
	// kinds are watched beside those of everything.
	kinds []client.ObjectList
}

func (c comparison) sluice() tool {
	return tool{begin: c.underSluice, update: c.updateReleases, done: released(2), sent: fromSluice, targets: c.targets()}
}

// underSluice deploys the fleet and adopts it.
func (c comparison) underSluice(ctx context.Context, l *lab, log *watchLog) (*controller, error) {
	if err := c.deploy(ctx, l, log); err != nil {
		return nil, err
	}
	running, err := l.startController(ctx)
	if err != nil {
		return nil, err
	}
	if err := c.adoptAll(ctx, l, log); err != nil {
		return nil, errors.Join(err, running.stop())
	}
	return running, nil
}

// inSteps releases the fleet with a tool.
func (c comparison) inSteps(ctx context.Context, l *lab, t tool) (s sample, err error) {
	log, err := l.watch(ctx, append(everything(), t.kinds...)...)
	if err != nil {
		return s, err
	}
	controller, err := t.begin(ctx, l, log)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, controller.stop()) }()
	before, err := controller.usage()
	if err != nil {
		return s, err
	}
	start := time.Now()
	s.wall, s.plane, err = l.timed(ctx, start, func() (time.Time, error) {
		if err := t.update(ctx, l.client, 2); err != nil {
			return start, fmt.Errorf("update: %w", err)
		}
		return log.await(ctx, c.deployments, t.done)
	})
	if err != nil {
		return s, err
	}
	if s.usage, err = controller.usage(); err != nil {
		return s, err
	}
	s.cpu -= before.cpu
	return s, c.read(l, log, start, t, &s)
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
func (c comparison) read(l *lab, log *watchLog, start time.Time, t tool, s *sample) error {
	requests, err := l.requests(start)
	if err != nil {
		return err
	}
	s.requests = byVerb(requests, t.sent)
	s.all = total(byVerb(requests, fromControllers))
	histories := replayAll(log.ordered(), start, t.targets)
	s.extent = widest(histories)
	clock := newClock(requests, t.sent)
	for _, h := range histories {
		for _, between := range h.handOvers {
			s.handOvers = append(s.handOvers, clock.duration(between))
		}
	}
	if want := c.deployments * (len(t.targets) - 1); len(s.handOvers) != want {
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
