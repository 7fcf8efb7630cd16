package v1alpha1

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"
)

func TestTrafficOfSteps(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		traffic []string
		want    []int32
	}{
		"each step as it says":                        {[]string{"0%", "5%", "50%", "100%"}, []int32{0, 5, 50, 100}},
		"none at first":                               {[]string{"", "10%", ""}, []int32{0, 10, 100}},
		"as in the step before":                       {[]string{"10%", "", "", "20%", ""}, []int32{10, 10, 10, 20, 100}},
		"all in the last step":                        {[]string{""}, []int32{100}},
		"all in the last step, whatever it says":      {[]string{"10%", "10%"}, []int32{10, 100}},
		"all before the last":                         {[]string{"100%", "", ""}, []int32{100, 100, 100}},
		"what can't be read is as in the step before": {[]string{"10%", "20", "+30%", "101%", "%", ""}, []int32{10, 10, 10, 10, 10, 100}},
		"a zero in front":                             {[]string{"07%", ""}, []int32{7, 100}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var steps []Step
			for _, traffic := range tc.traffic {
				steps = append(steps, Step{Replicas: intstr.FromString("100%"), Traffic: traffic})
			}
			for i, want := range append(tc.want, 100) { // and beyond the last: steps may have been taken out
				if got := TrafficOf(steps, i); got != want {
					t.Errorf("step %d of %q: got %d%%, want %d%%", i, tc.traffic, got, want)
				}
			}
		})
	}
}
