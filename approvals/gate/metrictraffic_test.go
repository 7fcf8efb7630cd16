package gate_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// TestTrafficAt: routes say the share of a step, or else pods do, as far as they are known.
func TestTrafficAt(t *testing.T) {
	t.Parallel()
	pods := v1alpha1.BatchReleaseSpec{Strategy: v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{
		{Replicas: intstr.FromInt32(1), Traffic: "5%"}, {Replicas: intstr.FromString("50%"), Traffic: "20%"}, {Replicas: intstr.FromString("100%")},
	}}}
	routes := *pods.DeepCopy()
	routes.Strategy.Traffic = &v1alpha1.Traffic{}
	for name, tc := range map[string]struct {
		spec     v1alpha1.BatchReleaseSpec
		step     int
		replicas int32
		want     gate.Traffic
	}{
		"a number of pods":               {pods, 0, 4, gate.Traffic{Share: .25, NewPods: 1, OldPods: 3}},
		"... of no known whole":          {pods, 0, 0, gate.Traffic{}},
		"a percentage":                   {pods, 1, 5, gate.Traffic{Share: .6, NewPods: 3, OldPods: 2}},
		"a percentage of no known whole": {pods, 1, 0, gate.Traffic{Share: .5}},
		"routes":                         {routes, 1, 4, gate.Traffic{Share: .2, NewPods: 2, OldPods: 2}},
		"the last step":                  {routes, 2, 4, gate.Traffic{Share: 1, NewPods: 4}},
		"no such step":                   {pods, 3, 4, gate.Traffic{}},
	} {
		if diff := cmp.Diff(tc.want, gate.TrafficAt(&tc.spec, tc.step, tc.replicas)); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", name, diff)
		}
	}
}
