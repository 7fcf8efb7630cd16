package journeys

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// refusing is the label of a namespace in which the API server refuses what the controller writes,
// statuses aside.
const refusing = "journeys.test/refuses-the-controller"

const refusingPolicy = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: %[1]s}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [apps, rollouts.sluice.dev], apiVersions: ["*"], operations: ["*"],
       resources: [deployments, replicasets, controllerrevisions, batchreleases, gates]}
  validations:
  - expression: "request.userInfo.username != 'system:serviceaccount:sluice-system:sluice-controller'"
    message: the controller has the day off
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: %[1]s}
spec:
  policyName: %[1]s
  validationActions: [Deny]
  matchResources: {namespaceSelector: {matchLabels: {` + refusing + `: %[1]s}}}
`

// withRefusals installs a policy for as long as the test runs. It binds no namespace without the
// label.
func withRefusals(t *testing.T, name string) {
	t.Helper()
	apply := cptest.Access(t).Kubectl(t.Context(), "apply", "-f", "-")
	apply.Stdin = strings.NewReader(fmt.Sprintf(refusingPolicy, name))
	if out, err := apply.CombinedOutput(); err != nil {
		t.Fatalf("apply the policy: %v: %s", err, out)
	}
	t.Cleanup(func() {
		for _, object := range []string{"validatingadmissionpolicybinding", "validatingadmissionpolicy"} {
			out, err := cptest.Access(t).Kubectl(context.Background(), "delete", object, name).CombinedOutput()
			if err != nil {
				t.Errorf("delete %s: %v: %s", object, err, out)
			}
		}
	})
}

// refuse has the API server refuse what the controller writes in the namespace, or take it again,
// and waits until it does.
func (w *world) refuse(policy string, on bool) {
	w.Helper()
	value := "null"
	if on {
		value = strconv.Quote(policy)
	}
	namespace := &corev1.Namespace{}
	namespace.Name = w.namespace
	if err := w.Patch(w.Context(), namespace, mergePatch(fmt.Sprintf(`{"metadata":{"labels":{%q:%s}}}`, refusing, value))); err != nil {
		w.Fatalf("label the namespace: %v", err)
	}
	cfg := controllerAccount(w)
	account, err := client.New(cfg, cptest.ClientOptions(w, cfg))
	if err != nil {
		w.Fatalf("make client: %v", err)
	}
	set := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Selector: deployment(0).Spec.Selector, Template: podTemplate("web:1", nil)}}
	set.Namespace, set.Name = w.namespace, "probe"
	w.awaitRule(func() error {
		err := account.Create(w.Context(), set.DeepCopy(), client.DryRunAll)
		if refused := err != nil && strings.Contains(err.Error(), "day off"); refused != on {
			return errors.Join(fmt.Errorf("want it refused: %t", on), err)
		}
		return nil
	})
}

// refusal returns a scenario in which the API server refuses all that the controller writes but its
// statuses, until that is told: with who refuses it, and with the release stalled.
func refusal(policy string) scenario {
	return scenario{
		happens: func(w *world) { w.refuse(policy, true) },
		later: func(w *world) {
			told := web.refused("", policy)
			w.awaitConfirming(either(told, all(web.completed, web.observed)))
			w.refuse(policy, false)
		},
	}
}

// TestRefusedFromAnyWriteOn: F25, from any write of a release on the API server refuses what the
// controller writes. That is told, and once it takes writes again the release comes to the end of
// one that nobody refused; the laws hold all along.
func TestRefusedFromAnyWriteOn(t *testing.T) {
	const policy = "refuse-a-release"
	withRefusals(t, policy)
	s := refusal(policy)
	s.sweep(t)
}

// TestRollbackRefusedFromAnyWriteOn: the same in a rollback: the version before comes back once the
// writes are taken.
func TestRollbackRefusedFromAnyWriteOn(t *testing.T) {
	const policy = "refuse-a-rollback"
	withRefusals(t, policy)
	s := refusal(policy)
	s.earlier = rollBackHalfway
	s.forget = func(e *ending) { e.Kept = e.Kept[:min(len(e.Kept), 1)] } // it does not wait for the record of what it leaves
	s.ends = all(web.completed, web.serves("web:1", 6))
	s.sweep(t)
}
