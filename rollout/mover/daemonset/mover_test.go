package daemonset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

func TestBoundsOfADaemonSetAreTheNativeOnes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		unavailable string
		replicas    int32
		want        int32
	}{
		"a number":                          {"3", 10, 3},
		"a percentage is rounded up":        {"25%", 10, 3},
		"at least one":                      {"0", 10, 1},
		"no more than there are":            {"5", 3, 3},
		"less than none":                    {"-3", 10, 1},
		"all, and more than any number":     {"4294967297%", 100, 100},
		"where there are none, one":         {"5", 0, 1},
		"what can't be read counts as none": {"a lot", 10, 1},
		"none given: one":                   {"", 10, 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var unavailable *intstr.IntOrString
			if test.unavailable != "" {
				unavailable = new(intstr.Parse(test.unavailable))
			}
			got := (Mover{}).Bounds(new(intstr.FromInt32(7)), unavailable, test.replicas)
			if want := (mover.Bounds{Unavailable: test.want}); got != want {
				t.Errorf("bounds %+v, want %+v: there is no surge", got, want)
			}
		})
	}
}

func TestTheHoldIsOnDelete(t *testing.T) {
	t.Parallel()
	own := v1alpha1.HeldWorkload{Strategy: `{"type":"OnDelete"}`}
	want := mover.Native{Secured: true, Ours: true, Contained: true, Unsecured: v1alpha1.ReasonStrategyChanged, Own: own, LostTakesTemplate: true}
	if diff := cmp.Diff(want, Mover{OnDelete: true, Workload: inplace.Workload{Strategy: own.Strategy}}.Native()); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
	own.Strategy = `{"type":"RollingUpdate"}`
	want = mover.Native{Free: true, Unsecured: v1alpha1.ReasonStrategyChanged, Own: own, LostTakesTemplate: true}
	if diff := cmp.Diff(want, Mover{Workload: inplace.Workload{Strategy: own.Strategy}}.Native()); diff != "" {
		t.Errorf("free (-want +got):\n%s", diff)
	}
}

func TestNothingMovesUntilTheNativeControllerHasSeenTheStrategy(t *testing.T) {
	t.Parallel()
	m := held(pods(2, "v1")...)
	if m.MayAct(digest, 2, 0) || !m.MayAct(digest, 2, 1) || !m.Refilled("v1", 0) || m.Refilled("v1", 1) {
		t.Error("the native controller may act as long as it has not seen the latest change, and no longer")
	}
}

func TestTheClusterHasTheRevisionsOfPodsAndOfTheTemplate(t *testing.T) {
	t.Parallel()
	m := held(pod("v1"), pod("v1"))
	for revision, want := range map[string]bool{"v2": true, "v1": true, "v0": false, "": false} {
		if got := m.Has(revision); got != want {
			t.Errorf("Has(%q) is %t, want %t", revision, got, want)
		}
	}
	m.Observed = false
	if m.Has("v2") {
		t.Error("it has the revision of a template that the native controller has not seen")
	}
}
