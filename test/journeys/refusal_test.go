package journeys

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestReleaseRefused: an invalid release is refused when it is applied, with the wrong field.
func TestReleaseRefused(t *testing.T) {
	cases := map[string]struct{ patch, says string }{
		"LastStepNotAll":  {`{"spec":{"strategy":{"steps":[{"replicas":1}]}}}`, "the last step must have replicas: 100%"},
		"FewerPods":       {`{"spec":{"strategy":{"steps":[{"replicas":2},{"replicas":"50%"},{"replicas":1},{"replicas":"100%"}]}}}`, "must not be fewer pods than in a step before it"},
		"AfterAll":        {`{"spec":{"strategy":{"steps":[{"replicas":"100%"},{"replicas":3},{"replicas":"100%"}]}}}`, "after a step of 100% there must be no other"},
		"FewerInRollback": {`{"spec":{"rollback":{"steps":[{"replicas":2},{"replicas":1},{"replicas":"100%"}]}}}`, "must not be fewer pods than in a step before it"},
		"NegativeStep":    {`{"spec":{"strategy":{"steps":[{"replicas":-1},{"replicas":"100%"}]}}}`, "replicas must not be negative"},
		"NoPercentage":    {`{"spec":{"strategy":{"steps":[{"replicas":"101%"},{"replicas":"100%"}]}}}`, "steps[0].replicas"},
		"NoSteps":         {`{"spec":{"strategy":{"steps":[]}}}`, "steps"},
		"OtherWorkload":   {`{"spec":{"workloadRef":{"name":"other"}}}`, "immutable"},
		"TwoGatesInOne":   {`{"spec":{"strategy":{"steps":[{"replicas":1,"gates":[{"manual":{},"none":{}}]},{"replicas":"100%"}]}}}`, "gates"},
		"SoakOfNothing":   {`{"spec":{"strategy":{"steps":[{"replicas":1,"gates":[{"soak":{"duration":"0s"}}]},{"replicas":"100%"}]}}}`, "more than 0s"},
		"SurgeOfNonsense": {`{"spec":{"strategy":{"maxSurge":"many"}}}`, "maxSurge"},
	}
	w := newWorld(t)
	w.create(release("web:2", step(1), step("100%")))
	for name, c := range cases {
		_, err := w.tryKubectl("", "patch", "batchrelease", "web", "--type=merge", "-p", c.patch)
		wantError(t, name, err, c.says)
	}
}

// TestTemplateRefused: a template that the API server does not take starts nothing, and stops
// nothing that is in progress. The release says why.
func TestTemplateRefused(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	generation := w.now().deployments["web"].Generation
	bad := release("web:2", step(1), step("50%"), step("100%"))
	bad.Spec.Template.Raw = []byte(`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web"}]}}`)
	w.create(bad)
	s := w.await(stalls("web", v1alpha1.ReasonInvalidTemplate, "image"))
	if got := s.deployments["web"].Generation; got != generation {
		t.Errorf("the Deployment was changed: generation %d, was %d", got, generation)
	}
	w.releaseImage("web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	for _, c := range []struct{ patch, says string }{
		{`{"spec":{"template":{"spec":{"contaners":[]}}}}`, "spec.template.spec.contaners"},
		{`{"spec":{"template":{"spec":{"contaners":null},"metadata":{"labels":{"app":"other"}}}}}`, "selector"},
	} {
		w.patchRelease(c.patch)
		w.await(all(web.observed, stalls("web", v1alpha1.ReasonInvalidTemplate, c.says)))
	}
	w.confirm("web")
	w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4), stalls("web", v1alpha1.ReasonInvalidTemplate, "selector")))
}
