package journeys

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

const changedImage = "spec.template.spec.containers[web].image: web:1 -> web:9"

// TestDriftIsReported: a template changed by hand is reported, with the fields that differ, until
// it is as before.
func TestDriftIsReported(t *testing.T) {
	w := newWorld(t)
	c := w.startController()
	w.deployed(deployment(4))
	w.create(release("web:1", step(1), step("100%")))
	w.await(web.completed)
	w.kubectl("scale", "deployment", "web", "--replicas=5")
	w.await(all(web.serves("web:1", 5), web.withoutCondition(v1alpha1.ConditionDrifted)))

	w.kubectl("set", "image", "deployment", "web", "web=web:9")
	s := w.await(all(web.condition(v1alpha1.ConditionDrifted, v1alpha1.ReasonTemplateChanged, changedImage), web.serves("web:9", 5)))
	if status := s.releases["web"].Status; status.Reason != v1alpha1.ReasonDrifted ||
		meta.IsStatusConditionTrue(status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("want the release not ready for its drift, have %s and %+v", status.Reason, status.Conditions)
	}
	w.awaitEvent(v1alpha1.ReasonDrifted, changedImage)
	asked := func() int { // pods are counted in the status all the same, at most every few seconds
		sent := c.requests()
		return sum(sent) - sent["patch batchreleases/status"]
	}
	before := asked()
	w.kubectl("scale", "deployment", "web", "--replicas=4")
	w.await(all(web.serves("web:9", 4), web.condition(v1alpha1.ConditionDrifted, v1alpha1.ReasonTemplateChanged, changedImage)))
	if n := asked() - before; n > 0 {
		t.Errorf("a drift that is known costs %d more requests: %v", n, c.requests())
	}
	w.kubectl("set", "image", "deployment", "web", "web=web:1")
	w.await(all(web.withoutCondition(v1alpha1.ConditionDrifted), web.completed, web.reason(v1alpha1.ReasonCompleted)))

	at := w.now().deployments["web"].Generation // a restart is none
	w.kubectl("rollout", "restart", "deployment", "web")
	w.await(all(web.serves("web:1", 4), web.withoutCondition(v1alpha1.ConditionDrifted), web.spec("another template", func(d *appsv1.Deployment) bool {
		return d.Generation > at && d.Status.ObservedGeneration == d.Generation
	})))
}

// condition wants a condition of the release that is true, for a reason and with something in its
// message.
func (name subject) condition(kind, reason, says string) check {
	return func(s *scene) error {
		condition := name.find(s, kind)
		if condition == nil || condition.Status != metav1.ConditionTrue || condition.Reason != reason || !strings.Contains(condition.Message, says) {
			return fmt.Errorf("want %s of %s, %s, with %q; have %+v", kind, name, reason, says, condition)
		}
		return nil
	}
}

// withoutCondition wants the release not to have a condition.
func (name subject) withoutCondition(kind string) check {
	return func(s *scene) error {
		if condition := name.find(s, kind); condition != nil {
			return fmt.Errorf("want no %s of %s, have %+v", kind, name, condition)
		}
		return nil
	}
}

func (name subject) find(s *scene, kind string) *metav1.Condition {
	release := s.releases[string(name)]
	if release == nil {
		return nil
	}
	return meta.FindStatusCondition(release.Status.Conditions, kind)
}

// awaitEvent waits for an event that reports something.
func (w *world) awaitEvent(reason, says string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		var events eventsv1.EventList
		if err := w.List(w.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		for i := range events.Items {
			if e := &events.Items[i]; e.Reason == reason && strings.Contains(e.Note, says) {
				return nil
			}
		}
		return fmt.Errorf("want an event %s with %q", reason, says)
	})
}
