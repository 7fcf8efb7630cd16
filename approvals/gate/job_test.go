package gate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const smallJob = `{"spec":{"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"m","image":"m:1"}]}}}}`

// jobScene returns a job gate that its release waits for, and the release.
func jobScene(template string) (*v1alpha1.Gate, *v1alpha1.BatchRelease) {
	policy := v1alpha1.GatePolicy{Job: &v1alpha1.JobGate{Name: "migrate", Template: &runtime.RawExtension{Raw: []byte(template)}}}
	g := &v1alpha1.Gate{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-7f-1-0-0", UID: "gate"},
		Spec: v1alpha1.GateSpec{
			ReleaseRef: v1alpha1.ReleaseReference{Name: "web", UID: "release"}, Revision: "7f", Attempt: 1, Commit: "c0ffee",
			Type: v1alpha1.GateJob, Policy: policy,
		},
	}
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "release"}}
	release.Spec.Strategy.Steps = []v1alpha1.Step{{Gates: []v1alpha1.GatePolicy{policy}}}
	release.Status.Attempt, release.Status.UpdateRevision = 1, "7f"
	release.Status.Gates = []v1alpha1.GateReference{{Name: g.Name, Type: v1alpha1.GateJob}}
	return g, release
}

// observed returns the Job of a gate as it is after changes.
func observed(g *v1alpha1.Gate, changes ...func(*batchv1.Job)) *batchv1.Job {
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: JobName(g), UID: "job"}}
	job.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(g, v1alpha1.GroupVersion.WithKind("Gate"))}
	job.Spec.Suspend, job.Spec.ActiveDeadlineSeconds = new(false), new(int64(600))
	for _, change := range changes {
		change(job)
	}
	return job
}

func ended(of batchv1.JobConditionType, reason, message string) func(*batchv1.Job) {
	return func(job *batchv1.Job) {
		at := metav1.NewTime(time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC))
		job.Status.CompletionTime = &at
		job.Status.Conditions = append(job.Status.Conditions, batchv1.JobCondition{
			Type: of, Status: corev1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: at,
		})
	}
}

func deleted(job *batchv1.Job) { job.DeletionTimestamp = new(metav1.Now()) }

