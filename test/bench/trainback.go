package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trainBack is a bench of a train of many members: one approval lets all go on, and a rollback at
// its gate takes all back.
type trainBack struct {
	fleet
	goal time.Duration
}

// back holds the measurements of a train that goes back.
type back struct {
	first, gate, approved, written, ended time.Duration
	// status is the size of the train's status, and object that of the train, in bytes.
	status, object int
	rest           usage
	usage
}

// run makes the train once, and rolls it back a number of times.
func (t trainBack) run(ctx context.Context, k *kit, runs int) (report, error) {
	t.git = oneTrain
	var all []back
	err := k.inLab(ctx, func(ctx context.Context, l *lab) error {
		begin := time.Now()
		return t.inShop(ctx, l, func(s *shop) error {
			first := time.Since(begin)
			s.say("  the first version runs after %s", seconds(first))
			for run := range runs {
				b, err := t.measure(ctx, s, run)
				if err != nil {
					return err
				}
				b.first = first
				all = append(all, b)
				s.say("  run %d of %d: approved and released after %s", run+1, runs, seconds(b.approved))
			}
			return nil
		})
	})
	if err != nil {
		return report{}, err
	}
	return t.report(all), nil
}

// measure rolls a version back at its gate, and releases the next with one approval.
func (t trainBack) measure(ctx context.Context, s *shop, run int) (b back, err error) {
	version, attempt := 2*run+1, int64(3*run+1)
	if b.rest, err = s.running.usage(); err != nil {
		return b, err
	}
	if b.gate, err = s.toGate(ctx, version+1, attempt+1); err != nil {
		return b, err
	}
	s.say("  at its gate after %s", seconds(b.gate))
	if err := pass(ctx, settle); err != nil {
		return b, err
	}
	changes, start := s.log.length(), time.Now()
	if err := annotateRollback(ctx, s.client, trainName); err != nil {
		return b, fmt.Errorf("ask for a rollback: %w", err)
	}
	end, err := s.log.awaitFrom(ctx, changes, t.deployments, hasTemplate(version))
	if err != nil {
		return b, err
	}
	b.written = end.Sub(start)
	s.say("  written back after %s", seconds(b.written))
	if end, err = s.log.awaitFrom(ctx, changes, t.releases(), released(attempt+2)); err != nil {
		return b, err
	}
	b.ended = end.Sub(start)
	if _, err := s.toGate(ctx, version+2, attempt+3); err != nil {
		return b, err
	}
	start = time.Now()
	if err := s.client.Status().Patch(ctx, releaseNamed(trainName), client.RawPatch(types.MergePatchType, []byte(confirmPatch))); err != nil {
		return b, fmt.Errorf("approve: %w", err)
	}
	if end, err = s.log.await(ctx, t.releases(), released(attempt+3)); err != nil {
		return b, err
	}
	b.approved = end.Sub(start)
	if err := b.weigh(ctx, s); err != nil {
		return b, err
	}
	b.usage, err = s.running.usage()
	return b, err
}

// weigh measures the train as it is stored.
func (b *back) weigh(ctx context.Context, s *shop) error {
	train, err := s.train(ctx)
	if err != nil {
		return err
	}
	status, err := json.Marshal(train.Status)
	if err != nil {
		return fmt.Errorf("encode status: %w", err)
	}
	object, err := json.Marshal(train)
	if err != nil {
		return fmt.Errorf("encode train: %w", err)
	}
	b.status, b.object = len(status), len(object)
	return nil
}

// toGate pushes a version of the whole fleet, and returns how long the train takes to its gate.
func (s *shop) toGate(ctx context.Context, version int, attempt int64) (time.Duration, error) {
	start := time.Now()
	if err := s.pushAll(ctx, version); err != nil {
		return 0, err
	}
	waits := blocksAt(attempt, 0)
	end, err := s.log.await(ctx, 1, func(object client.Object) bool { return object.GetName() == trainName && waits(object) })
	return end.Sub(start), err
}

// hasTemplate reports whether an object is a Deployment with the template of a version.
func hasTemplate(version int) func(client.Object) bool {
	return func(object client.Object) bool {
		d, ok := object.(*appsv1.Deployment)
		return ok && d.Spec.Template.Spec.Containers[0].Image == image(version)
	}
}

func (t trainBack) report(all []back) report {
	duration := func(of_ func(back) time.Duration) string { return seconds(median(of(all, of_))) }
	written := median(of(all, func(b back) time.Duration { return b.written }))
	last := all[len(all)-1]
	kibibytes := func(bytes int) string { return fmt.Sprintf("%d KiB", bytes>>10) }
	return report{rows: []row{
		{label: "first versions, from the source on", sluice: seconds(last.first)},
		{label: "push until the gate, all members having done step 1", sluice: duration(func(b back) time.Duration { return b.gate })},
		{label: "approval until all releases have completed", sluice: duration(func(b back) time.Duration { return b.approved })},
		{
			label: "rollback=true until the last template is written back", sluice: seconds(written),
			wanted: "<= " + seconds(t.goal), verdict: atMost(written, t.goal),
		},
		{label: "  until all releases have completed", sluice: duration(func(b back) time.Duration { return b.ended })},
		{label: "controller memory, peak", sluice: mebibytes(last.peak)},
		{label: "  after the first versions", sluice: mebibytes(all[0].rest.memory)},
		{label: "controller CPU, total", sluice: cpuSeconds(last.cpu)},
		{label: "status of the train", sluice: kibibytes(last.status)},
		{label: "  whole object", sluice: kibibytes(last.object)},
	}}
}
