package journeys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// runJobs lets controllers run Jobs in the namespace.
func (w *world) runJobs() {
	w.Helper()
	w.applyShipped("components/job/role.yaml")
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "sluice-job"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sluice-job"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "sluice-system", Name: "sluice-controller"}},
	})
}

// jobGate returns a gate with a Job whose pod behaves as given: it succeeds if that is empty.
func jobGate(behaviour string, change ...func(*batchv1.JobTemplateSpec)) v1alpha1.GatePolicy {
	var template batchv1.JobTemplateSpec
	template.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "migrate", Image: "migrate:2"}},
	}
	if behaviour != "" {
		template.Spec.Template.Annotations = map[string]string{controlplane.BehaviourAnnotation: behaviour}
	}
	for _, c := range change {
		c(&template)
	}
	return v1alpha1.GatePolicy{Job: &v1alpha1.JobGate{Name: "migrate", Template: &runtime.RawExtension{Raw: encode(template)}}}
}

// jobs returns the Jobs of the namespace.
func (w *world) jobs() []batchv1.Job {
	w.Helper()
	var jobs batchv1.JobList
	if err := w.List(w.Context(), &jobs, client.InNamespace(w.namespace)); err != nil {
		w.Fatalf("list Jobs: %v", err)
	}
	return jobs.Items
}

// gateSaid waits for a decision on the job gate of a step, and returns the gate.
func (w *world) gateSaid(step int32, decision v1alpha1.Decision, says string) *v1alpha1.Gate {
	w.Helper()
	var found *v1alpha1.Gate
	w.await(func(s *scene) error {
		last := "none"
		for _, g := range s.gates {
			if g.Spec.Step != step || g.Spec.Type != v1alpha1.GateJob {
				continue
			}
			if found = g; g.Status.Decision == decision && strings.Contains(g.Status.Message, says) {
				return nil
			}
			last = string(encode(g.Status))
		}
		return fmt.Errorf("want the job gate of step %d %s with %q, got %s", step, decision, says, last)
	})
	return found
}

// TestJobPassesGate: a Job runs before the first pod, and its success lets the release go on. A Job
// after a step does as well. The environment of a Job names its release, step and attempt.
func TestJobPassesGate(t *testing.T) {
	w := newWorld(t)
	w.runJobs()
	w.startController()
	w.deployed(deployment(4))
	w.create(releaseOf(podTemplate("web:2", nil), step(0, jobGate("")), step(1, jobGate("")), step("100%")))
	w.await(all(web.completed, web.serves("web:2", 4)))
	gate := w.gateSaid(0, v1alpha1.DecisionPassed, "has succeeded")
	if len(gate.Status.Evidence) != 1 || gate.Status.Job == nil ||
		!strings.Contains(gate.Status.Evidence[0].Detail, string(gate.Status.Job.UID)) {
		t.Errorf("want the Job with its UID as evidence, got %s", encode(gate.Status))
	}
	cptest.Eventually(t, soon, func() error {
		jobs := w.jobs()
		if len(jobs) != 2 {
			return fmt.Errorf("want a Job for each gate, got %d", len(jobs))
		}
		for i := range jobs {
			if ttl := jobs[i].Spec.TTLSecondsAfterFinished; ttl == nil || *ttl != 86400 {
				return fmt.Errorf("want %s to go a day after its end, got %v", jobs[i].Name, ttl)
			}
		}
		return nil
	})
	for _, job := range w.jobs() {
		env, _ := json.Marshal(job.Spec.Template.Spec.Containers[0].Env)
		for _, says := range []string{`"SLUICE_RELEASE","value":"web"`, `"SLUICE_ATTEMPT","value":"1"`, `"SLUICE_STEP","value":"`, `"SLUICE_NAMESPACE","value":"` + w.namespace} {
			if !strings.Contains(string(env), says) {
				t.Errorf("want %s in the environment, got %s", says, env)
			}
		}
	}
}