// TestJobDecision: a gate passes only by the success of the Job that is on its record.
func TestJobDecision(t *testing.T) {
	t.Parallel()
	g, release := jobScene(smallJob)
	name := JobName(g)
	known := &v1alpha1.JobReference{Name: name, UID: "job"}
	succeeded := ended(batchv1.JobComplete, "CompletionsReached", "")
	foreign := func(job *batchv1.Job) { job.OwnerReferences = nil }
	of := func(job *batchv1.Job) *JobFacts { return &JobFacts{Job: job} }
	cases := map[string]struct {
		known    *v1alpha1.JobReference
		seen     *JobFacts
		decision v1alpha1.Decision
		says     string
	}{
		"not read":                        {nil, nil, "", ""},
		"none yet":                        {nil, of(nil), v1alpha1.DecisionWaiting, "creates Job " + name},
		"made, not on record":             {nil, of(observed(g)), v1alpha1.DecisionWaiting, "starts Job"},
		"not on record is no evidence":    {nil, of(observed(g, succeeded)), v1alpha1.DecisionWaiting, "starts Job"},
		"starts":                          {known, of(observed(g)), v1alpha1.DecisionWaiting, "starts Job"},
		"runs":                            {known, of(observed(g, func(j *batchv1.Job) { j.Status.StartTime = &metav1.Time{Time: time.Unix(0, 0)} })), v1alpha1.DecisionWaiting, "runs, until 1970-01-01T00:10:00Z"},
		"has succeeded":                   {known, of(observed(g, succeeded)), v1alpha1.DecisionPassed, "has succeeded"},
		"has succeeded, is being deleted": {known, of(observed(g, succeeded, deleted)), v1alpha1.DecisionPassed, "has succeeded"},
		"meets only its criteria":         {known, of(observed(g, ended(batchv1.JobSuccessCriteriaMet, "", ""))), v1alpha1.DecisionWaiting, "starts Job"},
		"has failed":                      {known, &JobFacts{Job: observed(g, ended(batchv1.JobFailed, "BackoffLimitExceeded", "too often")), Log: "boom"}, v1alpha1.DecisionRejected, "has failed: too often; its log ends: boom"},
		"no pod at the deadline":          {known, of(observed(g, ended(batchv1.JobFailed, batchv1.JobReasonDeadlineExceeded, "late"))), v1alpha1.DecisionRejected, "kubectl describe job " + name + " -n shop"},
		"is being deleted":                {known, of(observed(g, deleted)), v1alpha1.DecisionRejected, "was deleted"},
		"is gone":                         {known, of(nil), v1alpha1.DecisionRejected, "was deleted"},
		"another took its name":           {known, of(observed(g, succeeded, func(j *batchv1.Job) { j.UID = "other" })), v1alpha1.DecisionRejected, "was deleted"},
		"another's":                       {nil, of(observed(g, succeeded, foreign)), v1alpha1.DecisionWaiting, "is not of this gate"},
		"another gate's":                  {nil, of(observed(g, succeeded, func(j *batchv1.Job) { j.OwnerReferences[0].UID = "other" })), v1alpha1.DecisionWaiting, "is not of this gate"},
		"refused for now":                 {nil, &JobFacts{Problem: "no right"}, v1alpha1.DecisionWaiting, "no right"},
		"refused for good":                {nil, &JobFacts{Problem: "no Job", Invalid: true}, v1alpha1.DecisionRejected, "no Job"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := g.DeepCopy()
			g.Status.Job = tc.known
			got := Evaluate(g, Facts{Release: release, Job: tc.seen}, made).Status
			if got.Decision != tc.decision || !strings.Contains(got.Message, tc.says) {
				t.Errorf("want %s with %q, got %s with %q", tc.decision, tc.says, got.Decision, got.Message)
			}
			if got.Job != tc.known {
				if diff := cmp.Diff(tc.known, got.Job); diff != "" {
					t.Errorf("want the Job on record kept:\n%s", diff)
				}
			}
			if passed := got.Decision == v1alpha1.DecisionPassed; passed != (len(got.Evidence) == 1 && got.Evidence[0].Kind == EvidenceJobSucceeded) {
				t.Errorf("want evidence of a success alone, got %v", got.Evidence)
			}
		})
	}
}

// TestJobOfAnotherTemplate: a Gate that somebody made in the place of the release's runs no Job.
func TestJobOfAnotherTemplate(t *testing.T) {
	t.Parallel()
	for name, forge := range map[string]func(*v1alpha1.Gate){
		"template": func(g *v1alpha1.Gate) {
			g.Spec.Policy.Job.Template.Raw = []byte(strings.Replace(smallJob, "m:1", "evil:1", 1))
		},
		"step":     func(g *v1alpha1.Gate) { g.Spec.Index = 1 },
		"negative": func(g *v1alpha1.Gate) { g.Spec.Index = -1 },
	} {
		g, release := jobScene(smallJob)
		g = g.DeepCopy()
		release = release.DeepCopy()
		forge(g)
		if got := Evaluate(g, Facts{Release: release, Job: &JobFacts{}}, made).Status; !strings.Contains(got.Message, "does not have this gate") {
			t.Errorf("%s: got %s", name, got.Message)
		}
	}
}

// TestSameJob: generated names make no difference between Jobs, and anything else does.
func TestSameJob(t *testing.T) {
	t.Parallel()
	g, _ := jobScene(smallJob)
	made := &batchv1.Job{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(JobOf(g).Object, made); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		change func(*batchv1.JobSpec)
		same   bool
	}{
		"generated": {func(s *batchv1.JobSpec) {
			s.Selector, s.Template.Labels = &metav1.LabelSelector{}, map[string]string{batchv1.ControllerUidLabel: "u", batchv1.JobNameLabel: "n"}
		}, true},
		"running":  {func(s *batchv1.JobSpec) { s.Suspend = new(false) }, true},
		"command":  {func(s *batchv1.JobSpec) { s.Template.Spec.Containers[0].Command = []string{"true"} }, false},
		"more":     {func(s *batchv1.JobSpec) { s.Template.Spec.ServiceAccountName = "root" }, false},
		"deadline": {func(s *batchv1.JobSpec) { s.ActiveDeadlineSeconds = nil }, false},
		"policy":   {func(s *batchv1.JobSpec) { s.SuccessPolicy = &batchv1.SuccessPolicy{} }, false},
	} {
		other := made.DeepCopy()
		tt.change(&other.Spec)
		if same := SameJob(made, other); same != tt.same {
			t.Errorf("%s: want %t, got %t", name, tt.same, same)
		}
	}
}

