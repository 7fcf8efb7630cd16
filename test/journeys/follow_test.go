package journeys

import (
	"context"
	"errors"
	"os"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// newFollowingWorld returns a world in which the policies of config/follow act, beside those of
// config/policy.
func newFollowingWorld(t *testing.T) *world {
	t.Helper()
	w := newGuardedWorld(t)
	for policy, binding := range map[string]string{"follow/followed.yaml": "follow/followed_binding.yaml", "follow/own.yaml": "follow/own_binding.yaml"} {
		w.applyShipped(policy)
		w.bindMutating(binding)
	}
	probe := deployment(0)
	probe.Name, probe.Labels = "probe", map[string]string{v1alpha1.FollowLabel: "probe"}
	w.create(probe)
	cptest.Eventually(w, soon, func() error {
		tried := probe.DeepCopy()
		err := w.Patch(w.Context(), tried, strategicPatch(`{"spec":{"template":{"metadata":{"annotations":{"new":"1"}}}}}`), client.DryRunAll)
		if err == nil && tried.Spec.Paused {
			return nil
		}
		return errors.Join(errors.New("want a new template held by the policy"), err)
	})
	if err := w.Delete(w.Context(), probe); err != nil {
		t.Fatalf("delete probe: %v", err)
	}
	return w
}

// bindMutating makes a binding that is shipped one of the namespace of the journey alone.
func (w *world) bindMutating(file string) {
	w.Helper()
	text, err := os.ReadFile(w.shipped(file))
	if err != nil {
		w.Fatal(err)
	}
	binding := &admissionv1.MutatingAdmissionPolicyBinding{}
	if err := yaml.UnmarshalStrict(text, binding); err != nil {
		w.Fatalf("decode the binding: %v", err)
	}
	binding.Name = w.namespace + "-" + binding.Name
	binding.Spec.MatchResources = &admissionv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
		MatchLabels: map[string]string{corev1.LabelMetadataName: w.namespace},
	}}
	if err := w.Create(w.Context(), binding); err != nil {
		w.Fatalf("bind the policy: %v", err)
	}
	w.Cleanup(func() {
		if err := w.Delete(context.Background(), binding); err != nil {
			w.Errorf("unbind the policy: %v", err)
		}
	})
}

// following returns a release that follows its workload.
func following(r *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	r.Spec.Template, r.Spec.Follow = nil, v1alpha1.FollowWorkload
	return r
}

// helmApplies applies a Deployment as Helm 4 does: server-side, without force.
func (w *world) helmApplies(d *appsv1.Deployment) {
	w.Helper()
	if err := w.tryApply("helm", d); err != nil {
		w.Fatalf("helm: %v", err)
	}
}

func (w *world) tryApply(manager string, d *appsv1.Deployment, options ...client.ApplyOption) error {
	d.APIVersion, d.Kind = "apps/v1", "Deployment"
	object := &unstructured.Unstructured{Object: withoutStatus(d)}
	object.SetNamespace(w.namespace)
	return w.Apply(w.Context(), client.ApplyConfigurationFromUnstructured(object), append(options, client.FieldOwner(manager))...)
}

