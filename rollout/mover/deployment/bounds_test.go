package deployment

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/rollout/mover"
)

func TestBoundsAreTheNativeOnes(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		replicas           int32
		surge, unavailable string
		want               mover.Bounds
	}{
		"maxSurge is rounded up, maxUnavailable down":    {10, "25%", "25%", mover.Bounds{Surge: 3, Unavailable: 2}},
		"none of both: one pod may be unavailable":       {10, "0", "0", mover.Bounds{Surge: 0, Unavailable: 1}},
		"0% and what rounds down to none: one may be":    {3, "0%", "25%", mover.Bounds{Surge: 0, Unavailable: 1}},
		"no more pods can be unavailable than there are": {3, "0", "5", mover.Bounds{Surge: 0, Unavailable: 3}},
		"more surge than replicas is allowed":            {3, "200%", "0", mover.Bounds{Surge: 6, Unavailable: 0}},
		"what can't be read counts as none":              {10, "a lot", "2", mover.Bounds{Surge: 0, Unavailable: 2}},
		"less than none is none":                         {10, "-1", "2", mover.Bounds{Surge: 0, Unavailable: 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Mover{}).Bounds(new(intstr.Parse(test.surge)), new(intstr.Parse(test.unavailable)), test.replicas); got != test.want {
				t.Errorf("bounds %+v, want %+v", got, test.want)
			}
		})
	}
}