// TestJobOf: the Job to create has its own names, owner and limits, whatever the template says, and
// the environment that it does not set.
func TestJobOf(t *testing.T) {
	t.Parallel()
	g, _ := jobScene(`{"metadata":{"name":"x","namespace":"kube-system","generateName":"y-","uid":"z","finalizers":["a/b"],"ownerReferences":[{"uid":"u"}],
		"labels":{"app":"m","rollouts.sluice.dev/gate":"other"},"annotations":{"note":"n","rollouts.sluice.dev/hold":"{}"}},
		"spec":{"suspend":false,"ttlSecondsAfterFinished":0,"activeDeadlineSeconds":7,"newField":{"a":[1]},"template":{"spec":{"restartPolicy":"Never",
		"initContainers":[{"name":"i","image":"i:1"}],"containers":[{"name":"m","image":"m:1","env":[{"name":"SLUICE_COMMIT","value":"mine"},{"name":"URL","value":"$(SLUICE_STEP)"}]}]}}}}`)
	job := JobOf(g)
	text, _ := json.Marshal(job)
	var typed batchv1.Job
	if err := json.Unmarshal(text, &typed); err != nil {
		t.Fatal(err)
	}
	if typed.Name != JobName(g) || typed.Namespace != "shop" || typed.GenerateName != "" || typed.UID != "" || typed.Finalizers != nil {
		t.Errorf("want its own metadata, got %s", text)
	}
	if !RunsFor(&typed, g) || len(typed.OwnerReferences) != 1 || typed.OwnerReferences[0].BlockOwnerDeletion != nil {
		t.Errorf("want the gate as its owner, got %v", typed.OwnerReferences)
	}
	labels := map[string]string{"app": "m", v1alpha1.GateLabel: "gate", v1alpha1.ReleaseLabel: "web", v1alpha1.RevisionLabel: "7f"}
	if diff := cmp.Diff(labels, typed.Labels); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"note": "n"}, typed.Annotations); diff != "" {
		t.Error(diff)
	}
	spec := typed.Spec
	if !*spec.Suspend || spec.TTLSecondsAfterFinished != nil || *spec.ActiveDeadlineSeconds != 7 || *spec.BackoffLimit != 0 {
		t.Errorf("want it suspended, without a time to live, with its deadline and no retries, got %s", text)
	}
	if !strings.Contains(string(text), `"newField":{"a":[1]}`) {
		t.Errorf("want fields kept that are newer than Sluice, got %s", text)
	}
	var env []string
	for _, v := range spec.Template.Spec.Containers[0].Env {
		env = append(env, v.Name+"="+v.Value)
	}
	want := []string{"SLUICE_RELEASE=web", "SLUICE_NAMESPACE=shop", "SLUICE_REVISION=7f", "SLUICE_STEP=1", "SLUICE_ATTEMPT=1", "SLUICE_COMMIT=mine", "URL=$(SLUICE_STEP)"}
	if diff := cmp.Diff(want, env); diff != "" {
		t.Error(diff)
	}
	if n := len(spec.Template.Spec.InitContainers[0].Env); n != 6 {
		t.Errorf("want all variables in init containers, got %d", n)
	}
	if kept := JobKeptSeconds(g); kept != 0 {
		t.Errorf("want the time to live of the template, got %d", kept)
	}
}

// TestJobDeadline: the gate's deadline goes before the template's, and there always is one.
func TestJobDeadline(t *testing.T) {
	t.Parallel()
	g, _ := jobScene(smallJob)
	of := func() any { return JobOf(g).Object["spec"].(map[string]any)["activeDeadlineSeconds"] }
	if got := of(); got != int64(600) {
		t.Errorf("want 10m by default, got %v", got)
	}
	g.Spec.Policy.Job.Template.Raw = []byte(strings.Replace(smallJob, `"spec":{`, `"spec":{"activeDeadlineSeconds":7,`, 1))
	g.Spec.Policy.Job.Deadline = &metav1.Duration{Duration: time.Minute}
	if got := of(); got != int64(60) {
		t.Errorf("want the deadline of the gate, got %v", got)
	}
}

