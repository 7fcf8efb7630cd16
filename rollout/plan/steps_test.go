package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestTheFenceIsTheNativeOne(t *testing.T) {
	t.Parallel()
	given := func(s string) *intstr.IntOrString {
		if s == "" {
			return nil
		}
		return new(intstr.Parse(s))
	}
	type limits struct{ surge, unavailable string }
	tests := map[string]struct {
		replicas            int32
		release, deployment limits
		want                fence
	}{
		"maxSurge is rounded up, maxUnavailable down":         {10, limits{"25%", "25%"}, limits{}, fence{3, 2}},
		"the release says more than the Deployment":           {10, limits{"1", "2"}, limits{"5", "6"}, fence{1, 2}},
		"each of the two by itself":                           {10, limits{"1", ""}, limits{"5", "6"}, fence{1, 6}},
		"what neither says is 25%":                            {10, limits{}, limits{}, fence{3, 2}},
		"none of both: one pod may be unavailable":            {10, limits{"0", "0"}, limits{}, fence{0, 1}},
		"0% and what rounds down to none: one may be":         {3, limits{"0%", "25%"}, limits{}, fence{0, 1}},
		"no more pods can be unavailable than there are":      {3, limits{"0", "5"}, limits{}, fence{0, 3}},
		"more surge than replicas is allowed":                 {3, limits{"200%", "0"}, limits{}, fence{6, 0}},
		"of the Deployment what can't be read counts as none": {10, limits{}, limits{"a lot", "2"}, fence{0, 2}},
		"less than none is none":                              {10, limits{}, limits{"-1", "2"}, fence{0, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := held(test.replicas)
			s.Release.Spec.Strategy.MaxSurge = given(test.release.surge)
			s.Release.Spec.Strategy.MaxUnavailable = given(test.release.unavailable)
			s.Workload.MaxSurge, s.Workload.MaxUnavailable = given(test.deployment.surge), given(test.deployment.unavailable)
			if got := s.pass().fence(); got != test.want {
				t.Errorf("fence %+v, want %+v", got, test.want)
			}
		})
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
			if diff := cmp.Diff(test.want, test.scene.pass().steps()); diff != "" {
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
			p := held(10).at(test.index, 1).pass()
			if p.stepIndex() != test.want || p.lastStep() != test.last {
				t.Errorf("index %d, last %t; want %d, %t", p.stepIndex(), p.lastStep(), test.want, test.last)
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
			p := test.scene.pass()
			var toPass []int32
			for _, g := range p.gatesToPass() {
				toPass = append(toPass, g.index)
			}
			if diff := cmp.Diff(test.want, p.gates()); diff != "" {
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
			if got := s.pass().progressDeadline(); got != test.want {
				t.Errorf("deadline %s, want %s", got, test.want)
			}
		})
	}
}
