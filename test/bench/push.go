package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// pushes is a bench of one push after the other: how long after the forge's webhook there is a pod
// of the new version.
type pushes struct {
	fleet
	times int
	// goal for the 95th percentile.
	goal time.Duration
}

// milestone is a change of the cluster on the way from a push to its first pod.
type milestone struct {
	label string
	// at tells the object that has got there.
	at func(pushed) func(client.Object) bool
}

// pushed is a push whose way is followed.
type pushed struct {
	commit  string
	version int
	came    time.Time
}

// milestones in their order. Each is one write of another part.
var milestones = []milestone{
	{"  source asked to look", pushed.asked},
	{"  Git read, release written", pushed.written},
	{"  Deployment taken over", pushed.takenOver},
	{"  ReplicaSet scaled up", pushed.scaled},
	{"  its first pod (native controller)", pushed.podCreated},
}

// asked tells the source with a hint that is not older than the webhook.
func (p pushed) asked() func(client.Object) bool {
	return func(object client.Object) bool {
		source, ok := object.(*v1alpha1.ReleaseSource)
		if !ok {
			return false
		}
		at, err := time.Parse(time.RFC3339Nano, source.Annotations[v1alpha1.RequestedAtAnnotation])
		return err == nil && !at.Before(p.came)
	}
}

func (p pushed) written() func(client.Object) bool {
	return func(object client.Object) bool {
		release, ok := object.(*v1alpha1.BatchRelease)
		return ok && release.Annotations[v1alpha1.CommitAnnotation] == p.commit
	}
}

func (p pushed) takenOver() func(client.Object) bool {
	return func(object client.Object) bool {
		deployment, ok := object.(*appsv1.Deployment)
		return ok && p.runsIn(deployment.Spec.Template)
	}
}

func (p pushed) scaled() func(client.Object) bool {
	return func(object client.Object) bool {
		set, ok := object.(*appsv1.ReplicaSet)
		return ok && *set.Spec.Replicas > 0 && p.runsIn(set.Spec.Template)
	}
}

func (p pushed) runsIn(template corev1.PodTemplateSpec) bool {
	return template.Spec.Containers[0].Image == image(p.version)
}

func (p pushed) podCreated() func(client.Object) bool {
	return func(object client.Object) bool {
		pod, ok := object.(*corev1.Pod)
		return ok && pod.Annotations[versionAnnotation] == fmt.Sprint(p.version)
	}
}

// pushSample holds the measurements of one push, from the arrival of its webhook at the
// controller.
type pushSample struct {
	answered time.Duration
	// until each milestone.
	until []time.Duration
}

// firstPod returns how long it took to the last milestone.
func (s pushSample) firstPod() time.Duration { return s.until[len(s.until)-1] }

// run pushes many times on one control plane, whatever the number of runs.
func (p pushes) run(ctx context.Context, k *kit, _ int) (report, error) {
	var samples []pushSample
	err := k.inLab(ctx, func(ctx context.Context, l *lab) error {
		return p.inShop(ctx, l, func(s *shop) (err error) {
			samples, err = p.measure(ctx, s)
			return err
		})
	})
	if err != nil {
		return report{}, err
	}
	return p.report(samples), nil
}

func (p pushes) measure(ctx context.Context, s *shop) ([]pushSample, error) {
	samples := make([]pushSample, 0, p.times)
	for version := 2; len(samples) < p.times; version++ {
		sample, err := s.followPush(ctx, version)
		if err != nil {
			return nil, fmt.Errorf("push version %d: %w", version, err)
		}
		samples = append(samples, sample)
		// The next push finds a machine that has nothing else to do.
		if _, err := s.log.await(ctx, 1, released(int64(version))); err != nil {
			return nil, err
		}
		if err := pass(ctx, settle/4); err != nil {
			return nil, err
		}
	}
	s.say("  %d pushes: first pod after %s", len(samples), seconds(median(of(samples, pushSample.firstPod))))
	return samples, nil
}

// followPush pushes a version and waits for its first pod.
func (s *shop) followPush(ctx context.Context, version int) (sample pushSample, err error) {
	push := pushed{version: version}
	if push.commit, err = s.push(ctx, version); err != nil {
		return sample, err
	}
	ring, err := s.bell.of(ctx, push.commit)
	if err != nil {
		return sample, err
	}
	push.came, sample.answered = ring.came, ring.answered
	for _, m := range milestones {
		at, err := s.log.await(ctx, 1, m.at(push))
		if err != nil {
			return sample, err
		}
		sample.until = append(sample.until, at.Sub(ring.came))
	}
	return sample, nil
}

func (p pushes) report(samples []pushSample) report {
	all := of(samples, pushSample.firstPod)
	p95 := percentile(all, 95)
	rows := []row{
		{label: fmt.Sprintf("webhook until first pod, median of %d", len(samples)), sluice: seconds(median(all))},
		{label: "  p95", sluice: seconds(p95), wanted: "<= " + seconds(p.goal), verdict: atMost(p95, p.goal)},
		{label: "  worst", sluice: seconds(slices.Max(all))},
		{label: "on the way, median (p95), until"},
		{label: "  webhook answered", sluice: spread(of(samples, func(s pushSample) time.Duration { return s.answered }))},
	}
	for i, m := range milestones {
		rows = append(rows, row{label: m.label, sluice: spread(of(samples, func(s pushSample) time.Duration { return s.until[i] }))})
	}
	return report{rows: rows}
}

func spread(all []time.Duration) string {
	return fmt.Sprintf("%s (%s)", seconds(median(all)), seconds(percentile(all, 95)))
}