// TestJobFails: a Job that fails rejects its gate, and the release holds. Another one runs once the
// gate is deleted.
func TestJobFails(t *testing.T) {
	w := newWorld(t)
	w.runJobs()
	w.startController()
	w.deployed(deployment(4))
	w.create(releaseOf(podTemplate("web:2", nil), step(1, jobGate(controlplane.Fail)), step("100%")))
	first := w.gateSaid(0, v1alpha1.DecisionRejected, "has failed")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	w.kubectl("delete", "gate", first.Name)
	w.await(func(s *scene) error {
		for _, g := range s.gates {
			if g.UID != first.UID && g.Status.Decision == v1alpha1.DecisionRejected && g.Status.Job.UID != first.Status.Job.UID {
				return nil
			}
		}
		return fmt.Errorf("want a second Job to fail")
	})
	w.awaitJobs(1) // the one of the deleted gate is gone
}

// TestJobFailsAndRollsBack: a rejected gate with onReject Rollback brings the old pods back. The
// rollback has a Job of its own.
func TestJobFailsAndRollsBack(t *testing.T) {
	w := newWorld(t)
	w.runJobs()
	w.startController()
	w.deployed(deployment(4))
	failing := jobGate(controlplane.Fail)
	failing.OnReject = v1alpha1.RejectRollback
	r := releaseOf(podTemplate("web:2", nil), step(1, failing), step("100%"))
	r.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: []v1alpha1.Step{step(3, jobGate("")), step("100%")}}
	w.create(r)
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
	w.gateSaid(0, v1alpha1.DecisionPassed, "has succeeded")
}

// awaitJobs waits until there are so many Jobs.
func (w *world) awaitJobs(n int) []batchv1.Job {
	w.Helper()
	var jobs []batchv1.Job
	cptest.Eventually(w, soon, func() error {
		if jobs = w.jobs(); len(jobs) != n {
			return fmt.Errorf("want %d Jobs, got %d", n, len(jobs))
		}
		return nil
	})
	return jobs
}

// TestJobAfterCrash: a controller that dies at any write for a Job leaves one that the next
// controller finds: it runs once.
func TestJobAfterCrash(t *testing.T) {
	for name, at := range map[string]struct {
		method, path string
		moment       moment
	}{
		"BeforeCreation": {http.MethodPost, "/jobs", before},
		"AfterCreation":  {http.MethodPost, "/jobs", after},
		"BeforeStart":    {http.MethodPatch, "/jobs/", before},
		"AfterStart":     {http.MethodPatch, "/jobs/", after},
		"BeforeRecord":   {http.MethodPatch, "/gates/", before},
		"AfterRecord":    {http.MethodPatch, "/gates/", after},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.runJobs()
			first := w.startControllerUntil(func(request *http.Request) moment {
				if request.Method == at.method && strings.Contains(request.URL.Path, at.path) {
					return at.moment
				}
				return goOn
			})
			w.deployed(deployment(4))
			w.create(releaseOf(podTemplate("web:2", nil), step(1, jobGate("")), step("100%")))
			w.await(first.died)
			w.startController()
			w.await(all(web.completed, web.serves("web:2", 4)))
			jobs := w.awaitJobs(1)
			if jobs[0].Status.Succeeded != 1 {
				t.Errorf("want the Job to run once, got %s", encode(jobs[0].Status))
			}
			var created corev1.PodList
			if err := w.List(w.Context(), &created, client.InNamespace(w.namespace), client.HasLabels{batchv1.JobNameLabel}); err != nil || len(created.Items) != 1 {
				t.Errorf("want one pod of Jobs, got %d, %v", len(created.Items), err)
			}
		})
	}
}

// TestJobDeleted: a Job that somebody deletes before it ends rejects its gate, and does not run
// again.
func TestJobDeleted(t *testing.T) {
	w := newWorld(t)
	w.runJobs()
	w.startController()
	w.deployed(deployment(4))
	w.create(releaseOf(podTemplate("web:2", nil), step(1, jobGate(controlplane.NeverReady)), step("100%")))
	gate := w.gateSaid(0, v1alpha1.DecisionWaiting, "runs, until")
	forged := gate.DeepCopy()
	forged.Spec.Policy.Job.Template.Raw = bytes.ReplaceAll(forged.Spec.Policy.Job.Template.Raw, []byte("migrate:2"), []byte("evil:1"))
	if err := w.Update(w.Context(), forged, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "immutable") {
		t.Errorf("want the template of a Gate immutable, got %v", err)
	}
	w.kubectl("delete", "job", gate.Status.Job.Name)
	w.gateSaid(0, v1alpha1.DecisionRejected, "was deleted")
	w.await(web.blocksAt(0))
	w.awaitJobs(0)
}

