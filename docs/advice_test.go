package docs_test

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestExamplesFollowTheAdvice: the page's examples follow its own advice: a canary begins small,
// and a blue-green release has all pods in each step, at first without requests.
func TestExamplesFollowTheAdvice(t *testing.T) {
	t.Parallel()
	canary, blueGreen := 0, 0
	for _, match := range block.FindAllStringSubmatch(read(t, "../docs/traffic.md"), -1) {
		var release v1alpha1.BatchRelease
		if yaml.Unmarshal([]byte(match[1]), &release) != nil || release.Kind != "BatchRelease" || release.Spec.Strategy.Traffic == nil {
			continue
		}
		steps := release.Spec.Strategy.Steps
		share := func(i int) int32 { return v1alpha1.TrafficOf(steps, i) }
		if !release.Spec.Strategy.Traffic.KeepOldPods {
			canary++
			if pods := steps[0].Replicas.String(); pods != "10%" && pods != "1" || share(0) > 10 {
				t.Errorf("a canary begins with %s of the pods and %d%% of the requests, want at most 10%%", pods, share(0))
			}
			continue
		}
		blueGreen++
		if share(0) != 0 {
			t.Errorf("a blue-green release begins with %d%% of the requests, want none", share(0))
		}
		for i := range steps {
			if steps[i].Replicas.String() != "100%" {
				t.Errorf("step %d of a blue-green release has %s of the pods, want all", i+1, steps[i].Replicas.String())
			}
		}
	}
	if canary == 0 || blueGreen == 0 {
		t.Errorf("want an example of each way in traffic.md, have %d canary and %d blue-green", canary, blueGreen)
	}
}
