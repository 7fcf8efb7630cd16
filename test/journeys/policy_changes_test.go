package journeys

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// ofTeam returns the rule of a policy that writes the annotation team into a template.
func ofTeam(name string) string {
	return fmt.Sprintf(`
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{
          annotations: {"team": %q}}}}}`, name)
}

// team has a policy write the annotation team into the template of workloads, whoever writes them,
// until another call. It returns once the API server goes by it.
func (w *world) team(name string) {
	w.Helper()
	w.ruled("Mutating", "deployments, statefulsets, daemonsets", "CREATE, UPDATE", ofTeam(name))
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

const saysPolicy = "a mutating admission webhook or policy changes spec.template"

// TestPolicyChangesHoldTheRelease: in mid-release a mutating policy begins to change a template in
// another way. No pod runs the result: the release stops with the reason and a remedy, and
// continues once the policy is as before. The command leaves the workload held, and reports why.
func TestPolicyChangesHoldTheRelease(t *testing.T) {
	onKinds(t, []string{"Deployment", "StatefulSet"}, func(w *world, p workloadKind) {
		w.team("blue")
		_, c := p.adopted(w, step(1), step("100%"))
		p.next(w, "web:2")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		w.team("green")
		w.confirm("web")
		w.await(all(web.refused("", saysPolicy), web.refused("", "kubectl get mutatingadmissionpolicies")))
		w.awaitEvent(v1alpha1.ReasonWriteRefused, "change spec.template in Git")
		w.wantNoPodOf("green")
		w.team("blue")
		w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))

		p.next(w, "web:3")
		w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
		c.kill()
		w.team("green")
		said := func(string) {}
		err := handback.New(cptest.Client(w), clock.RealClock{}, handback.Options{Namespace: w.namespace}, said).Run(w.Context())
		if err == nil || !strings.Contains(err.Error(), "kubectl get mutatingadmissionpolicies") {
			w.Fatalf("the command says %v, want what to do about the policy", err)
		}
		if !held(w.now().workload("web")) {
			w.Error("it has handed the workload back")
		}
		w.team("blue")
		w.handBackAll(handback.Options{})
		w.await(web.serves("web:2", 4))
		w.wantNoPodOf("green")
	})
}

// twoFaced has a policy write the annotation team into the template of workloads, except in a dry
// run. It returns once the API server goes by it.
func (w *world) twoFaced(team string) (end func()) {
	w.Helper()
	end = w.ruled("Mutating", "deployments, statefulsets", "UPDATE", ofTeam(team)+`
  matchConditions:
  - {name: written, expression: "!request.dryRun"}`)
	w.awaitRule(func() error {
		probe := statefulSet(0)
		probe.Namespace, probe.Name = w.namespace, "probe"
		if err := client.IgnoreAlreadyExists(w.Create(w.Context(), probe)); err != nil {
			return err
		}
		if err := w.Patch(w.Context(), probe, mergePatch(`{"spec":{"template":{"metadata":{"labels":{"probe":"x"}}}}}`)); err != nil {
			return err
		}
		if got := probe.Spec.Template.Annotations["team"]; got != team {
			return fmt.Errorf("want a template of team %s, have %q", team, got)
		}
		return nil
	})
	return end
}

// TestPolicyChangesWhatTheDryRunKept: a policy keeps a template in the dry run, and changes it in
// the write that takes the workload over. No pod runs the result, and the status says why. The
// release continues once the policy is gone.
func TestPolicyChangesWhatTheDryRunKept(t *testing.T) {
	onKinds(t, []string{"Deployment", "StatefulSet"}, func(w *world, p workloadKind) {
		p.adopted(w, step(1), step("100%"))
		end := w.twoFaced("red")
		p.next(w, "web:2")
		w.await(web.refused("", saysPolicy))
		w.wantNoPodOf("red")
		end()
		w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
		w.wantNoPodOf("red")
	})
}
