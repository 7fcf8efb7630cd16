package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// rest is a bench of releases that have completed, and a controller that has nothing to do.
type rest struct {
	fleet
	// watched is how long the controller is watched at rest; memory, in bytes, and restart are the
	// goals.
	watched time.Duration
	memory  int64
	restart time.Duration
}

// restSample holds the measurements of a controller at rest.
type restSample struct {
	requests map[string]int // while it was watched
	usage                   // then
	restarts []restart
}

// restart holds the requests and times of a new controller.
type restart struct {
	// quiet is how long after its start it was ready and had made its last request.
	quiet    time.Duration
	requests map[string]int
	writes   int
	usage
}

// run sets the scene once, as that takes by far the longest, and restarts a number of times.
func (r rest) run(ctx context.Context, k *kit, runs int) (report, error) {
	var s restSample
	inLab := k.inLab
	if r.followed {
		inLab = k.inFollowingLab
	}
	err := inLab(ctx, func(ctx context.Context, l *lab) (err error) {
		s, err = r.measure(ctx, l, runs)
		return err
	})
	if err != nil {
		return report{}, err
	}
	return r.report(s), nil
}

func (r rest) measure(ctx context.Context, l *lab, runs int) (s restSample, err error) {
	running, err := r.settle(ctx, l)
	if err != nil {
		return s, err
	}
	defer func() {
		if running != nil {
			err = errors.Join(err, running.stop())
		}
	}()
	l.say("  all releases have completed; watching them for %v", r.watched)
	from := time.Now()
	if err := pass(ctx, r.watched); err != nil {
		return s, err
	}
	requests, err := l.requests(from)
	if err != nil {
		return s, err
	}
	s.requests = byVerb(requests, fromSluice)
	if s.usage, err = running.usage(); err != nil {
		return s, err
	}
	for run := range runs {
		before := running
		running = nil
		if err := before.stop(); err != nil {
			return s, err
		}
		var again restart
		if running, again, err = r.startAgain(ctx, l); err != nil {
			return s, err
		}
		s.restarts = append(s.restarts, again)
		l.say("  restart %d of %d: quiet after %s, %d writes", run+1, runs, seconds(again.quiet), again.writes)
	}
	return s, nil
}

// settle makes all releases and waits until they have completed.
func (r rest) settle(ctx context.Context, l *lab) (*controller, error) {
	log, err := l.watch(ctx, &appsv1.DeploymentList{}, &v1alpha1.BatchReleaseList{})
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := r.create(ctx, l.client); err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	if _, err := log.await(ctx, r.deployments, runs(1)); err != nil {
		return nil, err
	}
	l.say("  %d Deployments are up after %s", r.deployments, seconds(time.Since(begin)))
	running, err := l.startController(ctx)
	if err != nil {
		return nil, err
	}
	ctx, cancel := running.while(ctx)
	defer cancel()
	if err := r.adopt(ctx, l.client); err != nil {
		return nil, errors.Join(fmt.Errorf("create releases: %w", err), running.stop())
	}
	_, err = log.await(ctx, r.deployments, released(1))
	if err = errors.Join(err, pass(ctx, settle)); err != nil {
		return nil, errors.Join(err, running.stop())
	}
	return running, nil
}

// startAgain starts a controller and waits as long as it may take, plus as long again in which
// it has to stay quiet.
func (r rest) startAgain(ctx context.Context, l *lab) (*controller, restart, error) {
	running, err := l.startController(ctx)
	if err != nil {
		return nil, restart{}, err
	}
	again := restart{quiet: time.Since(running.begun)}
	if err := pass(ctx, 2*r.restart-again.quiet); err != nil {
		return nil, again, errors.Join(err, running.stop())
	}
	requests, err := l.requests(running.begun)
	if err != nil {
		return nil, again, errors.Join(err, running.stop())
	}
	again.requests = byVerb(requests, fromSluice)
	for _, request := range requests {
		if !fromSluice(request) {
			continue
		}
		again.quiet = max(again.quiet, request.Received.Sub(running.begun))
		if changesSomething(request) {
			again.writes++
		}
	}
	again.usage, err = running.usage()
	return running, again, err
}

func (r rest) report(s restSample) report {
	slowest := func(a restart) time.Duration { return a.quiet }
	quiet := median(of(s.restarts, slowest))
	writes := slices.Max(of(s.restarts, func(a restart) int { return a.writes }))
	peak := slices.Max(of(s.restarts, func(a restart) int64 { return a.peak }))
	typical := middle(s.restarts, slowest)
	return report{rows: []row{
		{
			label: fmt.Sprintf("API requests in %v, the lease's aside", r.watched), sluice: fmt.Sprint(total(s.requests)),
			wanted: "0", verdict: atMost(total(s.requests), 0),
		},
		{
			label: "controller memory at rest", sluice: mebibytes(s.usage.memory),
			wanted: "< " + mebibytes(r.memory), verdict: ifKnown(s.usage.memory, r.memory-1),
		},
		{label: "  peak, first start", sluice: mebibytes(s.usage.peak)},
		{
			label: "  peak, restart", sluice: mebibytes(peak),
			wanted: "< " + mebibytes(r.memory), verdict: ifKnown(peak, r.memory-1),
		},
		{
			label: "restart until ready and quiet", sluice: seconds(quiet),
			wanted: "<= " + seconds(r.restart), verdict: atMost(quiet, r.restart),
		},
		{label: "  writes", sluice: fmt.Sprint(writes), wanted: "0", verdict: atMost(writes, 0)},
		{label: "  API requests", sluice: verbs(typical.requests)},
		{label: "  controller CPU", sluice: cpuSeconds(typical.cpu)},
	}}
}
