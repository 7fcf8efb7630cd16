package report

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Whatever is told of a release that had a gate forced says that, by whom and why.
func TestForcedIsTold(t *testing.T) {
	t.Parallel()
	gate := v1alpha1.ForcedGate{Type: v1alpha1.GateSoak, Force: v1alpha1.Force{By: "ada", Reason: "INC-42"}}
	forced := func(status *v1alpha1.BatchReleaseStatus) { status.Forced = []v1alpha1.ForcedGate{gate, gate} }
	cases := map[string]*scene{
		"batch 2/4: updating to 3 of 10 pods (gate 1 forced by ada: INC-42)": rolling(good).status(forced),
		"released: 10/10 updated to 7f9c (gate 1 forced by ada: INC-42)":     rolling(good).completed().status(forced),
	}
	for want, s := range cases {
		requests := Next(s.release, s.gates, Options{})
		if len(requests) != 1 || requests[0].Description != want {
			t.Errorf("want %q told, got %+v", want, requests)
		}
	}
}
