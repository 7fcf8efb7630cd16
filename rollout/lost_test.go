package rollout

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nodesThere is an API server that has nodes by their readiness, and counts who is asked for.
type nodesThere struct {
	client.Reader

	ready map[string]corev1.ConditionStatus
	err   error
	asked []string
}

func (n *nodesThere) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	n.asked = append(n.asked, key.Name)
	if n.err != nil {
		return n.err
	}
	ready, found := n.ready[key.Name]
	if !found {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "nodes"}, key.Name)
	}
	node := into.(*corev1.Node)
	node.Name = key.Name
	if ready != "" {
		node.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionTrue}, {Type: corev1.NodeReady, Status: ready},
		}
	}
	return nil
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// onNode returns a pod on a node, created at the given age before noon, with the given conditions
// Ready and ContainersReady.
func onNode(node string, age time.Duration, ready, containers corev1.ConditionStatus) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{NodeName: node}}
	pod.CreationTimestamp = metav1.NewTime(noon.Add(-age))
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: ready}, {Type: corev1.ContainersReady, Status: containers},
	}
	return pod
}

// goingUntil returns a pod that was to be gone so long after noon.
func goingUntil(node string, after time.Duration) *corev1.Pod {
	pod := onNode(node, time.Hour, corev1.ConditionTrue, corev1.ConditionTrue)
	pod.DeletionTimestamp = new(metav1.NewTime(noon.Add(after)))
	return pod
}

// forNode returns a pod of a DaemonSet that is made for a node, and not there yet.
func forNode(node string, age time.Duration) *corev1.Pod {
	pod := onNode("", age, corev1.ConditionFalse, corev1.ConditionFalse)
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
			}},
		}}},
	}}
	return pod
}

// TestFindLost: only nodes are read whose pod gives reason to, and only those that are not ready
// are lost.
func TestFindLost(t *testing.T) {
	t.Parallel()
	const yes, no, unknown = corev1.ConditionTrue, corev1.ConditionFalse, corev1.ConditionUnknown
	tests := map[string]struct {
		pod   *corev1.Pod
		node  corev1.ConditionStatus
		asked bool
		lost  bool
	}{
		"a pod that serves":                                       {onNode("n", time.Hour, yes, yes), no, false, false},
		"one that starts":                                         {onNode("n", 29*time.Second, no, no), no, false, false},
		"one that takes long to start":                            {onNode("n", 31*time.Second, no, no), no, true, true},
		"so does one on a node that is ready":                     {onNode("n", 31*time.Second, no, no), yes, true, false},
		"one whose readiness was taken away, not its containers'": {onNode("n", time.Second, no, yes), unknown, true, true},
		"a node without a condition is not ready":                 {onNode("n", time.Second, no, yes), "", true, true},
		"one that goes":                                           {goingUntil("n", time.Second), no, false, false},
		"one that was to be gone":                                 {goingUntil("n", -time.Second), no, true, true},
		"one that waits for its node":                             {forNode("n", time.Minute), no, true, true},
		"one that waits for any node":                             {onNode("", time.Minute, no, no), no, false, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			there := &nodesThere{ready: map[string]corev1.ConditionStatus{"n": test.node}}
			clock := testingclock.NewFakePassiveClock(noon)
			r, v := newReconciler(&cluster{live: there, clock: clock}), &view{process: newProcess(clock)}
			v.pods.pods = []*corev1.Pod{test.pod}
			if err := r.pods.findLost(t.Context(), v); err != nil {
				t.Fatal(err)
			}
			if got := len(there.asked) > 0; got != test.asked {
				t.Errorf("the node was read: %t, want %t", got, test.asked)
			}
			if v.pods.lost["n"] != test.lost {
				t.Errorf("lost = %t, want %t", v.pods.lost["n"], test.lost)
			}
		})
	}
}

