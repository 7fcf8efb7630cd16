package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// rollback is a bench of a release that stands at a gate, with pods of both versions, and is rolled
// back.
type rollback struct {
	fleet
	goal time.Duration
}

// gatedSteps returns steps with a manual gate after all but the last.
func gatedSteps(replicas ...string) []v1alpha1.Step {
	all := steps(replicas...)
	for i := range all[:len(all)-1] {
		all[i].Gates = []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}
	}
	return all
}

// wayBack rolls back as a tool does.
type wayBack struct {
	tool

	// stands reports whether an object is a release that stands at its first gate.
	stands func(client.Object) bool
	// ask has a release of that name rolled back.
	ask func(ctx context.Context, c client.Client, name string) error
}

// run measures the tools; no native rollout stands anywhere.
func (r rollback) run(ctx context.Context, k *kit, runs int) (report, error) {
	c := comparison{fleet: r.fleet, argo: true}
	measure := func(w wayBack) func(context.Context, *lab) (sample, error) {
		return func(ctx context.Context, l *lab) (sample, error) { return r.measure(ctx, l, w) }
	}
	all := []side{
		{"Sluice", measure(wayBack{c.sluice(), blocksAt(2, 0), annotateRollback}), nil},
		{"Argo Rollouts", measure(wayBack{c.argoRollouts(), r.paused, abort}), nil},
	}
	if err := c.measure(ctx, k, runs, all); err != nil {
		return report{}, err
	}
	return r.report(c, sides{sluice: all[0].samples, argo: all[1].samples}), nil
}

func (r rollback) report(c comparison, s sides) report {
	first := s.row("until all pods are old and no new one is there", showing(wallOf, seconds))
	rows := []row{limited(first, median(of(s.sluice, wallOf)), r.goal, seconds)}
	rows = append(rows, c.requestRows(s)...)
	return report{rows: append(rows, c.podRows(s)...)}
}

func (r rollback) measure(ctx context.Context, l *lab, w wayBack) (s sample, err error) {
	log, err := l.watch(ctx, append(everything(), w.kinds...)...)
	if err != nil {
		return s, err
	}
	controller, err := w.begin(ctx, l, log)
	if err != nil {
		return s, err
	}
	defer func() { err = errors.Join(err, controller.stop()) }()
	if err := w.update(ctx, l.client, 2); err != nil {
		return s, fmt.Errorf("update: %w", err)
	}
	if _, err := log.await(ctx, r.deployments, w.stands); err != nil {
		return s, err
	}
	if err := pass(ctx, settle); err != nil {
		return s, err
	}
	start := time.Now()
	s.wall, s.plane, err = l.timed(ctx, start, func() (time.Time, error) {
		if err := w.ask(ctx, l.client, r.names()[0]); err != nil {
			return start, fmt.Errorf("ask for a rollback: %w", err)
		}
		return r.awaitOld(ctx, log, start)
	})
	if err != nil {
		return s, err
	}
	requests, err := l.requests(start)
	s.requests, s.all = byVerb(requests, w.sent), total(byVerb(requests, fromControllers))
	s.extent = widest(replayAll(log.ordered(), start, nil))
	return s, err
}

// awaitOld waits until all pods are of the version of the very first, after a time, and returns
// since when they are.
func (r rollback) awaitOld(ctx context.Context, log *watchLog, start time.Time) (time.Time, error) {
	back := r.returning(start)
	for n := 0; ; {
		changes, more, err := log.since(n)
		if err != nil {
			return start, err
		}
		n += len(changes)
		for _, change := range changes {
			if back(change) {
				return change.at, nil
			}
		}
		select {
		case <-more:
		case <-ctx.Done():
			return start, fmt.Errorf("wait for old pods: %w", context.Cause(ctx))
		}
	}
}

// returning returns what takes each change, and reports whether it is the one that ends a rollback.
func (r rollback) returning(start time.Time) func(change) bool {
	old, pods := "", map[string]*corev1.Pod{}
	return func(c change) bool {
		pod, is := c.object.(*corev1.Pod)
		if !is {
			return false
		}
		old = cmp.Or(old, hashOf(pod))
		put(pods, pod.Name, pod, c.gone)
		return c.at.After(start) && r.allOld(pods, old)
	}
}

// allOld reports whether enough pods of a version are available and there is none of another, not
// even one that is being deleted.
func (r rollback) allOld(pods map[string]*corev1.Pod, version string) bool {
	available := 0
	for _, pod := range pods {
		if hashOf(pod) != version {
			return false
		}
		if pod.DeletionTimestamp == nil && ready(pod) {
			available++
		}
	}
	return available == int(r.pods)
}

func annotateRollback(ctx context.Context, c client.Client, name string) error {
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:"true"}}}`, v1alpha1.RollbackAnnotation)
	return c.Patch(ctx, releaseNamed(name), client.RawPatch(types.MergePatchType, []byte(patch)))
}

// abort does as kubectl argo rollouts abort.
func abort(ctx context.Context, c client.Client, name string) error {
	return c.Status().Patch(ctx, rolloutNamed(name), client.RawPatch(types.MergePatchType, []byte(`{"status":{"abort":true}}`)))
}

// paused reports whether an object is a Rollout that pauses after its first step.
func (r rollback) paused(object client.Object) bool {
	rollout, current := readRollout(object)
	return current && rollout.Status.Phase == "Paused" && int(rollout.Status.UpdatedReplicas) == r.targets()[0]
}
