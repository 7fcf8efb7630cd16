package plan

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
	"github.com/sluice-dev/sluice/rollout/order"
)

// onNodes returns a DaemonSet on ten nodes, in the second step, which is for five; two may be
// unavailable. Its pods are agent-0 on node-0, and so on, and so many of them are updated, the
// first ones.
func onNodes(updated int, change ...func(*inplace.Pod)) *scene {
	m := daemonset.Mover{
		OnDelete: true,
		Workload: inplace.Workload{Observed: true, Digest: "digest-v2", Update: "v2", Replicas: 10, Listed: true, Live: true},
	}
	s := held(10).bounds("0", "2").at(1, 5)
	for i := range 10 {
		pod := inplace.Pod{
			Name: fmt.Sprintf("agent-%d", i), UID: types.UID(fmt.Sprintf("agent-%d", i)), Node: fmt.Sprintf("node-%d", i),
			Revision: "v1", Ready: true, Available: true,
		}
		if i < updated {
			pod.Revision = "v2"
		}
		for _, c := range change {
			c(&pod)
		}
		m.Pods = append(m.Pods, pod)
		s.Pods = append(s.Pods, order.Pod{Name: pod.Name, UID: pod.UID, Node: pod.Node, Stage: order.Ready})
	}
	s.Release.Spec.WorkloadRef.Kind, s.Workload.Mover = "DaemonSet", m
	return s
}

// backwards has the pods go by name, the last first. They have been read.
func (s *scene) backwards() *scene {
	s.Release.Spec.Strategy.Order = []v1alpha1.OrderKey{{Name: v1alpha1.Descending}}
	s.Live |= ReadPods
	return s.status(func(status *v1alpha1.BatchReleaseStatus) { status.Order = &v1alpha1.OrderStatus{Attempt: 1} })
}

// pauses has pods that the release pauses before.
func (s *scene) pauses(change func(*order.Pod)) *scene {
	for i := range s.Pods {
		change(&s.Pods[i])
	}
	return s
}

func unavailable(name string) func(*inplace.Pod) {
	return func(p *inplace.Pod) {
		if p.Name == name {
			p.Ready, p.Available = false, false
		}
	}
}

func TestPodsThatAreDeletedGoInTurn(t *testing.T) {
	t.Parallel()
	checkScripts(t, map[string]scripted{
		"without an order by their nodes": {onNodes(1), []string{"replace agent-1, agent-2" + batch2}},
		"the intent comes first":          {unordered(onNodes(1).backwards()), nil},
		"pods are listed for it": {
			onNodes(1).backwards().but(func(o *Observation) { o.Live &^= ReadPods }), []string{"needs pods"},
		},
		"with an order in that": {onNodes(1).backwards(), []string{"replace agent-9, agent-8" + batch2}},
		"what is not available before all": {
			onNodes(1, unavailable("agent-4")).backwards(), []string{"replace agent-4, agent-9" + batch2},
		},
		"as far as a pause point": {
			onNodes(1).backwards().pauses(pausing("agent-8")), []string{"replace agent-9" + batch2},
		},
		"none that comes after one": {onNodes(1).backwards().pauses(pausing("agent-9")), nil},
		"on, once it is confirmed": {
			onNodes(1).backwards().pauses(pausing("agent-9")).holdingBefore("agent-9", "agent-9"),
			[]string{"replace agent-9, agent-8" + batch2},
		},
		"without an order for what can't be seen": { // nothing is to be made for its pods, which would have an order
			onNodes(1).backwards().but(func(o *Observation) {
				m := o.Workload.Mover.(daemonset.Mover)
				m.Observed = false
				o.Workload.Mover = m
			}), nil,
		},
	})
}

func TestAPausePointOfANodeIsTold(t *testing.T) {
	t.Parallel()
	p := next(t, onNodes(1).backwards().pauses(pausing("agent-9")))
	if at := p.Status.PausePoint; at == nil || at.Pod != "agent-9" || at.Node != "node-9" || p.Status.State != v1alpha1.StatePausePoint {
		t.Errorf("state %s, pause point %+v, want that of agent-9 on node-9", p.Status.State, at)
	}
}

// TestWhatIsBeyondTheStepStaysToldWhileNobodyKnows: the count of surplus pods stays in the status
// while a DaemonSet's controller has not seen a change in mid-release, so that updated pods are
// unknown.
func TestWhatIsBeyondTheStepStaysToldWhileNobodyKnows(t *testing.T) {
	t.Parallel()
	told := metav1.Condition{Type: v1alpha1.ConditionBeyondStep, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonCameUpdated, Message: "as it was"}
	s := onNodes(7).status(func(status *v1alpha1.BatchReleaseStatus) { status.Conditions = []metav1.Condition{told} })
	m := s.Workload.Mover.(daemonset.Mover)
	m.Observed, s.Workload.Behind = false, 1
	s.Workload.Mover = m
	p := next(t, s)
	if found := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionBeyondStep); found == nil || found.Message != told.Message {
		t.Errorf("the condition is %+v, want it as it was", found)
	}
	for _, event := range p.Events {
		if event.Reason == v1alpha1.ReasonCameUpdated {
			t.Errorf("it is told again: %+v", event)
		}
	}
}
