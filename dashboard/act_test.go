package dashboard

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

var buttonText = regexp.MustCompile(`<a class="button[^"]*" href="[^"]*">([^<]*)</a>`)

// buttons returns the buttons on the page of the release.
func (p *person) buttons() string {
	p.Helper()
	var texts []string
	for _, found := range buttonText.FindAllStringSubmatch(p.get(p.path("")).text, -1) {
		texts = append(texts, found[1])
	}
	return strings.Join(texts, ", ")
}

func (p *person) wantButtons(want string) {
	p.Helper()
	if got := p.buttons(); got != want {
		p.Errorf("%s: want the buttons %q, got %q", p.name, want, got)
	}
}

// TestApproveByButton: an approver reads the effects, approves with a message, and sees a notice;
// the evidence names them. Their text and the commit's is shown as text.
func TestApproveByButton(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	ada, viewer := a.person("ada", "view", "sluice-approver"), a.person("viewer", "view", "sluice-viewer")
	ada.wantButtons("")
	a.push(2)
	ada.wantButtons("Approve, Reject, Jump to a batch")
	viewer.wantButtons("")

	form, page := ada.form("approve")
	want(t, page, "<h1>Approve batch 1 of 3 of web</h1>", "1 manual gate of batch 1 of 3 passes, with your name in the evidence.",
		"batch 2 of 3 begins: 2 pods.", "<strong>manual</strong> gate of batch 1", ada.name, ">Cancel</a>")
	wantNot(t, page, "<script>alert", "<img")
	form.Set("message", hostile)
	after := ada.does("approve", form)
	want(t, after, `<p class="notice good" role="status">You have approved batch 1 of 3.</p>`)
	wantNot(t, after, "<script>alert", "<img")
	a.atBatch(2)
	var gates v1alpha1.GateList
	if err := a.admin.List(t.Context(), &gates, client.InNamespace(a.namespace)); err != nil {
		t.Fatal(err)
	}
	passed := ""
	for i := range gates.Items {
		for _, fact := range gates.Items[i].Status.Evidence {
			passed += fmt.Sprint(fact.Actor, " ", fact.Detail, "\n")
		}
	}
	want(t, passed, ada.name+" "+hostile)

	ada.click("approve")
	a.await("completed", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted })
	if got := ada.get(ada.path("approve")); got.code != http.StatusConflict {
		t.Errorf("want nothing to approve, got %d", got.code)
	} else {
		want(t, got.text, "Not possible now", "there is nothing to approve", "Back to the release")
	}
}

// TestRejectByButton: a reason is required and bounded, and what was typed is kept. The no is
// final.
func TestRejectByButton(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	ada := a.person("ada", "view", "sluice-approver")
	a.push(2)
	for typed, says := range map[string]string{
		"  ":                      "Say why: the reason is required.",
		strings.Repeat("ä", 1025): "It has 1025 characters. Shorten it to 1024 or less.",
	} {
		form, _ := ada.form("reject")
		form.Set("reason", typed)
		got := ada.post(ada.path("reject"), form)
		if got.code != http.StatusUnprocessableEntity {
			t.Errorf("%q: want it refused, got %d", typed, got.code)
		}
		want(t, got.text, says, `aria-invalid="true"`, strings.TrimSpace(typed)+"</textarea>")
	}
	if status := a.atBatch(1).Status; len(status.Answers) > 0 {
		t.Errorf("want no answer written, got %+v", status.Answers)
	}
	after := ada.click("reject", "reason", hostile)
	want(t, after, `<p class="notice good" role="status">You have rejected batch 1 of 3.</p>`)
	wantNot(t, after, "<script>alert", "<img")
	release := a.await("rejected", func(r *v1alpha1.BatchRelease) bool { return r.Status.Reason == v1alpha1.ReasonGateRejected })
	want(t, release.Status.Message, "rejected by "+ada.name)
	ada.wantButtons("Jump to a batch")
}

