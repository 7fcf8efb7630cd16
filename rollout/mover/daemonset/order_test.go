package daemonset

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

func uids(names ...string) []types.UID {
	all := make([]types.UID, 0, len(names))
	for _, name := range names {
		all = append(all, types.UID(name))
	}
	return all
}

func limits(names ...string) map[types.UID]mover.Limit {
	all := map[types.UID]mover.Limit{}
	for _, uid := range uids(names...) {
		all[uid] = mover.Limit{Paused: 1}
	}
	return all
}

// seen returns the pods of a DaemonSet as order knows them, in zones b, a, b, a, and so on.
func seen(m Mover, paused ...string) mover.Queue {
	q := mover.Queue{
		Keys:   []v1alpha1.OrderKey{{NodeLabel: &v1alpha1.NodeLabelOrder{Key: "zone"}}, {Name: v1alpha1.Ascending}},
		Pauses: func(pod order.Pod) bool { return pod.Pause },
		Now:    time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC),
	}
	for i := range m.Pods {
		p := &m.Pods[i]
		q.Pods = append(q.Pods, order.Pod{
			Name: p.Name, UID: p.UID, Node: p.Node, Stage: order.Ready, Pause: slices.Contains(paused, p.Name),
			NodeLabels: map[string]string{"zone": []string{"b", "a"}[i%2]},
		})
	}
	return q
}

func TestPodsGoInOrderUpToAPausePoint(t *testing.T) {
	t.Parallel()
	four := held(pods(4, "v1")...)
	tests := map[string]struct {
		mover  Mover
		paused []string
		forget bool
		task   mover.Task
		turn   []types.UID
		limits map[types.UID]mover.Limit
		held   string
		want   []string
	}{
		"zone by zone": {
			mover: four, task: within(3, 4), turn: uids("pod-2", "pod-4", "pod-1", "pod-3"), limits: limits(),
			want: []string{"replace agent-2, agent-4, agent-1"},
		},
		"up to the first pause point": {
			mover: four, paused: []string{"agent-4"}, task: within(3, 4), turn: uids("pod-2", "pod-4", "pod-1", "pod-3"),
			limits: limits("pod-4", "pod-1", "pod-3"), want: []string{"replace agent-2"},
		},
		"a pause point that is next holds the rest": {
			mover: four, paused: []string{"agent-2"}, task: within(3, 4), turn: uids("pod-2", "pod-4", "pod-1", "pod-3"),
			limits: limits("pod-2", "pod-4", "pod-1", "pod-3"), held: "agent-2",
		},
		"a pause point in the way of nothing is not told": {
			mover: four, paused: []string{"agent-2"}, task: within(3, 0), turn: uids("pod-2", "pod-4", "pod-1", "pod-3"),
			limits: limits("pod-2", "pod-4", "pod-1", "pod-3"),
		},
		"what is not available goes before a pause point": {
			mover: held(pod("v1"), pod("v1"), pod("v1", unready)), paused: []string{"agent-2"}, task: within(3, 3),
			turn: uids("pod-2", "pod-1", "pod-3"), limits: limits("pod-2", "pod-1"), want: []string{"replace agent-3"},
		},
		"the pause points of updated pods count for nothing": {
			mover: held(pod("v2"), pod("v1")), paused: []string{"agent-1"}, task: within(2, 2), turn: uids("pod-2"), limits: limits(),
			want: []string{"replace agent-2"},
		},
		"a pod that nobody has seen waits": {
			mover: four, forget: true, task: within(3, 4), turn: uids("pod-2", "pod-1", "pod-3"), limits: limits(),
			want: []string{"replace agent-2, agent-1, agent-3"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.task.Replicas = test.mover.Replicas
			q := seen(test.mover, test.paused...)
			if test.forget {
				q.Pods = q.Pods[:len(q.Pods)-1]
			}
			o := test.mover.Move(test.task).Order
			if o.Sort(q) != nil {
				t.Error("something is written to put the pods in order")
			}
			limited := o.Limits(q)
			if diff := cmp.Diff(test.turn, limited.Turn); diff != "" {
				t.Errorf("turn (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.limits, limited.Limits); diff != "" {
				t.Errorf("limits (-want +got):\n%s", diff)
			}
			at := ""
			if limited.Held != nil {
				at = limited.Held.Name
			}
			if at != test.held {
				t.Errorf("held by %q, want %q", at, test.held)
			}
			test.task.Limits, test.task.Turn = limited.Limits, limited.Turn
			if diff := cmp.Diff(test.want, test.mover.move(test.task)); diff != "" {
				t.Errorf("what is written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhetherPodsAreToBeReadForTheirOrder(t *testing.T) {
	t.Parallel()
	four := held(pods(4, "v1")...)
	task := to(1)
	task.Replicas = 4
	if o := four.Move(task).Order; !o.Shrinks || o.Pods != 4 {
		t.Errorf("order %+v: 4 pods, of which some go", o)
	}
	task.Target = 0
	if o := four.Move(task).Order; o.Shrinks {
		t.Error("no pod goes, and yet it says so")
	}
}
