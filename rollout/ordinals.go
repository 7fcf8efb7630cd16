package rollout

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// ordinals are the pods of a StatefulSet.
type ordinals struct {
	places

	s *statefulset.Object
}

var _ parts = ordinals{}

func (ordinals) observe(ctx context.Context, r *kindShell, v *view) error {
	return r.pods.observePods(ctx, v)
}

func (p ordinals) mover(v *view) mover.Mover {
	m := statefulset.From(p.s, hold.Window(p.s))
	m.Digest, m.Listed, m.Live = digestOf(p.s.PodTemplate()), v.pods.listed, v.pods.live
	for _, pod := range v.pods.pods {
		index, is := p.index(pod)
		if !is {
			continue
		}
		placed := placed(pod, p.s.Revision(pod.Labels[appsv1.ControllerRevisionHashLabelKey]), p.s.Spec.MinReadySeconds, v.now)
		placed.Index = index
		m.Pods = append(m.Pods, placed)
	}
	return m
}

func (p ordinals) size(*view) int32 { return p.s.Size() }

// index returns the ordinal of a pod less the first. The native controller too goes by the name.
func (p ordinals) index(pod *corev1.Pod) (int32, bool) {
	text, found := strings.CutPrefix(pod.Name, p.s.Name+"-")
	ordinal, err := strconv.ParseInt(text, 10, 32)
	if !found || err != nil || ordinal < 0 || strconv.FormatInt(ordinal, 10) != text { // no sign, no zeros before it
		return 0, false
	}
	return int32(ordinal) - p.s.FirstOrdinal(), true
}

func (p ordinals) revision(v *view, digest string) string {
	if p.s.Observed() {
		return p.s.Revision(p.s.Status.UpdateRevision)
	}
	return cmp.Or(keptName(v.facts.Kept, digest), foretold(p.s))
}

func (p ordinals) foretell(v *view, answer workload.Workload, template json.RawMessage, digest string) string {
	if digest == digestOf(p.s.PodTemplate()) {
		return p.revision(v, digest)
	}
	hash := podtemplate.RevisionHashOf(template, ptr.Deref(p.s.Status.CollisionCount, 0))
	return cmp.Or(keptName(v.facts.Kept, digest), hash, answer.Foretell())
}

func (p ordinals) move(ctx context.Context, r *kindShell, v *view, write mover.Write) error {
	w, known := write.(inplace.Write)
	if !known {
		return fmt.Errorf("write %T is not one to a StatefulSet", write)
	}
	switch w := w.(type) {
	case inplace.Replace:
		return r.mover.replace(ctx, v, w)
	case inplace.Window:
		return p.setPartition(ctx, r, v, w)
	}
	return nil
}

// setPartition writes the partition, and the note in the annotation that it is ours, in one write.
func (p ordinals) setPartition(ctx context.Context, r *kindShell, v *view, a inplace.Window) error {
	held := hold.Of(p.s)
	if held == nil {
		return errOutdated
	}
	now := *held
	now.Window = statefulset.Window(a.Partition)
	patch, err := kube.PatchOf(statefulset.SetPartition(hold.Set(hold.AsDecided(p.s), p.s, now), a.Partition, a.Unavailable))
	if err != nil {
		return err
	}
	differs := func(w workload.Workload) []string { return otherPartition(w, a.Partition) }
	if err := r.workloads.tryWrite(ctx, v, patch, brings{}, differs); err != nil {
		return err
	}
	if r.podsOvertaken(v) { // the dry run may have taken long
		return errOutdated
	}
	before := v.workload
	if err := r.workloads.patchWorkload(ctx, v, patch); err != nil {
		return err
	}
	v.process.scaled = r.clock.Now()
	if err := changes((brings{}).others(v, before, v.workload, nil), true); err != nil {
		return errors.Join(err, r.workloads.secureAgain(ctx, v, now))
	}
	if fields := otherPartition(v.workload, a.Partition); len(fields) > 0 {
		return &rewritten{fields: fields, written: true}
	}
	return nil
}

// otherPartition names what is not as a partition asks for.
func otherPartition(w workload.Workload, want int32) []string {
	s, is := w.(*statefulset.Object)
	if !is {
		return []string{"kind"}
	}
	partition, rolling := s.Rolling()
	if !rolling {
		partition = inplace.Anywhere
	}
	if partition != want {
		return []string{"spec.updateStrategy"}
	}
	return nil
}

func (p ordinals) failing(ctx context.Context, r *kindShell, v *view) (string, error) {
	return r.pods.failingPods(ctx, v, p.s.Ordered(), func(pod *corev1.Pod) bool {
		return pod.Labels[appsv1.ControllerRevisionHashLabelKey] == p.s.Status.UpdateRevision
	})
}