// TestSteerByButtons: pause, resume, jump and roll back do what their pages say.
func TestSteerByButtons(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	olga := a.person("olga", "view", "sluice-operator")
	olga.wantButtons("Pause")
	a.push(2)
	olga.wantButtons("Approve, Reject, Pause, Jump to a batch, Roll back")
	want(t, olga.click("pause"), "You have paused the release.", `class="notice good"`)
	a.await("paused", func(r *v1alpha1.BatchRelease) bool {
		return r.Spec.Suspend && r.Status.StoppedFor(v1alpha1.StopSuspended)
	})
	olga.wantButtons("Approve, Reject, Resume, Jump to a batch, Roll back")
	want(t, olga.click("resume"), "You have resumed the release.", `class="notice good"`)
	a.atBatch(1)

	form, page := olga.form("jump")
	want(t, page, "Batch 2 (2 pods): the release goes from batch 1/3 to batch 2/3", "Batch 3 (100%)")
	wantNot(t, page, `id="batch-1"`)
	if got := olga.post(olga.path("jump"), form); got.code != http.StatusUnprocessableEntity {
		t.Errorf("want a batch asked for, got %d", got.code)
	} else {
		want(t, got.text, "Choose a batch.")
	}
	want(t, olga.click("jump", "batch", "2"), "You have requested a jump to batch 2.")
	a.atBatch(2)

	before := a.atBatch(2).Status.StableRevision
	a.awaitPods(4)
	page = olga.get(olga.path("rollback")).text
	want(t, page, "<h1>Roll back: web</h1>", "the previous version: "+before, "2 pods of revision "+before+" stay", "are replaced", "is quarantined",
		"No ReleaseSource manages the release", "The real rollback may differ.", "RollingBack", "hand back", `<span class="del">-`, "web:1", "web:2")
	want(t, olga.click("rollback"), "You have requested a rollback to the previous version.")
	rolled := a.await("rolled back", func(r *v1alpha1.BatchRelease) bool {
		return r.Status.Phase == v1alpha1.PhaseCompleted && r.Status.UpdateRevision == before
	})
	if rolled.Status.Rollback == nil || rolled.Status.Rollback.Trigger != v1alpha1.TriggerAnnotation {
		t.Errorf("want a rollback on record, got %+v", rolled.Status.Rollback)
	}
}

// TestRollBackToRevision: a revision of the history is chosen, shown and gone to.
func TestRollBackToRevision(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy(v1alpha1.GatePolicy{None: &v1alpha1.NoGate{}})
	first := a.await("completed", func(r *v1alpha1.BatchRelease) bool { return r.Status.Phase == v1alpha1.PhaseCompleted }).Status.UpdateRevision
	olga := a.person("olga", "view", "sluice-operator")
	for number := 2; number <= 3; number++ {
		commit := strings.Repeat(fmt.Sprint(number), 40)
		a.patch(map[string]any{
			"metadata": map[string]any{"annotations": map[string]any{v1alpha1.CommitAnnotation: commit}},
			"spec":     map[string]any{"template": template(number)},
		})
		a.await("at batch 2", func(r *v1alpha1.BatchRelease) bool {
			return r.Status.Commit == commit && r.Status.CurrentStepIndex == 1 && r.Status.CurrentStepState == v1alpha1.StepBlocking
		})
		olga.click("approve")
		a.await("completed", func(r *v1alpha1.BatchRelease) bool {
			return r.Status.Commit == commit && r.Status.Phase == v1alpha1.PhaseCompleted
		})
	}
	a.awaitPods(4)
	_, page := olga.form("rollback")
	want(t, page, `<option value="`+first+`">`+first)
	if got := olga.get(olga.path("rollback?to=nothing")); got.code != http.StatusNotFound {
		t.Errorf("want no page for a revision that is not kept, got %d", got.code)
	}
	_, page = olga.form("rollback?to=" + first)
	want(t, page, `<option value="`+first+`" selected>`, "web:1", "web:3", "The simulation assumes that all pods run one version before the rollback.")
	want(t, olga.click("rollback?to="+first), "You have requested a rollback to revision "+first+".")
	a.await("rolled back to the first", func(r *v1alpha1.BatchRelease) bool {
		return r.Status.Phase == v1alpha1.PhaseCompleted && r.Status.UpdateRevision == first
	})
}

// TestForceByButton: only who has the role for it forces gates, and with a reason.
func TestForceByButton(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy(v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: time.Hour}}})
	approver, rescuer := a.person("approver", "view", "sluice-approver"), a.person("rescuer", "view", "sluice-breakglass")
	a.push(2)
	approver.wantButtons("Jump to a batch")
	rescuer.wantButtons("Force gates")
	if got := approver.get(approver.path("force")); got.code != http.StatusForbidden {
		t.Errorf("want no page for who may not force, got %d", got.code)
	}
	form, page := rescuer.form("force")
	want(t, page, "Force the gates of batch 1 of 3", "<strong>soak</strong> gate of batch 1", "emergencies only", `class="danger"`)
	form.Set("reason", "INC-42")
	if got := rescuer.post(rescuer.path("force"), form); got.code != http.StatusUnprocessableEntity {
		t.Errorf("want a gate chosen, got %d", got.code)
	} else {
		want(t, got.text, "Choose the gates to force.", "INC-42</textarea>")
	}
	form.Set("gate", regexp.MustCompile(`name="gate" value="([^"]*)"`).FindStringSubmatch(page)[1])
	want(t, rescuer.does("force", form), "You have forced the gates of batch 1 of 3.")
	release := a.atBatch(2)
	if len(release.Status.Forced) != 1 || release.Status.Forced[0].By != rescuer.name || release.Status.Forced[0].Reason != "INC-42" {
		t.Errorf("want the release to say what was forced, got %+v", release.Status.Forced)
	}
}
