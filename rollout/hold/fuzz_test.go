package hold_test

import (
	"encoding/json"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// maxFuzzed is how many pods are made at most.
const maxFuzzed = 50

// FuzzHold: with any annotation and any spec, a workload can be handed back, and the pods move
// without panic, and no more of them than the step has.
func FuzzHold(f *testing.F) {
	for _, seed := range []string{
		`{"release":"web","uid":"1","stable":"v1","strategy":"{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"partition\":3}}"}`,
		`{"release":"web","window":"-1","foreign":"v1","emptied":true,"meddling":{"reason":"x","message":"y"},"strategy":"{}"}`,
		`{"release":"web","window":"99999999999999999999","strategy":"{\"type\":\"OnDelete\",\"rollingUpdate\":{\"maxUnavailable\":\"101%\"}}"}`,
		`{"release":"../web"}`, `[]`, `null`, `{`, ``,
	} {
		f.Add(seed, int32(3), int32(5), int32(1), byte(0b0110), true)
	}
	f.Fuzz(func(t *testing.T, text string, partition, replicas, target int32, pods byte, rolling bool) {
		meta := metav1.ObjectMeta{Name: "web", Annotations: map[string]string{v1alpha1.HoldAnnotation: text}}
		set := &statefulset.Object{StatefulSet: &appsv1.StatefulSet{ObjectMeta: meta}}
		set.Spec.Replicas = new(min(max(replicas, 0), maxFuzzed))
		set.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		if rolling {
			set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition},
			}
		}
		set.Status.UpdateRevision, set.Status.CurrentRevision = "web-v2", "web-v1"
		daemon := &daemonset.Object{DaemonSet: &appsv1.DaemonSet{ObjectMeta: meta}}
		daemon.Spec.UpdateStrategy.Type = appsv1.OnDeleteDaemonSetStrategyType
		daemon.Status.DesiredNumberScheduled = *set.Spec.Replicas
		for _, w := range []workload.Workload{set, daemon} {
			wantReadable(t, w)
		}
		held := hold.Of(set)
		if held == nil {
			return
		}
		task := mover.Task{
			Digest: "d", Revision: "v2", Replicas: *set.Spec.Replicas, Bounds: mover.Bounds{Unavailable: 2}, Stable: "v1", Foreign: held.Foreign,
		}
		task.Target = min(max(target, 0), task.Replicas)
		s, d := statefulset.From(set, hold.Window(set)), daemonset.From(daemon)
		s.Digest, s.Listed, s.Live, d.Digest, d.Update, d.Listed, d.Live = "d", true, true, "d", "v2", true, true
		for i := range *set.Spec.Replicas {
			revision := "v1"
			if pods>>(i%8)&1 == 1 {
				revision = "v2"
			}
			name := fmt.Sprintf("web-%d", i)
			pod := inplace.Pod{Name: name, UID: types.UID(name), Index: i, Node: name, Revision: revision, Ready: true, Available: true}
			s.Pods, d.Pods = append(s.Pods, pod), append(d.Pods, pod)
		}
		for _, m := range []mover.Mover{s, d} {
			m.Native()
			m.Keep(task)
			wantWithin(t, m, task)
		}
	})
}

// wantReadable checks that a workload reads back as the hand-back has written it.
func wantReadable(t *testing.T, w workload.Workload) {
	t.Helper()
	held := hold.Of(w)
	if held == nil {
		return
	}
	data, err := json.Marshal(held)
	if err != nil {
		t.Fatal(err)
	}
	patch := hold.HandBack(w, held.HeldWorkload, nil)
	if _, err := patch.Encode(); err != nil {
		t.Errorf("%s with %s can't be handed back: %v", w.Kind(), data, err)
	}
	w.Describe(held.HeldWorkload)
	w.Limits(held.Strategy)
}

// wantWithin wants no more pods to go than the step says, and enough to serve.
func wantWithin(t *testing.T, m mover.Mover, task mover.Task) {
	t.Helper()
	updated, moves := m.Count(task.Digest).Updated.Wanted, m.Move(task)
	for _, write := range moves.Grow {
		replace, is := write.(inplace.Replace)
		if n := int32(len(replace.Pods)); is && (n > task.Unavailable || updated+n > max(task.Target, updated)) {
			t.Errorf("%T: %d updated pods, and %s, of %d, %d at a time", m, updated, write, task.Target, task.Unavailable)
		}
	}
}