// TestJobOfAnother: a Job of somebody else under the name counts for nothing, in whatever way it
// resembles that of the gate. Once it is gone the gate has its own.
func TestJobOfAnother(t *testing.T) {
	for name, owned := range map[string]bool{"named": false, "owned": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.runJobs()
			first := w.startControllerUntil(func(request *http.Request) moment {
				if request.Method == http.MethodPost && strings.HasSuffix(request.URL.Path, "/jobs") {
					return before
				}
				return goOn
			})
			w.deployed(deployment(4))
			w.create(releaseOf(podTemplate("web:2", nil), step(1, jobGate("")), step("100%")))
			w.await(first.died)
			gate := w.gateSaid(0, v1alpha1.DecisionWaiting, "creates Job")
			forged := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
				Name: gate.Status.Message[len("creates Job "):], Labels: map[string]string{v1alpha1.GateLabel: string(gate.UID)},
			}}
			if owned {
				owner := metav1.NewControllerRef(gate, v1alpha1.GroupVersion.WithKind("Gate"))
				owner.BlockOwnerDeletion = nil
				forged.OwnerReferences = []metav1.OwnerReference{*owner}
			}
			forged.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "x", Image: "x"}}}
			w.create(forged)
			w.startController()
			w.gateSaid(0, v1alpha1.DecisionWaiting, "is not of this gate")
			w.await(web.blocksAt(0))
			w.kubectl("delete", "job", forged.Name)
			w.await(all(web.completed, web.serves("web:2", 4)))
		})
	}
}

// TestJobSuperseded: a new template deletes the Job of the one before, with its pods.
func TestJobSuperseded(t *testing.T) {
	w := newWorld(t)
	w.runJobs()
	w.startController()
	w.deployed(deployment(4))
	r := releaseOf(podTemplate("web:2", nil), step(1, jobGate(controlplane.NeverReady)), step("100%"))
	w.create(r)
	w.gateSaid(0, v1alpha1.DecisionWaiting, "runs, until")
	before := w.awaitJobs(1)[0]
	w.kubectl("patch", "batchrelease", "web", "--type=merge", "-p",
		fmt.Sprintf(`{"spec":{"template":%s,"strategy":{"steps":%s}}}`, encode(podTemplate("web:3", nil)), encode([]v1alpha1.Step{step(1, jobGate("")), step("100%")})))
	w.await(all(web.completed, web.serves("web:3", 4)))
	if jobs := w.awaitJobs(1); jobs[0].UID == before.UID {
		t.Error("want the Job of the earlier template gone")
	}
	w.await(func(s *scene) error {
		for _, pod := range s.pods {
			if metav1.IsControlledBy(pod, &before) {
				return fmt.Errorf("want no pod of the earlier Job, got %s", pod.Name)
			}
		}
		return nil
	})
}

// TestJobDeadline: a Job that takes longer than its deadline rejects its gate.
func TestJobDeadline(t *testing.T) {
	w := newWorld(t)
	w.runJobs()
	w.startController()
	w.deployed(deployment(4))
	slow := jobGate(controlplane.ImagePullFailure)
	slow.Job.Deadline = &metav1.Duration{Duration: time.Second}
	w.create(releaseOf(podTemplate("web:2", nil), step(1, slow), step("100%")))
	w.gateSaid(0, v1alpha1.DecisionRejected, "longer than specified deadline")
	w.await(web.blocksAt(0))
}

// TestJobWithoutRight: a controller that may not run Jobs says so on the gate, and serves all else.
func TestJobWithoutRight(t *testing.T) {
	w := newWorld(t)
	w.start(&controller{mayLack: "/jobs"})
	w.deployed(deployment(4))
	w.create(releaseOf(podTemplate("web:2", nil), step(1, jobGate("")), step("100%")))
	w.gateSaid(0, v1alpha1.DecisionWaiting, "config/components/job")
	w.kubectl("patch", "batchrelease", "web", "--type=merge", "-p", `{"spec":{"strategy":{"steps":[{"replicas":1},{"replicas":"100%"}]}}}`)
	w.await(web.blocksAt(0))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 4)))
}

