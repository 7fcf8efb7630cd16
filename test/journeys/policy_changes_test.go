package journeys

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// team has a policy write the annotation team into the template of workloads, whoever writes them, until another call. It returns
// once the API server goes by it.
func (w *world) team(name string) {
	w.Helper()
	w.ruled("Mutating", "deployments, statefulsets, daemonsets", "CREATE, UPDATE", fmt.Sprintf(`
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{
          annotations: {"team": %q}}}}}`, name))
	probe := statefulSet(1)
	probe.Namespace, probe.Name = w.namespace, "probe"
	w.awaitRule(func() error {
		tried := probe.DeepCopy()
		if err := w.Create(w.Context(), tried, client.DryRunAll); err != nil {
			return err
		}
		if got := tried.Spec.Template.Annotations["team"]; got != name {
			return fmt.Errorf("want a template of team %s, have %q", name, got)
		}
		return nil
	})
}

// wantNoPodOf wants no pod to have been made for a team.
func (w *world) wantNoPodOf(team string) {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Fatalf("the journal has a gap: %v", err)
	}
	for _, e := range entries {
		if pod, is := e.object.(*corev1.Pod); is && pod.Annotations["team"] == team {
			w.Fatalf("pod %s of team %s was made at revision %d", pod.Name, team, e.revision)
		}
	}
}

func policiedKinds() map[string]inPlace {
	kinds := inPlaces()
	kinds["Deployment"] = inPlace{
		"Deployment",
		func(_ *world, pods int) client.Object { return deployment(int32(pods), rolling(1, 1)) },
		kinds["StatefulSet"].template,
	}
	return kinds
}

// policied are the kinds of workloads, with four pods of web:1 for team blue.
func policied(t *testing.T, journey func(w *world, p inPlace, c *controller)) {
	t.Helper()
	t.Parallel()
	kinds := policiedKinds()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		t.Run(kind, func(t *testing.T) {
			w, p := newWorld(t), kinds[kind]
			c := w.startController()
			w.team("blue")
			workload := p.workload(w, 4)
			w.create(workload)
			w.await(web.serves("web:1", 4))
			if kind != "Deployment" {
				w.await(seenInPlace)
			}
			w.create(releaseTo(p.kind, p.template(w, "web:1", nil), step(1), step("100%")))
			w.await(web.completed)
			journey(w, p, c)
		})
	}
}

const saysPolicy = "a mutating admission webhook or policy changes spec.template"

// Where a policy begins to make something else of a template in mid-release, no pod runs that: the release stands, says why and what
// helps, and continues once the policy is what it was.
func TestPolicyChangesInMidRelease(t *testing.T) {
	policied(t, func(w *world, p inPlace, _ *controller) {
		p.next(w, "web:2")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		w.team("green")
		w.confirm("web")
		w.await(all(web.refused("", saysPolicy), web.refused("", "kubectl get mutatingadmissionpolicies")))
		w.awaitEvent(v1alpha1.ReasonWriteRefused, "change spec.template in Git")
		w.wantNoPodOf("green")
		w.team("blue")
		w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
		w.wantNoPodOf("green")
	})
}

// The other way out: what the policy makes of a template is a release of its own, through its gates.
func TestPolicyChangesAndIsReleased(t *testing.T) {
	policied(t, func(w *world, p inPlace, _ *controller) {
		p.next(w, "web:2")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		w.team("green")
		w.confirm("web")
		w.await(web.refused("", saysPolicy))
		w.wantNoPodOf("green")
		p.next(w, "web:3")
		w.await(all(web.blocksAt(0), teams("web:3", "green", 1)))
		w.awaitConfirming(all(web.completed, web.serves("web:3", 4), teams("web:3", "green", 4)))
	})
}

// teams wants so many pods of an image to be a team's, and no others of the team.
func teams(image, team string, n int) check {
	return func(s *scene) error {
		have := 0
		for _, pod := range s.pods {
			if pod.DeletionTimestamp == nil && pod.Annotations["team"] == team && pod.Spec.Containers[0].Image == image {
				have++
			}
		}
		if have != n {
			return fmt.Errorf("want %d pods of %s for team %s, have %d", n, image, team, have)
		}
		return nil
	}
}

