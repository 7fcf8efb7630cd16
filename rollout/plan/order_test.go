package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/order"
)

// ordered has old pods go by name; all but so many are on record as bearing costs.
func (s *scene) ordered(unordered int32) *scene {
	s.Release.Spec.Strategy.Order = []v1alpha1.OrderKey{{Name: v1alpha1.Ascending}}
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.Order = &v1alpha1.OrderStatus{Attempt: status.Attempt, Unordered: unordered}
	})
}

// listed gives the sets their pods. The first of each old one bear costs that were written just
// now, when there could be one updated pod.
func (s *scene) listed(marked int, change ...func(*order.Pod)) *scene {
	s.Pods, s.Live = nil, s.Live|ReadPods
	for _, set := range deploymentOf(s.Workload).Sets {
		for i := range int(set.Replicas) {
			name := fmt.Sprintf("%s-%d", set.Revision, i)
			pod := order.Pod{Name: name, UID: types.UID(name), Set: set.UID, Stage: order.Ready}
			if strings.HasPrefix(set.Revision, "v1") && i < marked {
				pod.Cost = fmt.Sprint(math.MinInt32 + 1 + i)
				pod.Mark = &order.Mark{After: 1, At: noon.Unix()}
			}
			for _, c := range change {
				c(&pod)
			}
			s.Pods = append(s.Pods, pod)
		}
	}
	return s
}

func pausing(names ...string) func(*order.Pod) {
	return func(p *order.Pod) { p.Pause = p.Pause || slices.Contains(names, p.Name) }
}

func broken(name string) func(*order.Pod) {
	return func(p *order.Pod) {
		if p.Name == name {
			p.Stage = order.NotReady
		}
	}
}

func (s *scene) holdingBefore(name, confirmed string) *scene {
	return s.status(func(status *v1alpha1.BatchReleaseStatus) {
		status.PausePoint = &v1alpha1.PausePoint{Pod: name, UID: types.UID(name), Since: metav1.NewTime(noon), Confirmed: confirmed}
	})
}

func unordered(s *scene) *scene {
	s.Release.Status.Order = nil
	return s
}

// inStep returns a release in its second step, of five pods, after a first of one; two pods may be
// missing.
func inStep(updated int32) *scene {
	return held(10).bounds("1", "2").at(1, 5).sets(set("v1", 10-updated), set("v2", updated))
}

func TestPausePointsHold(t *testing.T) {
	t.Parallel()
	holds := "RollingUpdate 2/3 Upgrade PausePoint"
	goesOn := "RollingUpdate 2/3 Upgrade StepUpgrading"
	checkPlans(t, map[string]planned{
		"what is before it goes": {
			inStep(2).ordered(3).listed(7, pausing("v1-1")),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2, "scale v1 8 -> 7" + batch2}, Wake: longestLook, Is: goesOn},
		},
		"it does not": {
			inStep(2).ordered(3).listed(7, pausing("v1-0")),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2}, Wake: pauseInterval, Is: holds},
		},
		"it does once it is confirmed": {
			inStep(2).ordered(3).listed(7, pausing("v1-0")).holdingBefore("v1-0", "v1-0"),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2, "scale v1 8 -> 6" + batch2}, Wake: longestLook, Is: goesOn},
		},
		"confirming another does nothing": {
			inStep(2).ordered(3).listed(7, pausing("v1-0")).holdingBefore("v1-0", "v1-1"),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2}, Wake: pauseInterval, Is: holds},
		},
		"the next one holds in its turn": {
			inStep(2).ordered(3).listed(7, pausing("v1-0", "v1-1")).holdingBefore("v1-0", "v1-0"),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2, "scale v1 8 -> 7" + batch2}, Wake: longestLook, Is: goesOn},
		},
		"one that the step leaves alone holds nothing": {
			inStep(2).ordered(3).listed(7, pausing("v1-5")),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2, "scale v1 8 -> 6" + batch2}, Wake: longestLook, Is: goesOn},
		},
		"pods that are not ready wait beside one that has it": {
			inStep(2).ordered(3).listed(7, broken("v1-0"), broken("v1-3"), pausing("v1-3")),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2}, Wake: pauseInterval, Is: holds},
		},
		"it goes where there are too many pods: spec.replicas fell": {
			held(8).bounds("1", "2").at(1, 4).scaledFrom(10).sets(set("v1", 8), set("v2", 2)).ordered(3).listed(8, pausing("v1-0")),
			outcome{Script: []string{"scale v1 8 -> 7" + batch2}, Wake: longestLook, Is: goesOn},
		},
		"versions that go later go on where one has no more pods": {
			held(10).bounds("1", "2").at(1, 5).sets(set("v1", 1), set("v1b", 7), set("v2", 2)).ordered(3).
				listed(7).status(func(s *v1alpha1.BatchReleaseStatus) { s.StableRevision = "v1b" }),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2, "scale v1 1 -> 0" + batch2, "scale v1b 7 -> 6" + batch2}, Wake: longestLook, Is: goesOn},
		},
		"versions that go later wait too": {
			held(10).bounds("1", "2").at(1, 5).sets(set("v1", 2), set("v1b", 6), set("v2", 2)).ordered(3).
				listed(7, pausing("v1-0")).status(func(s *v1alpha1.BatchReleaseStatus) { s.StableRevision = "v1b" }),
			outcome{Script: []string{"scale v2 2 -> 3" + batch2}, Wake: pauseInterval, Is: holds},
		},
	})
}

