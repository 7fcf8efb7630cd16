package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestTwoReleasesOfOneWorkload: of two releases of one Deployment, the second waits and says for
// whom.
func TestTwoReleasesOfOneWorkload(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	second := release("web:3", step("50%"), step("100%"))
	second.Name = "second"
	w.create(second)
	w.await(stalls("second", v1alpha1.ReasonWorkloadHeld, `"web"`))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.confirm("web")
	w.await(subject("second").blocksAt(0))
	w.kubectl("delete", "batchrelease", "second")
	w.await(all(web.completed, web.serves("web:2", 4)))
}

// TestStrategyRestored: the strategy comes back exactly as it was.
func TestStrategyRestored(t *testing.T) {
	cases := map[string]func(*appsv1.Deployment){
		"OddPercent": rolling("33%", "17%"),
		"Recreate":   func(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType },
		"Annotated":  func(d *appsv1.Deployment) { d.Annotations = map[string]string{"a.b/c_d": `{"e":"f~1/"}`} },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(3, change))
			before := w.now().deployments["web"]
			r := release("web:2", step(1), step("100%"))
			r.Spec.Strategy.AllowMixedVersions = before.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
			w.create(r)
			w.await(web.blocksAt(0))
			w.confirm("web")
			s := w.await(all(web.completed, web.serves("web:2", 3)))
			wantStrategy(t, s, before)
			wantAnnotations(t, s, before)
		})
	}
}
