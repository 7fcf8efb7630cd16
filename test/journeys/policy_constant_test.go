package journeys

import (
	"fmt"
	"testing"

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

// same is for policies that leave images alone.
func same(image string) string { return image }

// usual are policies as clusters have them, which make the same of a template at each write.
var usual = []usualPolicy{
	{
		name: "sidecar injected", resources: "deployments, replicasets, statefulsets, daemonsets", operations: "CREATE, UPDATE",
		rule: `
  reinvocationPolicy: IfNeeded
  matchConditions:
  - {name: absent, expression: "!object.spec.template.spec.containers.exists(c, c.name == 'proxy')"}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "add", path: "/spec/template/spec/containers/-", value: Object.spec.template.spec.containers{
          name: "proxy", image: "proxy:1", resources: Object.spec.template.spec.containers.resources{requests: {"cpu": "0.010"}}}}]`,
		image: same,
	},
	{
		name: "registry mirror", resources: "deployments, statefulsets, daemonsets", operations: "CREATE, UPDATE",
		rule: `
  reinvocationPolicy: Never
  matchConditions:
  - {name: other, expression: "!object.spec.template.spec.containers[0].image.startsWith('mirror.example.com/')"}
  mutations:
  - patchType: JSONPatch
    jsonPatch:
      expression: >
        [JSONPatch{op: "replace", path: "/spec/template/spec/containers/0/image",
          value: "mirror.example.com/" + object.spec.template.spec.containers[0].image}]`,
		image: func(image string) string { return "mirror.example.com/" + image },
	},
	{
		name: "environment, labels and settings", resources: "deployments, replicasets, statefulsets, daemonsets", operations: "CREATE, UPDATE",
		rule: `
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{metadata: Object.metadata{annotations: {"last-written-by": request.userInfo.username}, labels: {"owner": "platform"}},
          spec: Object.spec{minReadySeconds: 0, template: Object.spec.template{
            metadata: Object.spec.template.metadata{labels: {"zone": "a"}},
            spec: Object.spec.template.spec{priority: 0, containers: object.spec.template.spec.containers.map(c, Object.spec.template.spec.containers{
              name: c.name, env: [Object.spec.template.spec.containers.env{name: "CLUSTER", value: "one"}]})}}}}`,
		image: same,
	},
}

// TestPolicyThatStaysHindersNothing: a policy makes the same of a template at each write. A release goes
// through its gates, a version that fails is rolled back, and the command hands the workload back, without a
// word about the policy. Each policy meets one kind; each kind with -every-moment.
func TestPolicyThatStaysHindersNothing(t *testing.T) {
	t.Parallel()
	for i, policy := range usual {
		for j, kind := range []string{"StatefulSet", "Deployment", "DaemonSet"} {
			if *everyMoment || i == j {
				t.Run(policy.name+"/"+kind, func(t *testing.T) { stays(newWorld(t), workloadKinds()[kind], policy) })
			}
		}
	}
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
