package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A Deployment that asks for one version at a time is not taken over for a release that would run two, until the release
// says that it may.
func TestRecreateIsNotMixed(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(3, recreates))
	w.create(release("web:2", step(1), step("100%")))
	says := "allowMixedVersions: true"
	s := w.await(all(web.reason(v1alpha1.ReasonWouldMixVersions), stalls("web", v1alpha1.ReasonWouldMixVersions, says)))
	if d := s.deployments["web"]; held(d) || imageOf(d) != "web:1" {
		t.Errorf("the Deployment was taken over, or has another image: %s", imageOf(d))
	}
	w.awaitEvent(v1alpha1.ReasonWouldMixVersions, says)
	w.patchRelease(`{"spec":{"strategy":{"allowMixedVersions":true}}}`)
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 1})))
	w.patchRelease(`{"spec":{"strategy":{"allowMixedVersions":false}}}`)
	w.confirm("web") // what is in progress goes on
	s = w.await(all(web.completed, web.serves("web:2", 3)))
	wantStrategy(t, s, deployment(3, recreates))
}

func recreates(d *appsv1.Deployment) { d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType }
