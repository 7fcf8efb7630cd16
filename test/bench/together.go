package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// together is a bench of one commit that changes all Deployments of a fleet: as releases of their
// own, as a train, and as a train with a pull request after its first step.
type together struct {
	fleet
	// ratio limits the API requests of a train, in those of releases of their own; forge limits the
	// requests and pushes to the forge.
	ratio float64
	forge int
}

// joint holds the measurements of one commit.
type joint struct {
	wall time.Duration
	// requests are the controller's, by verb and resource.
	requests map[string]int
	asked    []devforge.Request
	usage
}

func (j joint) total() int { return total(j.requests) }

// pushes counts the requests that pushed to the forge.
func (j joint) pushes() int {
	n := 0
	for _, r := range j.asked {
		if r.Git && strings.HasSuffix(r.Path, "/git-receive-pack") {
			n++
		}
	}
	return n
}

// toForge counts the requests to the forge's API, and pushes.
func (j joint) toForge() int { return total(byKind(j.asked)) + j.pushes() }

func (t together) run(ctx context.Context, k *kit, runs int) (report, error) {
	var alone, train, ungated, stepped, asked []joint
	inStep := t.as(oneTrain, v1alpha1.GatePolicy{})
	inStep.lockstep = &v1alpha1.Lockstep{}
	manual := v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}
	for _, side := range []struct {
		name  string
		fleet fleet
		taken *[]joint
	}{
		{"a train with a pull request", t.as(oneTrain, v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}), &asked},
		{"a train with a manual gate", t.as(oneTrain, manual), &train},
		{"releases of their own with a manual gate", t.as(eachAlone, manual), &alone},
		{"a train in lockstep without gates", inStep, &stepped},
		{"releases of their own without gates", t.as(eachAlone, v1alpha1.GatePolicy{}), &ungated},
	} {
		for run := range runs {
			j, err := side.fleet.releaseOnce(ctx, k)
			if err != nil {
				return report{}, fmt.Errorf("%s: %w", side.name, err)
			}
			*side.taken = append(*side.taken, j)
			k.say("  run %d of %d, %s: %s, %d requests, %d to the forge's API, and pushes", run+1, runs, side.name, seconds(j.wall), j.total(), j.toForge())
		}
	}
	return t.report(alone, train, [2]joint{middle(ungated, joint.total), middle(stepped, joint.total)}, middle(asked, joint.toForge)), nil
}

// as returns the fleet as it is in Git, with a gate after its first step, or without one.
func (t together) as(git inGit, gate v1alpha1.GatePolicy) fleet {
	f := t.fleet
	f.git, f.forge = git, gate.PullRequest != nil
	if gate != (v1alpha1.GatePolicy{}) {
		f.steps = slices.Clone(f.steps)
		f.steps[0].Gates = []v1alpha1.GatePolicy{gate}
	}
	return f
}

// releaseOnce pushes a version of the whole fleet, and follows it to the last report.
func (f fleet) releaseOnce(ctx context.Context, k *kit) (j joint, err error) {
	err = k.inLab(ctx, func(ctx context.Context, l *lab) error {
		return f.inShop(ctx, l, func(s *shop) (err error) {
			j, err = s.releaseAll(ctx)
			return err
		})
	})
	return j, err
}

func (s *shop) releaseAll(ctx context.Context) (j joint, err error) {
	s.forge.ForgetRequests()
	before, err := s.running.usage()
	if err != nil {
		return j, err
	}
	start := time.Now()
	if err := s.pushAll(ctx, 2); err != nil {
		return j, err
	}
	if s.fleet.forge {
		if merged, err := mergeUntil(ctx, s.log, 2, s.merge); err != nil || merged != 1 {
			return j, errors.Join(err, fmt.Errorf("%d pull requests were merged, want 1", merged))
		}
	}
	if err := s.confirmAll(ctx); err != nil {
		return j, err
	}
	end, err := s.log.await(ctx, s.fleet.releases(), released(2))
	if err != nil {
		return j, err
	}
	j.wall = end.Sub(start)
	if s.fleet.forge {
		if _, err := s.log.await(ctx, 1, succeeded); err != nil {
			return j, err
		}
	}
	if err := pass(ctx, settle); err != nil {
		return j, err
	}
	requests, err := s.requests(start)
	if err != nil {
		return j, err
	}
	j.requests, j.asked = byResource(requests, fromSluice), s.asked()
	j.usage, err = s.running.usage()
	j.cpu -= before.cpu
	return j, err
}

