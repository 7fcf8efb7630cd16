package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
)

func TestReportOfSpeed(t *testing.T) {
	t.Parallel()
	times := func(seconds ...int) (all []sample) {
		for _, s := range seconds {
			all = append(all, sample{wall: time.Duration(s) * time.Second, requests: map[string]int{"get": s, "delete": 90}})
		}
		return all
	}
	got := printed(t, speedReport([]policyTimes{
		{policyLimit{appsv1.ParallelPodManagement, 12 * time.Second}, times(104, 105, 103), times(13, 12, 11), times(11, 15, 11)},
		{policyLimit{appsv1.OrderedReadyPodManagement, 0}, times(110), times(109), times(108)},
	}), "B0", "speed")
	const want = `B0  speed
                                     native    Sluice                     wanted
  wall time, Parallel                104.0 s   11.0 s                     <= 12.0 s   met
    with MaxUnavailableStatefulSet   12.0 s
    API requests                               101 (delete 90, get 11)
  wall time, OrderedReady            110.0 s   108.0 s
    with MaxUnavailableStatefulSet   109.0 s
    API requests                               198 (delete 90, get 108)

`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("each policy has Sluice beside the native controller, with the gate off and on (-want +got):\n%s", diff)
	}
}
