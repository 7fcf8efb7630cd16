package lifecycle_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/approvals/lifecycle"
)

// jobWorld is a gate, and the Job that it may have.
type jobWorld struct {
	process
	gate    *v1alpha1.Gate
	release *v1alpha1.BatchRelease
	job     *batchv1.Job
	// made counts the Jobs that were created, ran those that were let run.
	made, ran int
}

func newJobWorld(t *testing.T, crash int) *jobWorld {
	template := `{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"m","image":"m:1"}]}}}}`
	g := &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7f-1-0-0", UID: "gate"}, Spec: v1alpha1.GateSpec{
		ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "release"}, Revision: "7f", Attempt: 1, Type: v1alpha1.GateJob,
		Policy: v1alpha1.GatePolicy{Job: &v1alpha1.JobGate{Name: "m", Template: &runtime.RawExtension{Raw: []byte(template)}}},
	}}
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "release"}}
	release.Spec.Strategy.Steps = []v1alpha1.Step{{Gates: []v1alpha1.GatePolicy{g.Spec.Policy}}}
	release.Status.Attempt, release.Status.UpdateRevision = 1, "7f"
	release.Status.Gates = []v1alpha1.GateReference{{Name: g.Name, Type: v1alpha1.GateJob}}
	return &jobWorld{process: process{TB: t, crash: crash}, gate: g, release: release}
}

// pass carries out one pass of a process.
func (w *jobWorld) pass() error {
	facts := lifecycle.GateFacts{Facts: gate.Facts{Release: w.release, Job: &gate.JobFacts{Job: w.job}}}
	decision := gate.Evaluate(w.gate, facts.Facts, start)
	facts.Decision = &decision
	for _, intent := range lifecycle.NextOfJob(w.gate, facts) {
		if err := w.does(func() { w.do(intent) }); err != nil {
			return err
		}
	}
	return nil
}

func (w *jobWorld) do(intent lifecycle.JobIntent) {
	switch intent := intent.(type) {
	case lifecycle.CreateJob:
		w.made++
		w.job = &batchv1.Job{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(intent.Job.Object, w.job); err != nil {
			w.Fatal(err)
		}
		w.job.UID = types.UID(fmt.Sprint("job ", w.made))
	case lifecycle.KeepJob:
		w.gate.Status = intent.Status
		w.gate.Status.Job = &intent.Job
	case lifecycle.StartJob:
		w.ran++
		w.job.Spec.Suspend = new(false)
	case lifecycle.RecordJobGate:
		w.gate.Status = intent.Status
	case lifecycle.RetireJob:
		w.job.Spec.TTLSecondsAfterFinished = &intent.Seconds
	}
}

// TestJobRunsOnce: wherever processes die, and whenever somebody deletes the Job, it runs at most
// once. The gate passes only if it ran to its end, and always gets a decision.
func TestJobRunsOnce(t *testing.T) {
	t.Parallel()
	for crash := range 8 {
		for deleted := range 10 {
			w := newJobWorld(t, crash)
			finished := false
			for pass := range 12 {
				if pass == deleted && !finished {
					w.job = nil
				}
				_ = w.pass() // a process that died is followed by another one
				if w.job != nil && !*w.job.Spec.Suspend && !finished && pass > 6 {
					finished = true
					w.job.Status.Conditions = []batchv1.JobCondition{{
						Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(start.Add(time.Second)),
					}}
				}
			}
			if w.ran > 1 {
				t.Errorf("crash %d, deleted %d: the Job ran %d times", crash, deleted, w.ran)
			}
			if passed := w.gate.Status.Decision == v1alpha1.DecisionPassed; passed != finished || !gate.Decided(w.gate) {
				t.Errorf("crash %d, deleted %d: finished %t, decided %s: %s", crash, deleted, finished, w.gate.Status.Decision, w.gate.Status.Message)
			}
			if finished && (w.job.Spec.TTLSecondsAfterFinished == nil || w.gate.Status.Job.UID != w.job.UID) {
				t.Errorf("crash %d, deleted %d: want the Job on record, and to go some time", crash, deleted)
			}
		}
	}
}

// TestJobOfGateThatNobodyAwaits: nothing is created or started for it.
func TestJobOfGateThatNobodyAwaits(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t, 0)
	w.release.Status.Attempt = 2
	for range 3 {
		_ = w.pass()
	}
	if w.made > 0 || w.gate.Status.Decision != "" {
		t.Errorf("want nothing done, got %d Jobs and %s", w.made, w.gate.Status.Decision)
	}
}

// TestForcedJobGate: a gate that was forced starts no Job.
func TestForcedJobGate(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t, 0)
	_ = w.pass()
	w.gate.Status.Force = &v1alpha1.Force{By: "ada", Reason: "now"}
	for range 3 {
		_ = w.pass()
	}
	if w.ran > 0 || w.gate.Status.Decision != v1alpha1.DecisionPassed {
		t.Errorf("want the gate passed and no Job run, got %s, %d", w.gate.Status.Decision, w.ran)
	}
}

// TestAnotherJob: a Job that names the gate as its owner and does something else is not kept.
func TestAnotherJob(t *testing.T) {
	t.Parallel()
	w := newJobWorld(t, 0)
	if err := w.pass(); err != nil || w.job == nil {
		t.Fatal(err)
	}
	facts := lifecycle.GateFacts{Facts: gate.Facts{Release: w.release, Job: &gate.JobFacts{Job: w.job, Another: true}}}
	decision := gate.Evaluate(w.gate, facts.Facts, start)
	facts.Decision = &decision
	for _, intent := range lifecycle.NextOfJob(w.gate, facts) {
		if record, is := intent.(lifecycle.RecordJobGate); !is || !strings.Contains(record.Status.Message, "is not of this gate") {
			t.Errorf("want nothing but a message, got %#v", intent)
		}
	}
}
