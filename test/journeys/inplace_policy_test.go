package journeys

import (
	"errors"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// guardPlaces binds the policies about StatefulSets and DaemonSets that are held, and about pods, to the namespace of the journey.
func (w *world) guardPlaces() {
	w.Helper()
	controllerAccount(w) // of which the policies speak
	for _, name := range []string{"workloads", "pods"} {
		w.applyShipped("policy/" + name + ".yaml")
		w.bind("policy/"+name+"_binding.yaml", w.namespace+"-"+name)
	}
	w.awaitGuard()
}

// awaitGuard waits until the API server goes by the policy, as a StatefulSet made for that shows.
func (w *world) awaitGuard() {
	w.Helper()
	probe := statefulSet(0, func(s *appsv1.StatefulSet) {
		s.Name, s.Annotations = "probe", map[string]string{v1alpha1.HoldAnnotation: "{}"}
	})
	w.create(probe)
	cptest.Eventually(w, soon, func() error {
		change := mergePatch(`{"metadata":{"annotations":{"rollouts.sluice.dev/hold":null}}}`)
		err := w.Patch(w.Context(), probe.DeepCopy(), change, client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), "held-workloads.rollouts.sluice.dev") {
			return nil
		}
		return errors.Join(errors.New("want a change refused by the policy"), err)
	})
	if err := w.Delete(w.Context(), probe); err != nil {
		w.Fatalf("delete probe: %v", err)
	}
}
