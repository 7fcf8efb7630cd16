package journeys

import (
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A template that the API server does not take leaves the running release alone and says why.
func TestTemplateRefused(t *testing.T) {
	cases := map[string]struct{ patch, says string }{
		"UnknownField":     {`{"spec":{"template":{"spec":{"contaners":[]}}}}`, "spec.template.spec.contaners"},
		"WrongType":        {`{"spec":{"template":{"spec":{"hostNetwork":"maybe"}}}}`, "hostNetwork"},
		"SelectorMismatch": {`{"spec":{"template":{"metadata":{"labels":{"app":"other"}}}}}`, "selector"},
		"NoContainers":     {`{"spec":{"template":{"spec":{"containers":[]}}}}`, "containers"},
		"NotATemplate":     {`{"spec":{"template":{"spec":null,"metadata":null,"x":1}}}`, "x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			w.deployed(deployment(4))
			w.create(release("web:2", step(1), step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
			w.patchRelease(c.patch)
			w.await(all(web.observed, stalls("web", v1alpha1.ReasonInvalidTemplate, c.says)))
			w.confirm("web")
			w.await(all(web.blocksAt(1), web.runs(pods{"web:1": 2, "web:2": 2})))
			w.confirm("web")
			w.await(all(web.completed, web.serves("web:2", 4)))
			w.await(stalls("web", v1alpha1.ReasonInvalidTemplate, c.says))
		})
	}
}

// Refused at the very start, nothing is touched; fixed, it goes on.
func TestTemplateRefusedAtStart(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(3))
	generation := w.now().deployments["web"].Generation
	bad := release("web:2", step(1), step("100%"))
	bad.Spec.Template.Raw = []byte(`{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web"}]}}`)
	w.create(bad)
	s := w.await(stalls("web", v1alpha1.ReasonInvalidTemplate, "image"))
	if got := s.deployments["web"].Generation; got != generation {
		t.Errorf("the Deployment was changed: generation %d, was %d", got, generation)
	}
	w.releaseImage("web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 1})))
}

// What can't be a release is refused when it is applied, with the field that is wrong.
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

// What steps may be is only what the API server asks for: pods and percentages may be mixed, and stay the same.
func TestStepsThatAreTaken(t *testing.T) {
	w := newWorld(t)
	w.create(release("web:2", step(0), step("0%"), step(8), step("30%"), step(8), step("100%"), step("100%")))
}

// Steps that can't be followed though the API server has them: the release stops and says so, follows spec.replicas, and
// goes on once they are fixed.
func TestInvalidStepsFollowReplicas(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(10, rolling(0, 1)))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.patchRelease(`{"spec":{"rollback":{"steps":[{"replicas":"100%","gates":[{"manual":{},"onReject":"Rollback"}]}]}}}`)
	w.await(stalls("web", v1alpha1.ReasonInvalidStrategy, "spec.rollback.steps[0].gates[0].onReject"))
	w.scale("15")
	w.await(web.runs(pods{"web:1": 10, "web:2": 5}))
	w.scale("6")
	w.await(web.runs(pods{"web:1": 3, "web:2": 3}))
	w.confirm("web")
	w.patchRelease(`{"spec":{"rollback":null}}`)
	w.await(all(web.completed, web.serves("web:2", 6)))
}
