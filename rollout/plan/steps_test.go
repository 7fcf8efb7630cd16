package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
)

func TestWhoseBoundsCount(t *testing.T) {
	t.Parallel()
	given := func(s string) *intstr.IntOrString {
		if s == "" {
			return nil
		}
		return new(intstr.Parse(s))
	}
	type limits struct{ surge, unavailable string }
	tests := map[string]struct {
		release, deployment limits
		want                mover.Bounds
	}{
		"the release says more than the Deployment": {limits{"1", "2"}, limits{"5", "6"}, mover.Bounds{Surge: 1, Unavailable: 2}},
		"each of the two by itself":                 {limits{"1", ""}, limits{"5", "6"}, mover.Bounds{Surge: 1, Unavailable: 6}},
		"what neither says is 25%":                  {limits{}, limits{}, mover.Bounds{Surge: 3, Unavailable: 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := held(10)
			s.Release.Spec.Strategy.MaxSurge = given(test.release.surge)
			s.Release.Spec.Strategy.MaxUnavailable = given(test.release.unavailable)
			s.Workload.MaxSurge, s.Workload.MaxUnavailable = given(test.deployment.surge), given(test.deployment.unavailable)
			if got := s.look().steps().bounds(); got != test.want {
				t.Errorf("bounds %+v, want %+v", got, test.want)
			}
		})
	}
}

func TestAStepHasBoundsOfItsOwn(t *testing.T) {
	t.Parallel()
	s := held(10)
	s.Release.Spec.Strategy.MaxUnavailable = new(intstr.FromInt32(2))
	s.Release.Spec.Strategy.Steps = []v1alpha1.Step{step("1"), step("50%"), step("100%")}
	s.Release.Spec.Strategy.Steps[0].MaxUnavailable = new(intstr.FromInt32(1))
	s.Release.Spec.Strategy.Steps[2].MaxUnavailable = new(intstr.FromString("50%"))
	snap := s.look()
	for index, want := range []int32{1, 2, 5} {
		snap.record.CurrentStepIndex = int32(index)
		if got := snap.steps().bounds().Unavailable; got != want {
			t.Errorf("in step %d %d pods may be unavailable, want %d", index, got, want)
		}
	}
	if got := snap.steps().widest().Unavailable; got != 5 {
		t.Errorf("%d pods may be unavailable at most, want 5", got)
	}
	snap.record.Rollback = &v1alpha1.RollbackRecord{}
	if got := snap.steps().bounds().Unavailable; got != 2 {
		t.Errorf("in a rollback %d pods may be unavailable, want 2, as the strategy says", got)
	}
}

func TestWhichStepsAreTaken(t *testing.T) {
	t.Parallel()
	own := []v1alpha1.Step{step("1"), step("50%"), step("100%")}
	slow := []v1alpha1.Step{step("10%"), step("100%")}
	rollbackPlan := func(o *Observation) { o.Release.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: slow} }
	tests := map[string]struct {
		scene *scene
		want  []v1alpha1.Step
	}{
		"a release takes its own":                  {held(10).but(rollbackPlan), own},
		"a rollback takes its own":                 {rollingBack(10).but(rollbackPlan), slow},
		"a rollback without any: one pod then all": {rollingBack(10), []v1alpha1.Step{step("1"), step("100%")}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.scene.look().steps().list()); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStepIndexStaysWithinTheSteps(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		index, want int32
		last        bool
	}{
		"a step of the list": {1, 1, false},
		"the last":           {2, 2, true},
		"steps were taken out: the last that is left": {7, 2, true},
		"what a user's patch can't mean":              {-1, 0, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := held(10).at(test.index, 1).look()
			if s.steps().index() != test.want || s.steps().last() != test.last {
				t.Errorf("index %d, last %t; want %d, %t", s.steps().index(), s.steps().last(), test.want, test.last)
			}
		})
	}
}

func TestWhichGatesAStepHas(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene  *scene
		want   []v1alpha1.GatePolicy
		toPass []int32
	}{
		"none given is one manual gate":          {held(10), []v1alpha1.GatePolicy{manual}, []int32{0}},
		"none given after the last step is none": {held(10).at(2, 10), nil, nil},
		"none given in a rollback is none":       {rollingBack(10), nil, nil},
		"those of a rollback's own plan count": {
			rollingBack(10).but(func(o *Observation) {
				o.Release.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{step("1", soak), step("100%")}}
			}), []v1alpha1.GatePolicy{soak}, []int32{0},
		},
		"none is a gate that costs no object": {
			held(10).steps(step("1", none), step("100%")), []v1alpha1.GatePolicy{none}, nil,
		},
		"the others keep their place beside it": {
			held(10).steps(step("1", none, soak, manual), step("100%")), []v1alpha1.GatePolicy{none, soak, manual}, []int32{1, 2},
		},
		"one that is given after the last step counts": {
			held(10).steps(step("100%", soak)), []v1alpha1.GatePolicy{soak}, []int32{0},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := test.scene.look()
			var toPass []int32
			for _, g := range s.gates().toPass() {
				toPass = append(toPass, g.index)
			}
			if diff := cmp.Diff(test.want, s.steps().policies(s.steps().index())); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.toPass, toPass); diff != "" {
				t.Errorf("places of the gates to pass (-want +got):\n%s", diff)
			}
		})
	}
}

func TestProgressDeadline(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		release, deployment *int32
		want                time.Duration
	}{
		"the release says it":           {new(int32(30)), new(int32(60)), 30 * time.Second},
		"otherwise the Deployment does": {nil, new(int32(60)), time.Minute},
		"otherwise it is 600 seconds":   {nil, nil, tenMinutes},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := held(10)
			s.Release.Spec.Strategy.ProgressDeadlineSeconds, s.Workload.ProgressDeadlineSeconds = test.release, test.deployment
			if got := progressDeadline(s.look()); got != test.want {
				t.Errorf("deadline %s, want %s", got, test.want)
			}
		})
	}
}
