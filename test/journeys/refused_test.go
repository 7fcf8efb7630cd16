package journeys

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// ruled applies a policy in the journey's namespace alone, until end is called. The kind is
// Validating or Mutating, and rule is the policy's expression.
func (w *world) ruled(kind, resource, operations, rule string) (end func()) {
	w.Helper()
	name := w.namespace + "-" + strings.NewReplacer(", ", "-", "/", "-").Replace(resource)
	bound := ""
	if kind == "Validating" {
		bound = "validationActions: [Deny]"
	}
	w.apply(fmt.Sprintf(`
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]sAdmissionPolicy
metadata: {name: %[2]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: ['', apps, rollouts.sluice.dev], apiVersions: [v1, v1alpha1], operations: [%[3]s], resources: [%[4]s]}
%[5]s
---
apiVersion: admissionregistration.k8s.io/v1
kind: %[1]sAdmissionPolicyBinding
metadata: {name: %[2]s}
spec:
  policyName: %[2]s
  %[6]s
  matchResources: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[7]s}}}
`, kind, name, operations, resource, rule, bound, w.namespace))
	plural := strings.ToLower(kind) + "admissionpolicy"
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		for _, object := range []string{plural + "binding", plural} {
			if out, err := cptest.Access(w).Kubectl(context.Background(), "delete", "--ignore-not-found", object, name).CombinedOutput(); err != nil {
				w.Errorf("delete %s: %v: %s", object, err, out)
			}
		}
	}
	w.Cleanup(end)
	return end
}

const deny = `
  validations:
  - {expression: "%s", message: "no %s without a cost centre"}`

// awaitRule waits until the API server goes by a policy, as a dry run shows.
func (w *world) awaitRule(try func() error) {
	w.Helper()
	cptest.Eventually(w, soon, try)
}

// released returns a Deployment of four pods whose release of web:1 is completed.
func (w *world) released(change ...func(*v1alpha1.BatchRelease)) *controller {
	w.Helper()
	c := w.startController()
	w.deployed(deployment(4, rolling(1, 0)))
	r := release("web:1", step(1), step("100%"))
	for _, do := range change {
		do(r)
	}
	w.create(r)
	w.await(web.completed)
	return c
}

func (s subject) refused(write, says string) check {
	return func(now *scene) error {
		release := now.releases[string(s)]
		if release == nil || release.Status.RefusedWrite == nil {
			return fmt.Errorf("want a refused write in the status of %s", s)
		}
		if told := release.Status.RefusedWrite; !strings.Contains(told.Write, write) || !strings.Contains(told.Message, says) {
			return fmt.Errorf("want %q refused with %q, have %+v", write, says, told)
		}
		return stalls(string(s), v1alpha1.ReasonWriteRefused, says)(now)
	}
}

// named returns a Deployment by name, for a patch.
func (w *world) named(name string) *appsv1.Deployment {
	d := &appsv1.Deployment{}
	d.Namespace, d.Name = w.namespace, name
	return d
}

// stamping has the template of a Deployment come out with one more x each time that somebody writes
// it.
const stamping = `
  reinvocationPolicy: Never
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{
          annotations: {"stamp": (has(oldObject.spec.template.metadata.annotations)
            && "stamp" in oldObject.spec.template.metadata.annotations
            ? oldObject.spec.template.metadata.annotations["stamp"] : "") + "x"}}}}}`

// TestDeploymentStampedAtEachWrite: where the template of a Deployment comes out stamped each time
// that somebody writes it, the native controller would replace all pods, past every gate, as soon
// as the Deployment is handed back. It stays taken over, and that is told.
func TestDeploymentStampedAtEachWrite(t *testing.T) {
	w := newWorld(t)
	c := w.released()
	end := w.ruled("Mutating", "deployments", "UPDATE", stamping)
	w.awaitRule(func() error {
		d := w.named("web")
		if err := w.Patch(w.Context(), d, mergePatch(`{"metadata":{"labels":{"probe":"x"}}}`), client.DryRunAll); err != nil {
			return err
		}
		if d.Spec.Template.Annotations["stamp"] == "" {
			return errors.New("want a stamp")
		}
		return nil
	})
	before := c.sent.Load()
	w.releaseImage("web:2")
	s := w.awaitConfirming(web.refused("hand back the workload", "a mutating admission webhook or policy changes spec.template"))
	if d := s.deployments["web"]; !held(d) || s.podsOf(d)["web:2"] != 4 {
		t.Errorf("held %t, pods %v", held(d), s.podsOf(d))
	}
	if n := c.sent.Load() - before; n > mostStampedWrites {
		t.Errorf("%d writes were sent, want at most %d", n, mostStampedWrites)
	}
	end()
	w.await(all(web.completed, web.serves("web:2", 4)))
}

