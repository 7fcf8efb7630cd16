package journeys

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// policyName is what config/policy calls the policy; its refusals say so.
const policyName = "held-deployments.rollouts.sluice.dev"

// newGuardedWorld returns a world with the policies bound to its namespace, and to no other.
func newGuardedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.guardWorkloads()
	return w
}

// guardWorkloads binds the policies about held workloads and their pods to the namespace of the
// journey.
func (w *world) guardWorkloads() {
	w.Helper()
	controllerAccount(w) // the policies name it
	for policy, binding := range map[string]string{
		"policy/policy.yaml": "policy/binding.yaml", "policy/workloads.yaml": "policy/workloads_binding.yaml", "policy/pods.yaml": "policy/pods_binding.yaml",
	} {
		w.applyShipped(policy)
		bound := &admissionv1.ValidatingAdmissionPolicyBinding{}
		w.bind(binding, w.namespace+"-"+strings.TrimSuffix(filepath.Base(policy), ".yaml"), bound, &bound.Spec.MatchResources)
	}
	probe := func() metav1.ObjectMeta {
		return metav1.ObjectMeta{Name: "probe", Annotations: map[string]string{v1alpha1.HoldAnnotation: "{}"}}
	}
	held, heldSet := deployment(0), statefulSet(0)
	held.ObjectMeta, heldSet.ObjectMeta = probe(), probe()
	w.awaitPolicy(held, policyName)
	w.awaitPolicy(heldSet, "held-workloads.rollouts.sluice.dev")
}

// bind makes a binding that is shipped one of the namespace of the journey alone, by another name.
// It decodes the binding, which has these resources.
func (w *world) bind(file, name string, binding client.Object, resources **admissionv1.MatchResources) {
	w.Helper()
	text, err := os.ReadFile(w.shipped(file))
	if err != nil {
		w.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, binding); err != nil {
		w.Fatalf("decode the binding: %v", err)
	}
	binding.SetName(name)
	*resources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace},
	}}
	if err := w.Create(w.Context(), binding); err != nil {
		w.Fatalf("bind the policy: %v", err)
	}
	w.Cleanup(func() {
		if err := w.Delete(context.Background(), binding); client.IgnoreNotFound(err) != nil {
			w.Errorf("unbind the policy: %v", err)
		}
	})
}

// awaitPolicy waits until the API server applies a policy to a held workload made for that.
func (w *world) awaitPolicy(probe client.Object, name string) {
	w.Helper()
	w.create(probe)
	change := mergePatch(`{"metadata":{"annotations":{"rollouts.sluice.dev/hold":null}}}`)
	cptest.Eventually(w, soon, func() error {
		tried, _ := probe.DeepCopyObject().(client.Object)
		err := w.Patch(w.Context(), tried, change, client.DryRunAll)
		if err != nil && strings.Contains(err.Error(), name) {
			return nil
		}
		return errors.Join(errors.New("want a change refused by the policy"), err)
	})
	if err := w.Delete(w.Context(), probe); err != nil {
		w.Fatalf("delete probe: %v", err)
	}
}

// applied deploys with kubectl apply.
func (w *world) applied(d *appsv1.Deployment) {
	w.Helper()
	w.apply(manifestOf(d))
	w.await(web.serves(imageOf(d), *d.Spec.Replicas))
}

// manifestOf returns a user's manifest of the Deployment.
func manifestOf(d *appsv1.Deployment) string {
	d.APIVersion, d.Kind = "apps/v1", "Deployment"
	return string(encode(withoutStatus(d)))
}

func runsImage(image string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = image }
}

// meddling is a user's write to a held Deployment, and its answer.
type meddling struct {
	stdin string
	args  []string
	says  string
}

func patching(says string, args ...string) meddling {
	return meddling{args: append([]string{"patch", "deployment", "web"}, args...), says: says}
}

// refusedByKubectl is what kubectl says of a paused Deployment without asking the API server (T7).
const refusedByKubectl = "paused deployment"