// TestNodeIsReadAgain: the result of reading a node is reused for a while, and then read again,
// because a node may come back.
func TestNodeIsReadAgain(t *testing.T) {
	t.Parallel()
	there := &nodesThere{ready: map[string]corev1.ConditionStatus{"n": corev1.ConditionUnknown}}
	clock := testingclock.NewFakePassiveClock(noon)
	r, v := newReconciler(&cluster{live: there, clock: clock}), &view{process: newProcess(clock)}
	v.pods.pods = []*corev1.Pod{onNode("n", time.Hour, corev1.ConditionFalse, corev1.ConditionFalse)}
	var lost []bool
	for _, after := range []time.Duration{0, nodeMemory, nodeMemory + 1} {
		clock.SetTime(noon.Add(after))
		if err := r.pods.findLost(t.Context(), v); err != nil {
			t.Fatal(err)
		}
		lost = append(lost, v.pods.lost["n"])
		there.ready["n"] = corev1.ConditionTrue
	}
	if diff := cmp.Diff([]bool{true, true, false}, lost); diff != "" {
		t.Errorf("lost (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"n", "n"}, there.asked); diff != "" {
		t.Errorf("nodes that were read (-want +got):\n%s", diff)
	}
	v.pods.pods = nil
	clock.SetTime(noon.Add(time.Hour))
	if err := r.pods.findLost(t.Context(), v); err != nil || len(v.process.nodes) > 0 {
		t.Errorf("want nothing known any more of a node that nobody asks for, got %v, %v", v.process.nodes, err)
	}
}

// TestManyNodesAreReadLittleByLittle: thousands of lost or missing nodes are read a few at a time,
// each once, however often the release is reconciled. The release waits for unread nodes.
func TestManyNodesAreReadLittleByLittle(t *testing.T) {
	t.Parallel()
	const many = 1000
	there := &nodesThere{ready: map[string]corev1.ConditionStatus{}}
	clock := testingclock.NewFakePassiveClock(noon)
	r, v := newReconciler(&cluster{live: there, clock: clock}), &view{process: newProcess(clock)}
	for i := range many {
		name := fmt.Sprintf("n%04d", i)
		there.ready[name] = corev1.ConditionUnknown
		v.pods.pods = append(v.pods.pods, onNode(name, time.Hour, corev1.ConditionFalse, corev1.ConditionFalse))
	}
	for second := range many * int(readsWithin/time.Second) / maxNodeReads {
		clock.SetTime(noon.Add(time.Duration(second) * time.Second))
		for range 3 {
			if err := r.pods.findLost(t.Context(), v); err != nil {
				t.Fatal(err)
			}
		}
		most := maxNodeReads * (second/int(readsWithin/time.Second) + 1)
		if n := len(there.asked); n > most || len(v.pods.lost) != n || v.process.nodesLeft != (n < many) {
			t.Fatalf("after %d s %d nodes were read, %d are lost, more to read: %t; want at most %d reads", second, n, len(v.pods.lost), v.process.nodesLeft, most)
		}
	}
	if len(v.pods.lost) != many {
		t.Errorf("%d of %d nodes are known to be lost in the end", len(v.pods.lost), many)
	}
}

// TestNodeThatIsNotThere: a node that is gone is none that is lost: the native controller counts it
// no more. One that may not be read is waited for. Any other error ends the pass.
func TestNodeThatIsNotThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err   error
		fails bool
	}{
		"gone":        {},
		"forbidden":   {err: apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "n", errors.New("no right"))},
		"unavailable": {apierrors.NewServiceUnavailable("down"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clock := testingclock.NewFakePassiveClock(noon)
			r, v := newReconciler(&cluster{live: &nodesThere{err: test.err}, clock: clock}), &view{process: newProcess(clock)}
			v.pods.pods = []*corev1.Pod{onNode("n", time.Hour, corev1.ConditionFalse, corev1.ConditionFalse)}
			if err := r.pods.findLost(t.Context(), v); (err != nil) != test.fails {
				t.Errorf("error %v, want one: %t", err, test.fails)
			}
			if len(v.pods.lost) > 0 {
				t.Errorf("lost are %v, want none", v.pods.lost)
			}
		})
	}
}

// TestNodeOf: the node that a pod is made for is in the one field selector of its affinity, as the
// native controller writes it.
func TestNodeOf(t *testing.T) {
	t.Parallel()
	other := forNode("n", 0)
	terms := other.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	terms[0].MatchFields[0].Values = []string{"n", "m"}
	bound := forNode("n", 0)
	bound.Spec.NodeName = "m"
	for name, test := range map[string]struct {
		pod  *corev1.Pod
		want string
	}{
		"bound": {bound, "m"}, "made for one": {forNode("n", 0), "n"}, "made for one of two": {other, ""},
		"without affinity": {&corev1.Pod{}, ""}, "for some": {&corev1.Pod{Spec: corev1.PodSpec{Affinity: &corev1.Affinity{}}}, ""},
	} {
		if got := nodeOf(test.pod); got != test.want {
			t.Errorf("%s: node %q, want %q", name, got, test.want)
		}
	}
}