// TestJobName: two gates never share a Job, and the name is a label whatever the policy says.
func TestJobName(t *testing.T) {
	t.Parallel()
	g, _ := jobScene(smallJob)
	other := g.DeepCopy()
	other.UID = "another"
	if JobName(g) == JobName(other) {
		t.Error("want another Job for a gate of the same name")
	}
	g.Spec.Policy.Job.Name, g.Spec.Step = strings.Repeat("a", maxJobName), 49
	if n := len(JobName(g)); n > 63 {
		t.Errorf("want a name of at most 63 characters, got %d", n)
	}
}

// TestValidateJobTemplate: a template is refused with which the gate would be decided by anything
// else than its own pods.
func TestValidateJobTemplate(t *testing.T) {
	t.Parallel()
	with := func(fields string) string { return strings.Replace(smallJob, `"spec":{`, `"spec":{`+fields+`,`, 1) }
	for name, tc := range map[string]struct{ template, at string }{
		"small":              {smallJob, ""},
		"suspended":          {with(`"suspend":true,"ttlSecondsAfterFinished":0`), ""},
		"no completions":     {with(`"completions":0`), "t.spec.completions"},
		"no parallelism":     {with(`"parallelism":0`), "t.spec.parallelism"},
		"manual selector":    {with(`"manualSelector":true`), "t.spec.selector"},
		"selector":           {with(`"selector":{"matchLabels":{"app":"web"}}`), "t.spec.selector"},
		"another controller": {with(`"managedBy":"example.com/x"`), "t.spec.managedBy"},
		"deadline":           {with(`"activeDeadlineSeconds":86401`), "t.spec.activeDeadlineSeconds"},
		"always":             {strings.Replace(smallJob, "Never", "Always", 1), "t.spec.template.spec.restartPolicy"},
		"no containers":      {`{"spec":{"template":{"spec":{"restartPolicy":"Never"}}}}`, "t.spec.template.spec.containers"},
		"no object":          {`7`, "t.spec"},
		"other type":         {with(`"backoffLimit":"x"`), "t.spec"},
		"large":              {with(`"x":"` + strings.Repeat("a", maxJobTemplate) + `"`), "t.spec"},
	} {
		problems := ValidateJobTemplate([]byte(tc.template), field.NewPath("t"))
		fields := []string{""}
		for _, p := range problems {
			fields = append(fields, p.Field)
		}
		if !slices.Contains(fields, tc.at) || tc.at == "" && len(problems) > 0 {
			t.Errorf("%s: want a problem at %q, got %v", name, tc.at, problems)
		}
	}
}

// TestLogTail: the end of a log is on one line, of limited length, and steers no terminal.
func TestLogTail(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprint("line ", i))
	}
	for name, tc := range map[string]struct{ log, want string }{
		"empty":     {"", ""},
		"two lines": {"one\ntwo\n", "one / two"},
		"blanks":    {"one\n\n   \n\ttwo", "one / two"},
		"last ten":  {strings.Join(many, "\n"), strings.Join(many[20:], " / ")},
		"escapes":   {"\x1b[31mred\x1b[0m \x1b]0;title\x07done\x1b[2J", "red done"},
		"carriage":  {"10%\r20%\r\nok", "10% 20% / ok"},
		"direction": {"a\u202eb", "a b"},
		"invalid":   {"a\xff\xfeb", "a�b"},
	} {
		if got := LogTail([]byte(tc.log)); got != tc.want {
			t.Errorf("%s: want %q, got %q", name, tc.want, got)
		}
	}
}

// FuzzLogTail: no log gets more into a message than a line of printable characters.
func FuzzLogTail(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b]0;x\x07\n" + strings.Repeat("a", 10_000)))
	f.Add([]byte(strings.Repeat("\xff\n", 100)))
	f.Fuzz(func(t *testing.T, log []byte) {
		tail := LogTail(log)
		if len(tail) > maxTail || !utf8.ValidString(tail) || strings.IndexFunc(tail, unicode.IsControl) >= 0 {
			t.Errorf("got %d bytes: %q", len(tail), tail)
		}
	})
}