// TestPausePointStopsTheClock: while a release holds before a pod its progress deadline does not
// count, and starts again when it goes on.
func TestPausePointStopsTheClock(t *testing.T) {
	t.Parallel()
	late := func(o *Observation) { o.Now = noon.Add(2 * tenMinutes) }
	holding := inStep(2).ordered(3).listed(7, pausing("v1-0")).holdingBefore("v1-0", "")
	holding.Release.Status.Progress.Available = 2
	p := next(t, holding.but(late).but(watchedFor(tenMinutes)).but(failing("1 pod is not available")))
	if p.Status.Phase != v1alpha1.PhaseRollingUpdate || p.Status.Reason != v1alpha1.ReasonPausePoint {
		t.Errorf("got %s, want the release to hold", standing(&p.Status))
	}
	if at := next(t, inStep(2).ordered(3).listed(7, pausing("v1-0")).holdingBefore("v1-gone", "")).Status.PausePoint; at == nil || at.Pod != "v1-0" {
		t.Errorf("on record is %+v, want the pod before which the release pauses now", at)
	}
	p = next(t, inStep(2).ordered(3).listed(7).holdingBefore("v1-0", "").but(late))
	if since := p.Status.Progress.Since; !since.Time.Equal(noon.Add(2 * tenMinutes)) {
		t.Errorf("the deadline counts from %v, want from when the pause point was taken away", since)
	}
}

// TestCostsAreTakenBack: pods that stay get their own costs back before the release is over.
func TestCostsAreTakenBack(t *testing.T) {
	t.Parallel()
	s := held(10).deleted().ordered(3).listed(2)
	want := []string{
		"write the deletion cost of 2 pods: the release is deleted",
		"hand back with template v1: the release is deleted",
		"annotate release finalizer=false: the native controller manages the workload again",
	}
	if diff := cmp.Diff(want, script(next(t, s))); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
	s.Pods, s.Live = nil, s.Live&^ReadPods
	if diff := cmp.Diff([]string{"needs pods"}, script(next(t, s))); diff != "" {
		t.Errorf("before the pods are known (-want +got):\n%s", diff)
	}
}

// TestNoOrderAsksForNoPods: where nothing goes by order nobody asks for pods.
func TestNoOrderAsksForNoPods(t *testing.T) {
	t.Parallel()
	p := next(t, inStep(1).but(func(o *Observation) { o.LastScale = noon.Add(-time.Minute) }))
	if p.Needs.Has(ReadPods) || p.Status.Order != nil {
		t.Errorf("needs %v and order %v, want neither", needs(p.Needs), p.Status.Order)
	}
}

// TestPausePointEndsWithItsStep lowers the step of a release that paused before a pod: it waits at
// its gate then, and nothing is left to confirm before.
func TestPausePointEndsWithItsStep(t *testing.T) {
	t.Parallel()
	s := held(10).steps(step("30%"), step("100%")).at(0, 3).sets(set("v1", 7), set("v2", 3)).status(func(status *v1alpha1.BatchReleaseStatus) {
		status.PausePoint = &v1alpha1.PausePoint{Pod: "web-1", UID: "pod-1"}
		status.Order = &v1alpha1.OrderStatus{Attempt: 1}
	})
	s.Release.Spec.Strategy.PausePoints = true
	if status := next(t, s).Status; status.State != v1alpha1.StateBlocked || status.PausePoint != nil {
		t.Errorf("the state is %s, paused before %+v; want it blocked: %s", status.State, status.PausePoint, status.Message)
	}
}
