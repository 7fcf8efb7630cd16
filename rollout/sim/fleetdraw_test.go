package sim

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// drawSkew draws a number of steps, or a percentage of pods.
func drawSkew(t *rapid.T) intstr.IntOrString {
	if rapid.Bool().Draw(t, "by percent") {
		return intstr.FromString(rapid.SampledFrom([]string{"1%", "10%", "25%", "60%"}).Draw(t, "percent"))
	}
	return intstr.FromInt32(rapid.Int32Range(0, 2).Draw(t, "skew"))
}

func drawFleet(t *rapid.T, members int) FleetSetup {
	policies := []v1alpha1.FailurePolicy{v1alpha1.FailurePause, v1alpha1.FailureRollback, v1alpha1.FailureRollbackDependents}
	setup := FleetSetup{
		After:     map[int][]int{},
		OnFailure: rapid.SampledFrom(policies).Draw(t, "on failure"),
		Supersede: rapid.SampledFrom([]v1alpha1.SupersedePolicy{v1alpha1.SupersedeRestart, v1alpha1.SupersedeQueue}).Draw(t, "supersede"),
		Steps: Steps(rapid.SampledFrom([]string{"1", "1 none"}).Draw(t, "first"), rapid.SampledFrom([]string{"50%", "50% none"}).Draw(t, "second"),
			rapid.SampledFrom([]string{"100%", "100% none"}).Draw(t, "last")),
	}
	if rapid.Bool().Draw(t, "in lockstep") {
		setup.Lockstep = &v1alpha1.Lockstep{MaxSkew: drawSkew(t)}
	}
	most := rapid.SampledFrom([]int32{4, 4, 4, 20}).Draw(t, "most replicas")
	for i := range members {
		if i > 0 && setup.Lockstep == nil && rapid.Bool().Draw(t, "after") {
			setup.After[i] = []int{rapid.IntRange(0, i-1).Draw(t, "after which")}
		}
		setup.Members = append(setup.Members, drawMember(t, most))
	}
	return setup
}

// drawMember draws a member of any kind.
func drawMember(t *rapid.T, most int32) Setup {
	kind := rapid.SampledFrom([]string{Deployment, Deployment, StatefulSet, DaemonSet}).Draw(t, "kind")
	setup := Setup{
		Kind: kind, Replicas: rapid.Int32Range(0, most).Draw(t, "replicas"), HistoryLimit: 2, Deadline: time.Hour,
		MaxSurge: intstr.FromInt32(rapid.Int32Range(0, 2).Draw(t, "surge")), MaxUnavailable: intstr.FromInt32(rapid.Int32Range(0, 2).Draw(t, "unavailable")),
	}
	setup.Ordered = kind == StatefulSet && rapid.Bool().Draw(t, "ordered")
	return setup
}

// podsOf draws what an event of a member's pods is about. It reports whether there is any.
func (w *fleetWalk) podsOf(seat int) (string, bool) {
	var choice []string
	if seat > 0 {
		s := w.f.State(seat)
		for i := range s.Sets {
			choice = append(choice, s.Sets[i].Revision)
		}
		for i := range s.Places {
			choice = append(choice, s.Places[i].Name)
		}
	}
	if len(choice) == 0 {
		return "", false
	}
	return choice[rapid.IntRange(0, len(choice)-1).Draw(w.T, "which pods")], true
}

// leave has a member leave the train, or join it again. The last one stays: gitsync takes no train
// without members.
func (w *fleetWalk) leave(i int) {
	if in := slices.DeleteFunc(slices.Clone(w.f.left), func(left bool) bool { return left }); len(in) == 1 && !w.f.left[i] {
		return
	}
	leaves, first := !w.f.left[i], rapid.Bool().Draw(w.T, "train first")
	w.f.Leave(i, leaves, first)
	fmt.Fprintf(&w.story, "\n  %s leaves: %t (train first: %t)", MemberName(i), leaves, first)
}
