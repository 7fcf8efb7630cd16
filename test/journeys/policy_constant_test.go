package journeys

import (
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// usualPolicy is a policy that makes the same of a template at each write.
type usualPolicy struct {
	name, resources, operations, rule string
	// image returns the image after the policy.
	image func(string) string
}

func stays(w *world, p workloadKind, policy usualPolicy) {
	is := func(n int) string { return policy.image(fmt.Sprintf("web:%d", n)) }
	c := w.startController()
	w.ruled("Mutating", policy.resources, policy.operations, policy.rule)
	w.awaitChanges()
	w.create(p.workload(w, 4))
	w.await(all(web.serves(is(1), 4), seenNatively))
	w.create(releaseTo(p.kind, p.template(w, "web:1", nil), step(1), step("100%")))
	w.await(web.completed)
	p.next(w, "web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{is(1): 3, is(2): 1})))
	w.awaitConfirming(all(web.completed, web.serves(is(2), 4)))

	before := w.now().uids()
	w.patchRelease(`{"spec":{"strategy":{"onFailure":"Rollback","progressDeadlineSeconds":5}}}`)
	w.release(p.template(w, "web:3", behaving(controlplane.NeverReady)))
	w.await(turnedRound)
	w.bePatient()
	s := w.await(all(web.completed, web.reason(v1alpha1.ReasonRolledBack), web.serves(is(2), 4)))
	w.wantStayed(before, s, 3)

	p.next(w, "web:4")
	w.await(all(web.blocksAt(0), web.runs(pods{is(2): 3, is(4): 1})))
	c.kill()
	w.handBackAll(handback.Options{})
	w.await(web.serves(is(2), 4))
	w.wantNeverRefused()
}

// awaitChanges returns once the API server goes by the policy of the namespace.
func (w *world) awaitChanges() {
	w.Helper()
	probe := statefulSet(1)
	probe.Namespace, probe.Name = w.namespace, "probe"
	plain := probe.Spec.Template.Spec.Containers[0].Image
	w.awaitRule(func() error {
		tried := probe.DeepCopy()
		if err := w.Create(w.Context(), tried, client.DryRunAll); err != nil {
			return err
		}
		containers := tried.Spec.Template.Spec.Containers
		if len(containers) == 1 && len(containers[0].Env) == 0 && containers[0].Image == plain {
			return fmt.Errorf("want a template that the policy has changed, have %s", encode(tried.Spec.Template))
		}
		return nil
	})
}

// wantNeverRefused fails the test if a release has reported a refused write.
func (w *world) wantNeverRefused() {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatalf("the journal has a gap: %v", err)
	}
	for _, e := range entries {
		if release, is := e.object.(*v1alpha1.BatchRelease); is && release.Status.RefusedWrite != nil {
			w.Fatalf("at revision %d the release tells of a refused write: %+v", e.revision, release.Status.RefusedWrite)
		}
	}
}
