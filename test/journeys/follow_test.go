package journeys

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// newFollowingWorld returns a world in which the policies of config/follow act, beside those of
// config/policy.
func newFollowingWorld(t *testing.T) *world {
	t.Helper()
	w := newGuardedWorld(t)
	w.holdTemplates()
	return w
}

// holdTemplates binds the policies about followed workloads to the namespace of the journey.
func (w *world) holdTemplates() {
	w.Helper()
	for policy, binding := range map[string]string{"follow/followed.yaml": "follow/followed_binding.yaml", "follow/own.yaml": "follow/own_binding.yaml"} {
		w.applyShipped(policy)
		bound := &admissionv1.MutatingAdmissionPolicyBinding{}
		w.bind(binding, w.namespace+"-"+strings.TrimSuffix(filepath.Base(policy), ".yaml"), bound, &bound.Spec.MatchResources)
	}
	w.awaitHeld(true)
}

// awaitHeld waits until both policies about followed workloads act, or neither does: the API server
// takes up their bindings one by one.
func (w *world) awaitHeld(held bool) {
	w.Helper()
	probe := deployment(0)
	probe.Name, probe.Labels = "probe", map[string]string{v1alpha1.FollowLabel: "probe"}
	w.create(probe)
	cptest.Eventually(w, soon, func() error {
		applied, err := w.dryRun(probe, `{"spec":{"template":{"metadata":{"annotations":{"new":"1"}}}}}`)
		if err != nil {
			return err
		}
		own, err := w.dryRun(probe, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q,%q:%q}}}`,
			v1alpha1.BreakGlassAnnotation, "sluice handback", v1alpha1.GuardAnnotation, v1alpha1.Unguarded))
		if err != nil {
			return err
		}
		if guarded := own.Annotations[v1alpha1.GuardAnnotation] == v1alpha1.Guarded; applied.Spec.Paused != held || guarded != held {
			return fmt.Errorf("want policies that act: %t; a new template is held: %t, an own write is noted: %t", held, applied.Spec.Paused, guarded)
		}
		return nil
	})
	if err := w.Delete(w.Context(), probe); err != nil {
		w.Fatalf("delete probe: %v", err)
	}
}

// dryRun returns a deployment as a patch would leave it.
func (w *world) dryRun(d *appsv1.Deployment, patch string) (*appsv1.Deployment, error) {
	tried := d.DeepCopy()
	return tried, w.Patch(w.Context(), tried, strategicPatch(patch), client.DryRunAll)
}

// following returns a release that follows its workload.
func following(r *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	r.Spec.Template, r.Spec.Follow = nil, v1alpha1.FollowWorkload
	return r
}

// tool applies a workload in a version, over and over, as Helm 4 does: server-side, without force.
type tool struct {
	*world

	kind string
	// chart returns the workload as its chart has it.
	chart func(image string) client.Object
}

// charts returns what a tool applies, by kind: each chart sets the strategy.
func (w *world) charts() map[string]func(string) client.Object {
	return map[string]func(string) client.Object{
		"Deployment": func(image string) client.Object { return deployment(4, rolling(1, 0), runsImage(image)) },
		"StatefulSet": func(image string) client.Object {
			set := statefulSet(4)
			set.Spec.Template = podTemplate(image, nil)
			set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32)},
			}
			return set
		},
		"DaemonSet": func(image string) client.Object {
			return w.daemonSet(func(d *appsv1.DaemonSet) { d.Spec.Template = w.onEachOwnNode(image, nil) })
		},
	}
}

// onFollowed runs a journey for each kind. It begins with a followed workload of four pods of web:1
// whose release has two steps.
func onFollowed(t *testing.T, journey func(h tool)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []string{"Deployment", "StatefulSet", "DaemonSet"} {
		t.Run(kind, func(t *testing.T) {
			w := newFollowingWorld(t)
			if kind == "DaemonSet" {
				w.ownNodes(4)
			}
			h := tool{w, kind, w.charts()[kind]}
			w.startController()
			h.applies("web:1")
			w.await(web.serves("web:1", 4))
			w.create(following(releaseTo(kind, corev1.PodTemplateSpec{}, step(1), step("100%", none()))))
			w.await(all(web.completed, labelled))
			journey(h)
		})
	}
}

// labelled wants the workload to have the label of its release.
func labelled(s *scene) error {
	if workload := s.workload("web"); workload == nil || workload.GetLabels()[v1alpha1.FollowLabel] != "web" {
		return errors.New("want the label of a followed workload")
	}
	return nil
}

// asInChart wants the workload to have what its chart has, and nothing of Sluice but the label.
func (h tool) asInChart(image string) check {
	return func(s *scene) error {
		live := s.workload("web")
		_, waits := live.GetAnnotations()[v1alpha1.WaitingAnnotation]
		have, want := rollingOf(live), rollingOf(h.chart(image))
		if waits || !cmp.Equal(have, want) {
			return fmt.Errorf("want the strategy of the chart, %s, and no template that waits; have %s, waits: %t", want, have, waits)
		}
		return nil
	}
}

// rollingOf returns what lets a native controller roll, as text.
func rollingOf(object client.Object) string {
	switch o := object.(type) {
	case *appsv1.Deployment:
		return fmt.Sprintf("paused %t %s", o.Spec.Paused, encode(o.Spec.Strategy))
	case *appsv1.StatefulSet:
		return string(encode(o.Spec.UpdateStrategy))
	case *appsv1.DaemonSet:
		return string(encode(o.Spec.UpdateStrategy))
	default:
		return ""
	}
}

// applies applies the chart in a version.
func (h tool) applies(image string) {
	h.Helper()
	if err := h.tryApply(h.chart(image)); err != nil {
		h.Fatalf("helm: %v", err)
	}
}

func (h tool) tryApply(workload client.Object, options ...client.ApplyOption) error {
	workload.GetObjectKind().SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind(h.kind))
	object := &unstructured.Unstructured{Object: withoutStatus(workload)}
	object.SetNamespace(h.namespace)
	return h.Apply(h.Context(), client.ApplyConfigurationFromUnstructured(object), append(options, client.FieldOwner("helm"))...)
}

// TestFollow: a new template that a tool applies to a followed workload starts its release, in
// batches. While it is held, the same apply and one that changes the strategy change nothing of
// that.
func TestFollow(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.applies("web:2")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		h.applies("web:2")
		if h.kind == "Deployment" {
			if err := h.tryApply(deployment(4, rolling(2, 0), runsImage("web:2"))); err != nil {
				h.Fatal(err)
			}
		}
		h.lookedAgain()
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}), web.takenOver))
		named := "revision"
		if h.kind == "DaemonSet" {
			named = "a new template"
		}
		h.awaitEvent(v1alpha1.ReasonTakingOver, named)
		h.confirm("web")
		h.await(all(web.completed, web.serves("web:2", 4), h.asInChart("web:2")))
		h.applies("web:2")
		h.applies("web:3")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:2": 3, "web:3": 1})))
	})
}

// TestFollowRolledBack: a rollback of a followed workload moves its pods back. The bad template
// that a tool applies again, in the rollback and after it, is held, and not released. A revert,
// which applies the version before, ends that; and so does another version.
func TestFollowRolledBack(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.applies("web:2")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		h.rollBack()
		h.await(web.phase(v1alpha1.PhaseRollingBack))
		h.applies("web:2")
		h.await(all(web.completed, web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 4), web.quarantined))
		h.applies("web:2")
		h.lookedAgain()
		h.await(all(web.completed, web.quarantined, web.serves("web:1", 4), web.attempt(3)))
		if h.kind != "DaemonSet" {
			h.await(web.status("the template that is applied again", func(s *v1alpha1.BatchReleaseStatus) bool {
				return strings.Contains(s.Message, "applied again, and is not released")
			}))
			h.kubectl("scale", h.kind, "web", "--replicas=6")
			h.await(all(web.completed, web.serves("web:1", 6)))
			h.kubectl("scale", h.kind, "web", "--replicas=4")
		}
		if h.kind == "DaemonSet" { // it was put back, and to apply it again changes nothing
			h.applies("web:3")
			h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:3": 1})))
			return
		}
		h.applies("web:1")
		h.await(all(web.completed, web.serves("web:1", 4), web.withoutCondition(v1alpha1.ConditionQuarantined), h.asInChart("web:1")))
		h.applies("web:2")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		h.confirm("web")
		h.await(all(web.completed, web.serves("web:2", 4)))
	})
}

// TestFollowSuperseded: a new template in mid-release starts over, one that was stable goes back at
// once, and what was applied while there was no controller is released when there is one again.
func TestFollowSuperseded(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.applies("web:2")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		h.applies("web:3")
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:3": 1})))
		h.applies("web:1")
		h.await(all(web.completed, web.serves("web:1", 4), web.rolledBack(v1alpha1.TriggerGitRevert, "")))
		h.controllers[0].kill()
		h.applies("web:4")
		h.startController()
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:4": 1})))
	})
}

// TestFollowLetGo: a release that is deleted while a template waits leaves the stable one, and its
// label goes.
func TestFollowLetGo(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.suspend(true)
		h.applies("web:2")
		h.await(web.status("to wait", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Queued != nil }))
		h.drop(named[v1alpha1.BatchRelease]("web"))
		h.await(all(web.serves("web:1", 4), h.asInChart("web:1"), func(s *scene) error {
			if labelled(s) == nil || s.releases["web"] != nil {
				return errors.New("want no release and no label of one")
			}
			return nil
		}))
	})
}

// TestFollowHandedBack: without a controller, sluice handback takes workloads from their
// releases. A template that waits gives way to the stable one, and so does one in mid-release.
func TestFollowHandedBack(t *testing.T) {
	for name, suspended := range map[string]bool{"waiting": true, "in mid-release": false} {
		t.Run(name, func(t *testing.T) {
			onFollowed(t, func(h tool) {
				h.suspend(suspended)
				h.applies("web:2")
				if suspended {
					h.await(web.status("to wait", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Queued != nil }))
				} else {
					h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
				}
				h.controllers[0].kill()
				h.handBackAll(handback.Options{})
				h.await(all(web.serves("web:1", 4), h.asInChart("web:1"), func(s *scene) error {
					if labelled(s) == nil || held(s.workload("web")) {
						return errors.New("want neither a hold nor a label")
					}
					return nil
				}))
			})
		})
	}
}

// TestFollowOrigin: annotations of the workload name the origin of its template, and nothing stays
// of the one before.
func TestFollowOrigin(t *testing.T) {
	onFollowed(t, func(h tool) {
		chart := h.chart
		h.chart = func(image string) client.Object {
			object := chart(image)
			object.SetAnnotations(map[string]string{v1alpha1.CommitAnnotation: secondCommit, v1alpha1.AuthorAnnotation: "Ada\x1b[31m", v1alpha1.SubjectAnnotation: "Second"})
			return object
		}
		h.applies("web:2")
		h.await(all(web.blocksAt(0), web.status("the commit", func(s *v1alpha1.BatchReleaseStatus) bool {
			return s.Commit == secondCommit && s.CommitSubject == "Second" && strings.HasPrefix(s.CommitAuthor, "Ada") && !strings.Contains(s.CommitAuthor, "\x1b")
		})))
		h.chart = func(image string) client.Object {
			object := chart(image)
			object.SetAnnotations(map[string]string{v1alpha1.CommitAnnotation: "../main", "meta.helm.sh/release-name": "shop"})
			object.SetLabels(map[string]string{"helm.sh/chart": "web-1.2.3"})
			return object
		}
		h.applies("web:3")
		h.await(all(web.blocksAt(0), web.status("the Helm release", func(s *v1alpha1.BatchReleaseStatus) bool {
			return s.Commit == "" && s.CommitAuthor == "" && s.CommitSubject == "Helm release shop, web-1.2.3"
		})))
	})
}

// TestFollowAttacked: a user who may write a followed workload gets no pod past its release by
// taking away the label, the notes or the hold, by forging them, or by letting the native
// controller loose, in one write with a new template.
func TestFollowAttacked(t *testing.T) {
	onFollowed(t, func(h tool) {
		bare := func(image string, annotations map[string]string) {
			h.Helper()
			object := h.mine(h.chart(image))
			object.SetAnnotations(annotations)
			if err := h.Update(h.Context(), object); err != nil { // as kubectl replace
				h.Fatal(err)
			}
		}
		h.suspend(true)
		bare("web:2", nil)
		h.await(web.status("to wait", func(s *v1alpha1.BatchReleaseStatus) bool { return s.Queued != nil }))
		bare("web:2", map[string]string{v1alpha1.WaitingAnnotation: "false", v1alpha1.GuardAnnotation: "none"})
		h.await(all(labelled, web.serves("web:1", 4)))
		h.suspend(false)
		bare("web:2", map[string]string{v1alpha1.WaitingAnnotation: `{"type":"Evil"}`})
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		bare("web:2", nil)
		bare("web:2", map[string]string{v1alpha1.HoldAnnotation: `{"release":"other","uid":"1"}`})
		h.lookedAgain()
		h.await(all(labelled, web.takenOver, web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
		h.confirm("web")
		h.await(all(web.completed, web.serves("web:2", 4)))
	})
}

// TestFollowShared: of two releases that follow one workload the first follows it, and the other
// says so and writes nothing.
func TestFollowShared(t *testing.T) {
	onFollowed(t, func(h tool) {
		second := following(releaseTo(h.kind, corev1.PodTemplateSpec{}, step("100%", none())))
		second.Name = "z-other"
		h.create(second)
		h.await(all(stalls("z-other", v1alpha1.ReasonWorkloadShared, "only that one follows it"), func(s *scene) error {
			if status := s.releases["z-other"].Status; status.Reason != v1alpha1.ReasonWorkloadShared || !strings.Contains(status.Message, "delete one of the two") {
				return fmt.Errorf("want a status that says so, have %s: %s", status.Reason, status.Message)
			}
			return nil
		}))
		h.applies("web:2")
		h.await(all(labelled, web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	})
}

// TestFollowUnguarded: without a policy that holds new templates a release changes nothing, and
// says so. A manifest that keeps the native controller from rolling does instead.
func TestFollowUnguarded(t *testing.T) {
	w := newWorld(t)
	w.startController()
	h := tool{w, "Deployment", func(image string) client.Object { return deployment(4, rolling(1, 0), runsImage(image)) }}
	h.applies("web:1")
	w.await(web.serves("web:1", 4))
	w.create(following(release("web:1", step(1), step("100%", none()))))
	w.await(stalls("web", v1alpha1.ReasonUnguarded, "spec.paused: true"))
	if err := labelled(w.now()); err == nil {
		t.Error("want no label where no policy acts on it")
	}
	h.chart = func(image string) client.Object {
		return deployment(4, rolling(1, 0), runsImage(image), func(d *appsv1.Deployment) { d.Spec.Paused = true })
	}
	h.applies("web:1")
	w.await(web.completed)
	h.applies("web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4), h.asInChart("web:2")))
}