// meddlings returns all that the policy is there for.
func meddlings() map[string]meddling {
	noHold := `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":null}}}`
	restarted := `{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}}}}}`
	unexplained := `{"metadata":{"annotations":{"rollouts.sluice.dev/break-glass":" "}},"spec":{"paused":false}}`
	serverSide := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"strategy":{"type":"RollingUpdate"}}}`
	everything := "spec.paused, spec.strategy, spec.template, annotation rollouts.sluice.dev/hold"
	return map[string]meddling{
		"resume":    {args: []string{"rollout", "resume", "deployment", "web"}, says: `BatchRelease "web" and nobody else may change spec.paused until`},
		"undo":      {args: []string{"rollout", "undo", "deployment", "web"}, says: refusedByKubectl},
		"restart":   {args: []string{"rollout", "restart", "deployment", "web"}, says: refusedByKubectl},
		"set image": {args: []string{"set", "image", "deployment/web", "web=web:9"}, says: "change spec.template until"},
		"annotate":  {args: []string{"annotate", "deployment", "web", "rollouts.sluice.dev/hold-"}, says: "change annotation"},
		"rollback":  {args: []string{"annotate", "deployment", "web", "deprecated.deployment.rollback.to=1"}, says: "change annotation deprecated"},
		"apply --server-side": {
			stdin: serverSide, args: []string{"apply", "--server-side", "--force-conflicts", "-f", "-"},
			says: "change spec.strategy until",
		},
		"apply of a strategy": {
			stdin: manifestOf(deployment(4, runsImage("web:2"), rolling(1, 0))), args: []string{"apply", "-f", "-"},
			says: "change spec.strategy until",
		},
		"apply of a template": {
			stdin: manifestOf(deployment(4, runsImage("web:9"))), args: []string{"apply", "-f", "-"},
			says: "change spec.strategy, spec.template until", // the strategy was applied, and is in this file no more
		},
		"replace":              {stdin: manifestOf(deployment(4)), args: []string{"replace", "-f", "-"}, says: everything},
		"restart by patch":     patching("change spec.template until", "-p", restarted),
		"another hold":         patching("change annotation", "-p", `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":"{}"}}}`),
		"hold by status":       patching("change annotation", "--subresource=status", "-p", noHold),
		"no annotations":       patching("change annotation", "--type=json", "-p", `[{"op":"remove","path":"/metadata/annotations"}]`),
		"without a reason":     patching("change spec.paused until", "-p", unexplained),
		"unpaused by omission": patching("change spec.paused until", "--type=json", "-p", `[{"op":"remove","path":"/spec/paused"}]`),
	}
}

// wantRefused wants nothing to come of what is tried.
func (w *world) wantRefused(tries map[string]meddling) {
	w.Helper()
	before := w.generation()
	for name, m := range tries {
		_, err := w.tryKubectl(m.stdin, m.args...)
		wantError(w.T, name, err, m.says)
		if m.says != refusedByKubectl {
			wantError(w.T, name, err, policyName)
		}
	}
	if after := w.generation(); after != before {
		w.Errorf("the spec of the Deployment was changed: generation %d, want %d", after, before)
	}
}

func (w *world) generation() int64 {
	w.Helper()
	d := named[appsv1.Deployment]("web")
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, d); err != nil {
		w.Fatalf("read Deployment: %v", err)
	}
	return d.Generation
}

// TestPolicyRefuses: only the controller changes its own fields, no pod is lost over an attempt,
// and in the end the Deployment is the user's again.
func TestPolicyRefuses(t *testing.T) {
	w := newGuardedWorld(t)
	c := w.startController()
	w.applied(deployment(4, rolling(2, 1)))
	before := w.now().deployments["web"]
	w.create(release("web:2", step("50%"), step("100%")))
	half := all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2}), allReady)
	w.await(half)
	w.wantRefused(meddlings())
	if err := half(w.now()); err != nil {
		t.Errorf("after everything was refused: %v", err)
	}
	w.confirm("web")
	s := w.await(all(web.completed, web.serves("web:2", 4)))
	wantStrategy(t, s, before)
	wantAnnotations(t, s, before)

	c.kill() // so that it is the policy alone that could mind
	w.kubectl("rollout", "pause", "deployment", "web")
	w.kubectl("rollout", "resume", "deployment", "web")
	w.apply(manifestOf(deployment(4, rolling(1, 0), runsImage("web:3"))))
	w.await(web.serves("web:3", 4))
}

// TestPolicyAllows: users can change their own fields during a release: the size, labels, other
// annotations.
func TestPolicyAllows(t *testing.T) {
	w := newGuardedWorld(t)
	w.startController()
	w.applied(deployment(4))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))

	w.scale("8")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 4, "web:2": 4})))
	w.kubectl("label", "deployment", "web", "team=shop")
	w.kubectl("annotate", "deployment", "web", "example.com/on-call=ada")
	w.apply(manifestOf(deployment(6, runsImage("web:2"), func(d *appsv1.Deployment) { d.Labels = map[string]string{"tier": "front"} })))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 3})))
	w.kubectl("patch", "deployment", "web", "-p", `{"spec":{"minReadySeconds":1,"revisionHistoryLimit":3}}`)

	w.confirm("web")
	s := w.await(all(web.completed, web.serves("web:2", 6)))
	d := s.deployments["web"]
	if d.Labels["team"] != "shop" || d.Labels["tier"] != "front" || d.Annotations["example.com/on-call"] != "ada" {
		t.Errorf("labels %v and annotations %v lack what the user set", d.Labels, d.Annotations)
	}
}

