package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// bench is one thing that is measured.
type bench struct {
	name, title string
	run         func(ctx context.Context, k *kit, runs int) (report, error)
}

func tenSteps() []v1alpha1.Step {
	return steps("10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%", "100%")
}

// benches in the order in which they are run.
var benches = []bench{
	{"B1", "one release: 100 pods, 10 equal steps, no gates", comparison{
		fleet: fleet{
			deployments: 1, pods: 100,
			steps: tenSteps(),
		},
		goals: goals{wall: 10600 * time.Millisecond, handOver: 100 * time.Millisecond, requests: 45},
		argo:  true,
	}.run},
	{"B1S", "one release of a StatefulSet: 100 pods, Parallel, 10 equal steps, maxUnavailable 10, no gates", comparison{
		fleet: fleet{kind: statefulSets, deployments: 1, pods: 100, unavailable: 10, policy: appsv1.ParallelPodManagement, steps: tenSteps()},
		args:  []string{gateArg(true)},
		goals: goals{wall: 12 * time.Second, handOver: 100 * time.Millisecond, requests: 100},
	}.run},
	{"B1D", "one release of a DaemonSet: 100 nodes, 10 equal steps, maxUnavailable 10, no gates", comparison{
		fleet: fleet{kind: daemonSets, deployments: 1, pods: 100, unavailable: 10, steps: tenSteps()},
		goals: goals{wall: 12 * time.Second, handOver: 100 * time.Millisecond, beyond: 100},
	}.run},
	{"B2", "one release: 1,000 pods, steps 1, 10%, 30%, 60%, 100%", comparison{
		fleet: fleet{deployments: 1, pods: 1000, steps: steps("1", "10%", "30%", "60%", "100%")},
		goals: goals{ratio: 1.2, requests: 120},
		argo:  true,
	}.run},
	{"B3", "200 releases at once: 10 pods, 4 steps each", comparison{
		fleet: fleet{deployments: 200, pods: 10, steps: steps("25%", "50%", "75%", "100%")},
		goals: goals{ratio: 1.5, ofArgo: 0.6, requests: 4400, all: 17_500, cpu: 7 * time.Second, peak: 70 << 20},
		argo:  true,
	}.run},
	{"B3S", "200 releases of StatefulSets at once: 10 pods, Parallel, 4 steps each, maxUnavailable 3", comparison{
		fleet: fleet{
			kind: statefulSets, deployments: 200, pods: 10, unavailable: 3, policy: appsv1.ParallelPodManagement,
			steps: steps("25%", "50%", "75%", "100%"),
		},
		args:  []string{gateArg(true)},
		goals: goals{requests: 5000},
	}.run},
	{"B3D", "200 releases of DaemonSets at once: 10 nodes, 4 steps each, maxUnavailable 3", comparison{
		fleet: fleet{kind: daemonSets, deployments: 200, pods: 10, unavailable: 3, steps: steps("25%", "50%", "75%", "100%")},
		goals: goals{beyond: 5000},
	}.run},
	{"B4", "1,000 completed releases of 10 pods at rest", rest{
		fleet:   fleet{deployments: 1000, pods: 10, steps: steps("25%", "50%", "75%", "100%")},
		watched: time.Minute, memory: 70 << 20, restart: 10 * time.Second,
	}.run},
	{"B5", "manual gates, confirmed the moment they block, 100 times in a row", approve{
		fleet: fleet{
			deployments: 1, pods: 10, steps: manualSteps(10),
			annotations: map[string]string{controlplane.ReadyDelayAnnotation: "0s"},
		},
		times: 100,
	}.run},
	{"B6", "a Git repository of 10,000 manifests, one file changed", follow{manifests: 10_000, memory: 200 << 20}.run},
	{"B7", "a push to a forge with webhooks, until the first pod of the new version", pushes{
		fleet: fleet{deployments: 1, pods: 10, steps: steps("1", "50%", "100%")},
		times: 25, goal: 500 * time.Millisecond,
	}.run},
	{"B8", "one release with three pull requests that are merged as soon as they are there", calls{
		fleet: fleet{deployments: 1, pods: 10, steps: pullSteps("1", "30%", "60%", "100%")},
		goal:  12, writes: 6,
	}.run},
	{"B9", "one release of a StatefulSet: 100 pods, 10 equal steps, maxUnavailable 10, beside the native controller with the gate off and on", speed{
		fleet: fleet{kind: statefulSets, deployments: 1, pods: 100, unavailable: 10, quickStart: true, steps: tenSteps()},
		limits: []policyLimit{
			{appsv1.ParallelPodManagement, 12 * time.Second}, // 1.2 times what ten waves of a second take
			{appsv1.OrderedReadyPodManagement, 0},            // the native controller makes pods one after the other
		},
	}.run},
	{"B10", "one release whose requests move with its pods: 100 pods, 10 equal steps, no gates; and blue-green", shares{
		fleet: fleet{deployments: 1, pods: 100, steps: tenSteps()},
		more:  3, handOver: 50 * time.Millisecond,
	}.run},
	{"B11", "the dashboard with 1,000 releases, and 20 viewers who follow it", board{
		releases: 1000, viewers: 20, changes: 10, page: 200 * time.Millisecond, weight: 100 << 10, memory: 15 << 20,
	}.run},
	{"B12", "the dashboard with 10,000 releases, and 20 viewers who follow it", board{
		releases: 10_000, viewers: 20, changes: 10, page: 200 * time.Millisecond, weight: 100 << 10, memory: 15 << 20, held: 128 << 20,
	}.run},
	{"B13", "10,000 completed releases at rest", rest{
		fleet:   fleet{deployments: 10_000, pods: 1, steps: steps("100%")},
		watched: time.Minute, memory: 150 << 20, restart: time.Minute,
	}.run},
	{"B14", "a new template applied to a followed Deployment of 10 pods, until its first pod", applies{
		fleet: fleet{
			deployments: 1, pods: 10, steps: steps("1", "100%"), followed: true,
			annotations: map[string]string{controlplane.ReadyDelayAnnotation: "0s"},
		},
		times: 100, goal: 150 * time.Millisecond, tried: 1000,
	}.run},
	{"B15", "1,000 followed Deployments of 10 pods at rest", rest{
		fleet:   fleet{deployments: 1000, pods: 10, steps: steps("25%", "50%", "75%", "100%"), followed: true},
		watched: time.Minute, memory: 70 << 20, restart: 10 * time.Second,
	}.run},
	{"B16", "10,000 releases whose statuses wait for a forge with GitHub's limits, in windows of two seconds", behind{
		fleet:    fleet{deployments: 10_000, pods: 10, steps: steps("50%", "100%")},
		requests: 2000, writes: 1000, ceiling: 1_500_000, window: 2 * time.Second, outage: 5 * time.Second,
	}.run},
	{"B17", "100 Deployments of 4 pods from one commit, steps 1, 50%, 100%, a gate after the first: as releases of their own, and as a train", together{
		fleet: fleet{deployments: 100, pods: 4, steps: steps("1", "50%", "100%")}, ratio: 1.1, forge: 100,
	}.run},
	{"B18", "a train of 1,000 Deployments of 2 pods: an approval, and a rollback at the gate", trainBack{
		fleet: fleet{deployments: 1000, pods: 2, steps: gatedSteps("1", "100%")}, goal: 10 * time.Second,
	}.run},
	{"B19", "1,000 open metrics gates that compare the same counters of one server", metricGates{
		fleet:   fleet{deployments: 1000, pods: 2, steps: comparedSteps(), annotations: map[string]string{controlplane.ReadyDelayAnnotation: "0s"}},
		watched: time.Minute, writes: 1000,
	}.run},
	{"M5", "rollback from half: 100 pods, of which 50 are of the new version, at a gate", rollback{
		fleet: fleet{deployments: 1, pods: 100, steps: gatedSteps("50%", "100%")},
		goal:  1200 * time.Millisecond,
	}.run},
}

// run runs the benches that were asked for and prints a table of each. It reports whether any
// number was not what is wanted.
func run(ctx context.Context, o options, out, progress io.Writer) (missed bool, err error) {
	k, err := newKit(ctx, o.logs, progress)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, k.close()) }()
	fmt.Fprintf(out, "%d cores, %s/%s, %s; median of %d runs; all on one machine, load generator included\n\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), o.runs)
	for _, b := range o.selected() {
		k.say("%s  %s", b.name, b.title)
		r, err := b.run(ctx, k, o.runs)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", b.name, err)
		}
		missed = missed || r.missed()
		if err := r.print(out, b.name, b.title); err != nil {
			return missed, err
		}
	}
	return missed, nil
}
