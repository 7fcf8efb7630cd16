package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestAnotherWorkloadOfTheNameStartsOver(t *testing.T) {
	t.Parallel()
	another := func(o *Observation) { o.Workload.UID = "deployment-2" }
	checkPlans(t, map[string]planned{
		"a completed release is completed for the workload that it spoke of": {
			completed(10).resolved("v2").but(another),
			outcome{
				Script: []string{"take over with the template of the release: release v2"},
				Is:     "Initial - Initial TakingOver",
			},
		},
		"a template that was rolled back is not released to the new one either": {
			rollingBack(10).but(another).but(func(o *Observation) { o.Workload.Hold = nil }),
			outcome{Script: []string{"mark template web-v2 (RolledBack): it was rolled back"}, Is: "RollingBack 1/2 Upgrade RollingBack"},
		},
		"once the history says so": {
			rollingBack(10).but(another).but(func(o *Observation) { o.Workload.Hold, o.Kept = nil, nil }),
			outcome{Is: "- - - RolledBack"},
		},
	})
}

func TestWhatWasToldToAForgeIsKept(t *testing.T) {
	t.Parallel()
	told, refused := &v1alpha1.ForgeReport{Commit: "c0ffee", Posts: 3}, &v1alpha1.ForgeReport{Commit: "bad"}
	status := next(t, completed(10).resolved("v2").but(func(o *Observation) { o.Workload.UID = "deployment-2" }).
		status(func(s *v1alpha1.BatchReleaseStatus) { s.Report, s.Refusal = told, refused })).Status
	if diff := cmp.Diff([]*v1alpha1.ForgeReport{told, refused}, []*v1alpha1.ForgeReport{status.Report, status.Refusal}); diff != "" {
		t.Errorf("another workload starts over, but the approvals part has told what it has told (-want +got):\n%s", diff)
	}
}