// TestPolicyAllowsDeletion: a Deployment that is held can be deleted; the garbage collector, which
// writes to it before it goes, is not refused.
func TestPolicyAllowsDeletion(t *testing.T) {
	for _, cascade := range []string{"background", "foreground", "orphan"} {
		t.Run(cascade, func(t *testing.T) {
			w := newGuardedWorld(t)
			w.judged = nil
			w.startController()
			w.deployed(deployment(4))
			w.create(release("web:2", step("50%"), step("100%")))
			w.await(web.blocksAt(0))
			w.kubectl("delete", "deployment", "web", "--cascade="+cascade)
			w.await(web.reason(v1alpha1.ReasonWorkloadNotFound))
		})
	}
}

// TestPolicyBreakGlass: the policy holds while the controller is down. A user who gives a reason
// gets past it, in one write or in two, and the audit log has the user and the reason.
func TestPolicyBreakGlass(t *testing.T) {
	const handBack = `"spec":{"paused":false,"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxSurge":1,"maxUnavailable":0}}}`
	cases := map[string][]string{
		"SameWrite": {`{"metadata":{"annotations":{"rollouts.sluice.dev/break-glass":"INC-1: sluice is gone","rollouts.sluice.dev/hold":null}},` + handBack + `}`},
		"EarlierWrite": {
			`{"metadata":{"annotations":{"rollouts.sluice.dev/break-glass":"INC-1: sluice is gone"}}}`,
			`{"metadata":{"annotations":{"rollouts.sluice.dev/hold":null}},` + handBack + `}`,
		},
	}
	for name, writes := range cases {
		t.Run(name, func(t *testing.T) {
			w := newGuardedWorld(t)
			c := w.startController()
			w.applied(deployment(4, rolling(1, 0)))
			w.create(release("web:2", step("50%"), step("100%")))
			w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
			c.kill()
			w.wantRefused(meddlings())
			for _, write := range writes {
				w.kubectl("patch", "deployment", "web", "-p", write)
			}
			w.await(all(web.handedBack, web.serves("web:2", 4)))
			w.wantAudited("changed spec.paused, spec.strategy, annotation rollouts.sluice.dev/hold: INC-1: sluice is gone")
		})
	}
}

// wantAudited wants the audit log to have the policy's note of a write in the namespace.
func (w *world) wantAudited(says string) {
	w.Helper()
	logs := filepath.Dir(cptest.Access(w).AuditLog)
	cptest.Eventually(w, soon, func() error {
		files, err := filepath.Glob(filepath.Join(logs, "*.log"))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, `"`+policyName+`/break-glass":"`) && strings.Contains(line, w.namespace) && strings.Contains(line, says) {
					return nil
				}
			}
		}
		return fmt.Errorf("want the audit log to have a write in %s that %q", w.namespace, says)
	})
}

// TestPolicyOnOddDeployments: a hold that Sluice did not write, and a template as large as they
// get, are no errors of the policy: the same is refused and allowed. Pausing is always allowed.
func TestPolicyOnOddDeployments(t *testing.T) {
	large := make([]corev1.EnvVar, 2000)
	for i := range large {
		large[i] = corev1.EnvVar{Name: fmt.Sprintf("V%d", i), Value: strings.Repeat("x", 200)}
	}
	cases := map[string]func(*appsv1.Deployment){
		"EmptyHold":     func(*appsv1.Deployment) {},
		"LargeTemplate": func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Env = large },
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			w := newGuardedWorld(t)
			w.judged = nil
			w.create(deployment(0, change, func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{v1alpha1.HoldAnnotation: ""}
			}))
			w.awaitNative()
			w.kubectl("label", "deployment", "web", "team=shop")
			w.kubectl("rollout", "pause", "deployment", "web")
			w.awaitNative() // whose write of the status goes through
			w.wantRefused(map[string]meddling{
				"resume":    {args: []string{"rollout", "resume", "deployment", "web"}, says: "change spec.paused until"},
				"set image": {args: []string{"set", "image", "deployment/web", "web=web:9"}, says: "change spec.template until"},
				"annotate":  {args: []string{"annotate", "deployment", "web", "rollouts.sluice.dev/hold-"}, says: "change annotation"},
			})
		})
	}
}

// TestPolicyIsWellTyped: the expressions of the policy fit the types that they are about.
func TestPolicyIsWellTyped(t *testing.T) {
	w := newGuardedWorld(t)
	w.judged = nil
	cptest.Eventually(w, soon, func() error {
		policy := named[admissionv1.ValidatingAdmissionPolicy](policyName)
		if err := w.Get(w.Context(), client.ObjectKeyFromObject(policy), policy); err != nil {
			return err
		}
		if policy.Status.TypeChecking == nil || policy.Status.ObservedGeneration != policy.Generation {
			return errors.New("want the policy checked")
		}
		if warnings := policy.Status.TypeChecking.ExpressionWarnings; len(warnings) > 0 {
			return fmt.Errorf("want no warning, have %+v", warnings)
		}
		return nil
	})
}