// Where a policy has changed since the version before was released, an automatic rollback would have it make something else of that
// template. The pods of the stable version stay, and nothing says that the rollback is done.
func TestPolicyChangesBeforeARollback(t *testing.T) {
	policied(t, func(w *world, p inPlace, _ *controller) {
		w.team("green")
		w.patchRelease(`{"spec":{"strategy":{"onFailure":"Rollback","progressDeadlineSeconds":5}}}`)
		before := w.now().uids()
		w.release(p.template(w, "web:2", behaving(controlplane.NeverReady)))
		s := w.await(all(web.refused("take over the workload", saysPolicy), web.status("rolling back", func(s *v1alpha1.BatchReleaseStatus) bool {
			return s.Rollback != nil && s.Phase != v1alpha1.PhaseCompleted
		})))
		w.wantStayed(before, s, 3)
		w.await(web.phase(v1alpha1.PhaseFailed))
		w.wantStayed(before, w.now(), 3)
		w.team("blue")
		w.bePatient()
		w.annotateRelease(v1alpha1.RetryAnnotation, "true")
		s = w.await(all(web.completed, web.reason(v1alpha1.ReasonRolledBack), web.serves("web:1", 4), teams("web:1", "blue", 4)))
		w.wantStayed(before, s, 3)
	})
}

// wantStayed wants at least so many pods to be those that there were.
func (w *world) wantStayed(before map[string]string, s *scene, least int) {
	w.Helper()
	var were []string
	for _, uid := range before {
		were = append(were, uid)
	}
	stayed := 0
	for _, uid := range s.uids() {
		if slices.Contains(were, uid) {
			stayed++
		}
	}
	if stayed < least {
		w.Fatalf("%d pods of the stable version have stayed, want %d", stayed, least)
	}
}

// Nobody is there to hold pods back from what a policy makes of the template when the command hands a workload back: it leaves it held, and says
// why.
func TestPolicyChangesBeforeAHandBackByCommand(t *testing.T) {
	policied(t, func(w *world, p inPlace, c *controller) {
		p.next(w, "web:2")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		c.kill()
		w.team("green")
		said := func(string) {}
		err := handback.New(cptest.Client(w), clock.RealClock{}, handback.Options{Namespace: w.namespace}, said).Run(w.Context())
		if err == nil || !strings.Contains(err.Error(), "kubectl get mutatingadmissionpolicies") {
			t.Fatalf("the command says %v, want what to do about the policy", err)
		}
		if !held(w.now().workload("web")) {
			t.Error("it has handed the workload back")
		}
		w.wantNoPodOf("green")
		w.team("blue")
		w.handBackAll(handback.Options{})
		w.await(all(web.serves("web:1", 4), teams("web:1", "blue", 4)))
		w.wantNoPodOf("green")
	})
}

// At rest, neither another strategy nor a retry, a restart of the controller or a version that is asked for again replaces a pod because
// a policy has changed.
func TestPolicyChangesAtRest(t *testing.T) {
	policied(t, func(w *world, p inPlace, c *controller) {
		p.next(w, "web:2")
		w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
		before := w.now().uids()
		w.team("green")
		w.patchRelease(`{"spec":{"strategy":{"steps":[{"replicas":2},{"replicas":"100%"}]}}}`)
		w.annotateRelease(v1alpha1.RetryAnnotation, "true")
		c.kill()
		w.startController()
		p.next(w, "web:2")
		w.annotateRelease(v1alpha1.RollbackAnnotation, "true")
		s := w.await(web.refused("", saysPolicy))
		w.wantStayed(before, s, 4)
		w.wantNoPodOf("green")
		w.team("blue")
		w.awaitConfirming(all(web.completed, web.serves("web:1", 4), teams("web:1", "blue", 4)))
		w.wantNoPodOf("green")
	})
}
