package main

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

func TestEachKindRuns(t *testing.T) {
	t.Parallel()
	set := fleet{kind: statefulSets, pods: 4, unavailable: 2}.statefulSet("web")
	set.Status = appsv1.StatefulSetStatus{Replicas: 4, UpdatedReplicas: 4, AvailableReplicas: 4}
	daemons := fleet{kind: daemonSets, pods: 4, unavailable: 2}.daemonSet("web")
	daemons.Status = appsv1.DaemonSetStatus{
		DesiredNumberScheduled: 4, CurrentNumberScheduled: 4, UpdatedNumberScheduled: 4, NumberAvailable: 4,
	}
	if !runs(1)(set) || !runs(1)(daemons) || runs(2)(set) || runs(2)(daemons) {
		t.Error("all pods run version 1, and none version 2")
	}
	set.Status.UpdatedReplicas, daemons.Status.UpdatedNumberScheduled = 3, 3
	if runs(1)(set) || runs(1)(daemons) {
		t.Error("one pod is not updated")
	}
	if runs(1)(&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{Template: fleet{}.template("web", 1)}}) {
		t.Error("a DaemonSet that no node has a pod of is not there yet")
	}
}

// TestReleaseOfEachKind names the kind, and how many pods may be away where the workload can't.
func TestReleaseOfEachKind(t *testing.T) {
	t.Parallel()
	for kind, want := range map[kind]string{deployments: "Deployment", statefulSets: "StatefulSet", daemonSets: "DaemonSet"} {
		f := fleet{kind: kind, deployments: 1, pods: 4, unavailable: 2, steps: steps("100%")}
		release, err := f.release("web")
		if err != nil {
			t.Fatal(err)
		}
		limit := release.Spec.Strategy.MaxUnavailable
		if release.Spec.WorkloadRef.Kind != want || (limit == nil) != (kind == deployments) || limit != nil && limit.IntValue() != 2 {
			t.Errorf("want a release of a %s that says what may be away: got %+v and %v", want, release.Spec.WorkloadRef, limit)
		}
	}
	if got := (fleet{kind: daemonSets, pods: 4}).lab().Nodes; got != 4 {
		t.Errorf("a DaemonSet of 4 pods takes 4 nodes: got %d", got)
	}
	quick := fleet{kind: statefulSets, pods: 4, quickStart: true}
	if first, second := quick.delay(1), quick.delay(2); first != 0 || second != readyDelay {
		t.Errorf("only the first version is ready at once: got %v and %v", first, second)
	}
}