// mostStampedWrites is what a release costs until it is known that its template does not stay what
// it is, with dry runs and statuses.
const mostStampedWrites = 40

// annotatingTemplates are the mutations of a policy that adds an annotation to pod templates.
const annotatingTemplates = `
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >
        Object{spec: Object.spec{template: Object.spec.template{metadata: Object.spec.template.metadata{
          annotations: {"team": "blue"}}}}}`

// TestReplicaSetRewritten: a ReplicaSet whose template comes out as another one is found by nobody:
// none is made.
func TestReplicaSetRewritten(t *testing.T) {
	w := newWorld(t)
	w.released()
	end := w.ruled("Mutating", "replicasets", "CREATE", `
  reinvocationPolicy: Never
`+annotatingTemplates)
	w.awaitRule(func() error {
		set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: deployment(0).Spec.Selector, Template: podTemplate("web:1", nil)}}
		set.Namespace, set.Name = w.namespace, "probe"
		if err := w.Create(w.Context(), set, client.DryRunAll); err != nil {
			return err
		}
		if set.Spec.Template.Annotations["team"] == "" {
			return errors.New("want an annotation")
		}
		return nil
	})
	w.releaseImage("web:2")
	s := w.await(web.refused("create the ReplicaSet", "spec.template.metadata.annotations"))
	if n := len(s.setsOf(s.deployments["web"])); n != 1 {
		t.Errorf("there are %d ReplicaSets, want 1", n)
	}
	end()
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
}

// TestInPlaceRefused: a policy of the cluster that refuses a take-over, or the deletion of a pod,
// is named, and nothing changes. The release continues once the policy admits it.
func TestInPlaceRefused(t *testing.T) {
	onBothKinds(t, func(w *world, p workloadKind) {
		before := p.served(w, 4)
		allow := w.denied(strings.ToLower(p.kind)+"s", "UPDATE", "oldObject.spec.updateStrategy == object.spec.updateStrategy", func() error {
			workload, _ := before.DeepCopyObject().(client.Object)
			return w.Patch(w.Context(), workload, mergePatch(`{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`), client.DryRunAll)
		})
		w.create(p.to(w, step("50%"), step("100%")))
		w.await(all(web.refused("take over the workload", "cost centre"), web.handedBack, web.serves("web:1", 4)))
		letGo := w.deniedPods("web:1") // before the release takes the workload over, as it does by itself in a while
		allow()
		w.kubectl("annotate", "batchrelease", "web", "retry=true")
		w.await(all(web.refused("delete pods", "cost centre"), web.takenOver, web.runs(pods{"web:1": 4})))
		w.awaitEvent(v1alpha1.ReasonWriteRefused, "cost centre")
		letGo()
		w.kubectl("annotate", "batchrelease", "web", "--overwrite", "retry=true")
		w.await(all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": 2, "web:2": 2})))
		w.wantUntouched(before, all(web.completed, web.serves("web:2", 4)))
	})
}

// denied has nobody change workloads unless an expression holds, until what it returns is called.
func (w *world) denied(plural, operations, unless string, try func() error) (end func()) {
	w.Helper()
	end = w.ruled("Validating", plural, operations, fmt.Sprintf(deny, unless, plural))
	w.awaitRule(func() error {
		if err := try(); err == nil || !strings.Contains(err.Error(), "cost centre") {
			return errors.Join(errors.New("want a write refused"), err)
		}
		return nil
	})
	return end
}

// deniedPods has nobody delete pods.
func (w *world) deniedPods(image string) (end func()) {
	w.Helper()
	pod := named[corev1.Pod](w.podOf(image))
	pod.Namespace = w.namespace
	return w.denied("pods", "DELETE", "false", func() error { return w.Delete(w.Context(), pod.DeepCopy(), client.DryRunAll) })
}
