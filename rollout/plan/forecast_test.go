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
			Forecast{3, 2, []Batch{{1, 1, manual}, {4, 3, manual}, {10, 6, nil}}},
		},
		"Few": {
			"a step that asks for no more than the one before does nothing", steps("5", "10%", "100%"), 10, false,
			Forecast{3, 2, []Batch{{5, 5, manual}, {5, 0, manual}, {10, 5, nil}}},
		},
		"One": {
			"short of 100% an old pod stays", steps("50%", "100%"), 1, false,
			Forecast{1, 0, []Batch{{0, 0, manual}, {1, 1, nil}}},
		},
		"Rollback": {
			"a rollback that is not planned takes one pod and then all, with no gate", steps("1", "30%", "100%"), 10, true,
			Forecast{3, 2, []Batch{{1, 1, nil}, {10, 9, nil}}},
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