// TestFollow: whoever applies a new template to a followed Deployment starts its release, in
// batches. While it is held, the same apply and one that changes the strategy change nothing of
// that.
func TestFollow(t *testing.T) {
	w := newFollowingWorld(t)
	w.startController()
	chart := func(image string) *appsv1.Deployment { return deployment(4, rolling(1, 0), runsImage(image)) }
	w.helmApplies(chart("web:1"))
	w.await(web.serves("web:1", 4))
	w.create(following(release("web:1", step(1), step("100%", none()))))
	w.await(all(web.completed, web.spec("the label", func(d *appsv1.Deployment) bool { return d.Labels[v1alpha1.FollowLabel] == "web" })))
	w.helmApplies(chart("web:2"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.helmApplies(chart("web:2"))
	w.helmApplies(deployment(4, rolling(2, 0), runsImage("web:2")))
	w.lookedAgain()
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}), web.takenOver))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
	wantStrategy(t, w.now(), chart("web:2"))
	w.helmApplies(chart("web:3"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
}

// TestFollowRolledBack: a rollback of a followed Deployment moves its pods back. The tool that
// applies the bad template again, in the rollback and after it, has it held, and not released. A
// revert, which applies the version before, ends that; and so does another version.
func TestFollowRolledBack(t *testing.T) {
	w := newFollowingWorld(t)
	w.startController()
	chart := func(image string) *appsv1.Deployment { return deployment(4, rolling(1, 0), runsImage(image)) }
	w.helmApplies(chart("web:1"))
	w.await(web.serves("web:1", 4))
	w.create(following(release("web:1", step(1), step("100%", none()))))
	w.await(web.completed)
	w.helmApplies(chart("web:2"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.rollBack()
	w.await(web.phase(v1alpha1.PhaseRollingBack))
	w.helmApplies(chart("web:2"))
	w.await(all(web.completed, web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 4), web.quarantined))
	w.helmApplies(chart("web:2"))
	w.lookedAgain()
	w.await(all(web.completed, web.quarantined, web.serves("web:1", 4), web.attempt(3)))
	w.scale("6")
	w.await(all(web.completed, web.serves("web:1", 6)))
	w.scale("4")
	w.helmApplies(chart("web:1"))
	w.await(all(web.completed, web.serves("web:1", 4), web.withoutCondition(v1alpha1.ConditionQuarantined)))
	w.await(web.spec("to be as in its chart", func(d *appsv1.Deployment) bool { return !d.Spec.Paused }))
	w.helmApplies(chart("web:2"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
}

// TestFollowSuperseded: a new template in mid-release starts over, one that was stable goes back at
// once, and the release goes on after a time without a controller.
func TestFollowSuperseded(t *testing.T) {
	w := newFollowingWorld(t)
	c := w.startController()
	chart := func(image string) *appsv1.Deployment { return deployment(4, rolling(1, 0), runsImage(image)) }
	w.helmApplies(chart("web:1"))
	w.await(web.serves("web:1", 4))
	w.create(following(release("web:1", step(1), step("100%", none()))))
	w.await(web.completed)
	w.helmApplies(chart("web:2"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.helmApplies(chart("web:3"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:3": 1})))
	w.helmApplies(chart("web:1"))
	w.await(all(web.completed, web.serves("web:1", 4), web.rolledBack(v1alpha1.TriggerGitRevert, "")))
	c.kill()
	w.helmApplies(chart("web:4"))
	w.scale("5")
	w.await(web.serves("web:1", 5))
	w.startController()
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 4, "web:4": 1})))
}

// TestFollowLetGo: a release that is deleted while a template waits leaves the stable one, and its
// label goes.
func TestFollowLetGo(t *testing.T) {
	w := newFollowingWorld(t)
	w.startController()
	chart := func(image string) *appsv1.Deployment { return deployment(4, rolling(1, 0), runsImage(image)) }
	w.helmApplies(chart("web:1"))
	w.await(web.serves("web:1", 4))
	w.create(following(release("web:1", step(1), step("100%", none()))))
	w.await(web.completed)
	w.suspend(true)
	w.helmApplies(chart("web:2"))
	w.await(web.status("to wait", func(s *v1alpha1.BatchReleaseStatus) bool { return s.State == v1alpha1.StateWaiting }))
	w.drop(named[v1alpha1.BatchRelease]("web"))
	w.await(all(web.serves("web:1", 4), web.spec("nothing of a release", func(d *appsv1.Deployment) bool {
		_, waits := d.Annotations[v1alpha1.WaitingAnnotation]
		return d.Labels[v1alpha1.FollowLabel] == "" && !waits && !d.Spec.Paused && imageOf(d) == "web:1"
	})))
}
