package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

func TestForecast(t *testing.T) {
	t.Parallel()
	manual := []v1alpha1.GatePolicy{{Manual: &v1alpha1.ManualGate{}}}
	steps := func(shares ...string) []v1alpha1.Step {
		var made []v1alpha1.Step
		for _, share := range shares {
			made = append(made, v1alpha1.Step{Replicas: intstr.Parse(share)})
		}
		return made
	}
	cases := map[string]struct {
		reason   string
		steps    []v1alpha1.Step
		replicas int32
		rollback bool
		want     Forecast
	}{
		"Shares": {
			"percentages are rounded up, and people confirm where nothing is said", steps("1", "35%", "100%"), 10, false,
			Forecast{3, 2, []Batch{{Pods: 1, New: 1, Gates: manual}, {Pods: 4, New: 3, Gates: manual}, {Pods: 10, New: 6}}},
		},
		"Few": {
			"a step that asks for no more than the one before does nothing", steps("5", "10%", "100%"), 10, false,
			Forecast{3, 2, []Batch{{Pods: 5, New: 5, Gates: manual}, {Pods: 5, New: 0, Gates: manual}, {Pods: 10, New: 5}}},
		},
		"One": {
			"short of 100% an old pod stays", steps("50%", "100%"), 1, false,
			Forecast{1, 0, []Batch{{Pods: 0, New: 0, Gates: manual}, {Pods: 1, New: 1}}},
		},
		"Rollback": {
			"a rollback that is not planned takes one pod and then all, with no gate", steps("1", "30%", "100%"), 10, true,
			Forecast{3, 2, []Batch{{Pods: 1, New: 1}, {Pods: 10, New: 9}}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := &v1alpha1.BatchRelease{}
			release.Spec.Strategy.Steps = tc.steps
			got := ForecastOf(release, &Workload{Mover: deployment.Mover{}, Replicas: tc.replicas}, tc.rollback)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestForecastOfTraffic: a batch gives what its step says, or what its pods are enough for.
func TestForecastOfTraffic(t *testing.T) {
	t.Parallel()
	none := func(traffic string, replicas intstr.IntOrString) v1alpha1.Step {
		return v1alpha1.Step{Replicas: replicas, Traffic: traffic, MaxUnavailable: new(intstr.FromInt32(0))}
	}
	last := v1alpha1.Step{Replicas: intstr.FromString("100%")}
	for name, tc := range map[string]struct {
		reason   string
		step     v1alpha1.Step
		replicas int32
		overload bool
		weight   int32
		short    bool
	}{
		"AsItSays":     {"nine pods are enough for 90%", none("90%", intstr.FromString("90%")), 10, false, 90, false},
		"AllButOne":    {"an old pod stays until the last step", none("90%", intstr.FromString("90%")), 5, false, 80, false},
		"MaybeMissing": {"of four that must be available, four are all", v1alpha1.Step{Replicas: intstr.FromString("90%"), Traffic: "90%"}, 5, false, 90, false},
		"Overload":     {"fewer pods are enough if the release says so", none("90%", intstr.FromString("90%")), 5, true, 90, false},
		"Short":        {"of a number of pods, more may come when the workload is scaled down", none("50%", intstr.FromInt32(1)), 10, false, 50, true},
		"ShortOf":      {"... unless fewer are enough", none("50%", intstr.FromInt32(1)), 10, true, 50, false},
		"NoPods":       {"no pod could get any", none("50%", intstr.FromString("50%")), 1, false, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := &v1alpha1.BatchRelease{}
			release.Spec.Strategy.Steps = []v1alpha1.Step{tc.step, last}
			release.Spec.Strategy.Traffic = &v1alpha1.Traffic{AllowOverload: tc.overload}
			workload := &Workload{Mover: deployment.Mover{}, Replicas: tc.replicas}
			got := ForecastOf(release, workload, false).Batches
			if got[0].Weight != tc.weight || got[0].Short != tc.short || got[1].Weight != percent || got[1].Short {
				t.Errorf("%s: want %d%% (short: %t), and then 100%%, got %+v", tc.reason, tc.weight, tc.short, got)
			}
			for _, batch := range ForecastOf(release, workload, true).Batches {
				if batch.Weight != 0 || batch.Short {
					t.Errorf("want a rollback to share nothing, got %+v", batch)
				}
			}
		})
	}
}
