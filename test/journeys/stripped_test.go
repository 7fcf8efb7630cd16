package journeys

import (
	"errors"
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// stripping is a policy that takes an annotation off.
const stripping = `
  reinvocationPolicy: Never
  matchConditions:
  - {name: marked, expression: "has(object.metadata.annotations) && '%[1]s' in object.metadata.annotations"}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "remove", path: "/metadata/annotations/" + jsonpatch.escapeKey("%[1]s")}]`

// TestHoldStripped: admission takes the hold off a Deployment. A take-over would lose the user's
// strategy: nothing is written until the policy is gone.
func TestHoldStripped(t *testing.T) {
	w := newWorld(t)
	w.released()
	before := w.now().deployments["web"]
	end := w.ruled("Mutating", "deployments", "UPDATE", fmt.Sprintf(stripping, v1alpha1.HoldAnnotation))
	w.awaitRule(func() error {
		d := w.named("web")
		if err := w.Patch(w.Context(), d, mergePatch(`{"metadata":{"annotations":{"`+v1alpha1.HoldAnnotation+`":"x"}}}`), client.DryRunAll); err != nil {
			return err
		}
		if d.Annotations[v1alpha1.HoldAnnotation] != "" {
			return errors.New("want the annotation stripped")
		}
		return nil
	})
	w.releaseImage("web:2")
	s := w.await(web.refused("", "admission"))
	if d := s.deployments["web"]; d.Generation != before.Generation {
		t.Errorf("the Deployment was written: paused %t, strategy %s", d.Spec.Paused, d.Spec.Strategy.Type)
	}
	end()
	s = w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
	if d := s.deployments["web"]; d.Spec.Paused || d.Spec.Strategy.Type != before.Spec.Strategy.Type {
		t.Errorf("at the end: paused %t, strategy %s, want %s", d.Spec.Paused, d.Spec.Strategy.Type, before.Spec.Strategy.Type)
	}
}

// TestGrowthIsRewritten: a policy changes the template of a ReplicaSet that grows. No pod is made
// of it, and the release goes on once the policy is gone.
func TestGrowthIsRewritten(t *testing.T) {
	w := newWorld(t)
	w.released()
	var set *appsv1.ReplicaSet
	for _, set = range w.now().setsOf(w.now().deployments["web"]) {
	}
	end := w.ruled("Mutating", "replicasets", "UPDATE", `
  reinvocationPolicy: Never
  matchConditions:
  - {name: grows, expression: "object.spec.replicas > oldObject.spec.replicas"}
`+annotatingTemplates)
	w.awaitRule(func() error {
		answer := set.DeepCopy()
		if err := w.Patch(w.Context(), answer, mergePatch(`{"spec":{"replicas":9}}`), client.DryRunAll); err != nil {
			return err
		}
		if answer.Spec.Template.Annotations["team"] == "" {
			return errors.New("want the template changed")
		}
		return nil
	})
	w.releaseImage("web:2")
	w.await(web.blocksAt(0))
	w.confirm("web")
	w.await(web.refused("", "admission"))
	end()
	s := w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
	for _, set := range s.setsOf(s.deployments["web"]) {
		if set.Spec.Template.Annotations["team"] != "" {
			t.Errorf("ReplicaSet %s was written with the changed template", set.Name)
		}
	}
	for _, pod := range s.pods {
		if pod.Annotations["team"] != "" {
			t.Errorf("pod %s is of the changed template", pod.Name)
		}
	}
}