// confirmAll passes the manual gates after the first step, if there are any: one of a train, or one
// of each release.
func (s *shop) confirmAll(ctx context.Context) error {
	if len(s.fleet.steps[0].Gates) == 0 || s.fleet.steps[0].Gates[0].Manual == nil {
		return nil
	}
	gated := []string{trainName}
	if s.fleet.git == eachAlone {
		gated = s.fleet.names()
	}
	at := blocksAt(2, 0)
	waits := func(object client.Object) bool { return slices.Contains(gated, object.GetName()) && at(object) }
	if _, err := s.log.await(ctx, len(gated), waits); err != nil {
		return err
	}
	for _, name := range gated {
		if err := s.client.Status().Patch(ctx, releaseNamed(name), client.RawPatch(types.MergePatchType, []byte(confirmPatch))); err != nil {
			return fmt.Errorf("approve %s: %w", name, err)
		}
	}
	return nil
}

// succeeded reports whether an object is a train whose second attempt is reported as a success.
func succeeded(object client.Object) bool {
	r, ok := object.(*v1alpha1.BatchRelease)
	return ok && r.Name == trainName && released(2)(object) && r.Status.Report != nil && r.Status.Report.Commit == r.Status.Commit && r.Status.Report.State == "success"
}

// byResource counts the requests that match by verb and resource.
func byResource(requests []controlplane.Request, match func(controlplane.Request) bool) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		if match(r) {
			counts[r.Verb+" "+r.Resource]++
		}
	}
	return counts
}

// report compares a train with releases of their own, both with a manual gate. ungated has the
// latter, and a train in lockstep, without gates; asked is a train with a pull request.
func (t together) report(alone, train []joint, ungated [2]joint, asked joint) report {
	one, all := middle(alone, joint.total), middle(train, joint.total)
	ratio := float64(all.total()) / float64(one.total())
	wall := func(j joint) time.Duration { return j.wall }
	rows := []row{
		{label: "wall time", alone: seconds(median(of(alone, wall))), train: seconds(median(of(train, wall)))},
		{label: "API requests", alone: fmt.Sprint(one.total()), train: fmt.Sprint(all.total())},
		{label: "  times those of releases of their own", train: fmt.Sprintf("%.2f", ratio), wanted: fmt.Sprintf("<= %.1f", t.ratio), verdict: atMost(ratio, t.ratio)},
	}
	most := func(kind string) int { return max(one.requests[kind], all.requests[kind]) }
	kinds := maps.Clone(one.requests)
	maps.Copy(kinds, all.requests)
	for _, kind := range slices.SortedFunc(maps.Keys(kinds), func(a, b string) int { return cmp.Or(cmp.Compare(most(b), most(a)), cmp.Compare(a, b)) }) {
		if most(kind) > t.deployments/2 {
			rows = append(rows, row{label: "  " + kind, alone: fmt.Sprint(one.requests[kind]), train: fmt.Sprint(all.requests[kind])})
		}
	}
	rows = append(
		rows, row{label: "controller CPU", alone: cpuSeconds(one.cpu), train: cpuSeconds(all.cpu)},
		row{label: "controller memory, peak", alone: mebibytes(one.peak), train: mebibytes(all.peak)},
	)
	free, stepped := ungated[0], ungated[1]
	rows = append(
		rows,
		row{label: "without gates, the train in lockstep: wall time", alone: seconds(free.wall), train: seconds(stepped.wall)},
		row{label: "  API requests", alone: fmt.Sprint(free.total()), train: fmt.Sprint(stepped.total())},
		row{label: "  times those of releases of their own", train: fmt.Sprintf("%.2f", float64(stepped.total())/float64(free.total()))},
		row{
			label: "with a pull request, to the forge's API, and pushes", train: fmt.Sprint(asked.toForge()),
			wanted: fmt.Sprintf("<= %d", t.forge), verdict: atMost(asked.toForge(), t.forge),
		},
	)
	for _, r := range ofKinds(byKind(asked.asked)) {
		r.train, r.sluice = r.sluice, ""
		rows = append(rows, r)
	}
	return report{rows: append(rows, row{label: "  pushes", train: fmt.Sprint(asked.pushes())}, row{label: "  wall time, API requests", train: fmt.Sprintf("%s, %d", seconds(asked.wall), asked.total())})}
}
