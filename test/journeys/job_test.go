package journeys

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

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
// after a step does as well. What a Job finds in its environment says what it runs for.
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