// TestJobTemplateTriesAll: names, owners, suspension and the time to live in a template have no
// effect before the end of the Job is on record.
func TestJobTemplateTriesAll(t *testing.T) {
	w := newWorld(t)
	w.runJobs()
	w.startController()
	w.deployed(deployment(4))
	w.create(releaseOf(podTemplate("web:2", nil), step(1, jobGate("", func(j *batchv1.JobTemplateSpec) {
		j.Name, j.Namespace, j.GenerateName = "other", "kube-system", "any-"
		j.Finalizers = []string{"example.com/stay"}
		j.Labels = map[string]string{v1alpha1.GateLabel: "other", v1alpha1.ReleaseLabel: "other", "app": "migrate"}
		j.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "x", UID: "x", Controller: new(true)}}
		j.Spec.Suspend, j.Spec.TTLSecondsAfterFinished = new(true), new(int32(0))
		j.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "SLUICE_STEP", Value: "mine"}}
	})), step("100%")))
	w.await(all(web.completed, web.serves("web:2", 4)))
	w.gateSaid(0, v1alpha1.DecisionPassed, "has succeeded")
	w.awaitJobs(0) // it lives for no time, once that is on record
}

// TestJobNeedsItsRight: with the policy only a user who may create Jobs adds or changes a job gate
// of a release. Others may change the rest, and take a gate out.
func TestJobNeedsItsRight(t *testing.T) {
	w := newWorld(t)
	w.applyShipped("policy/jobs.yaml")
	bound := &admissionv1.ValidatingAdmissionPolicyBinding{}
	w.bind("policy/jobs_binding.yaml", w.namespace+"-jobs", bound, &bound.Spec.MatchResources)
	w.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "releaser"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"batchreleases"}, Verbs: []string{"get", "create", "patch"},
	}}})
	ofAda := []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "ada"}}
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "releaser"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "releaser"}, Subjects: ofAda,
	})
	cfg := cptest.Config(t)
	cfg.Impersonate.UserName = "ada"
	ada, err := client.New(cfg, cptest.ClientOptions(t, cfg))
	if err != nil {
		t.Fatal(err)
	}
	with := releaseOf(podTemplate("web:1", nil), step(1, jobGate("")), step("100%"))
	with.Namespace = w.namespace
	cptest.Eventually(t, soon, func() error {
		if err := ada.Create(t.Context(), with.DeepCopy(), client.DryRunAll); err == nil || !strings.Contains(err.Error(), "needs the right to create Jobs") {
			return errors.Join(errors.New("want a release with a job gate refused"), err)
		}
		return nil
	})
	without := releaseOf(podTemplate("web:1", nil), step(1), step("100%"))
	without.Namespace = w.namespace
	if err := ada.Create(t.Context(), without.DeepCopy(), client.DryRunAll); err != nil {
		t.Errorf("want a release without a job gate taken: %v", err)
	}
	w.create(with)
	try := func(patch string) error {
		return ada.Patch(t.Context(), with.DeepCopy(), mergePatch(patch), client.DryRunAll)
	}
	steps := func(image string) string {
		changed := jobGate("", func(j *batchv1.JobTemplateSpec) { j.Spec.Template.Spec.Containers[0].Image = image })
		return fmt.Sprintf(`{"spec":{"strategy":{"steps":%s}}}`, encode([]v1alpha1.Step{step(1, changed), step("100%")}))
	}
	for name, tc := range map[string]struct {
		patch string
		taken bool
	}{
		"suspend":              {`{"spec":{"suspend":true}}`, true},
		"the same gate":        {steps("migrate:2"), true},
		"another image":        {steps("evil:1"), false},
		"no gate":              {`{"spec":{"strategy":{"steps":[{"replicas":"100%"}]}}}`, true},
		"a gate of a rollback": {fmt.Sprintf(`{"spec":{"rollback":{"steps":%s}}}`, encode([]v1alpha1.Step{step(1, jobGate(controlplane.Fail)), step("100%")})), false},
	} {
		if err := try(tc.patch); (err == nil) != tc.taken {
			t.Errorf("%s: want taken %t, got %v", name, tc.taken, err)
		}
	}
	w.create(&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "runner"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"batch"}, Resources: []string{"jobs"}, Verbs: []string{"create"},
	}}})
	w.create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "runner"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "runner"}, Subjects: ofAda,
	})
	cptest.Eventually(t, soon, func() error { return try(steps("evil:1")) })
}
