package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

var buttonText = regexp.MustCompile(`<a class="button[^"]*" href="[^"]*">([^<]*)</a>`)

// buttons are those on the page of the release.
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

// TestApproveByButton: who may approve reads what will happen, approves with a message, and is told so; the evidence names them. What they typed
// and what the commit says is text.
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
		want(t, got.text, "Not possible now", "there is nothing to approve", "Look at the release")
	}
}

// TestRejectByButton: a reason is required and bounded, and what was typed is kept. The no is final.
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
	olga.wantButtons("Approve, Reject, Jump to a batch, Pause, Roll back")
	want(t, olga.click("pause"), "You have paused the release.", `class="notice good"`)
	a.await("paused", func(r *v1alpha1.BatchRelease) bool {
		return r.Spec.Suspend && r.Status.StoppedFor(v1alpha1.StopSuspended)
	})
	olga.wantButtons("Approve, Reject, Jump to a batch, Resume, Roll back")
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
	want(t, olga.click("jump", "batch", "2"), "You have asked for a jump to batch 2.")
	a.atBatch(2)

	before := a.atBatch(2).Status.StableRevision
	page = olga.get(olga.path("rollback")).text
	want(t, page, "<h1>Roll back: web</h1>", "the version before: "+before, "2 pods of revision "+before+" stay", "are replaced", "is quarantined",
		"The release comes from no ReleaseSource", "This is a simulation, and no promise", "RollingBack", "hand back", `<span class="del">-`, "web:1", "web:2")
	want(t, olga.click("rollback"), "You have asked for a rollback to the version before.")
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
	_, page := olga.form("rollback")
	want(t, page, `<option value="`+first+`">`+first)
	if got := olga.get(olga.path("rollback?to=nothing")); got.code != http.StatusNotFound {
		t.Errorf("want no page for a revision that is not kept, got %d", got.code)
	}
	_, page = olga.form("rollback?to=" + first)
	want(t, page, `<option value="`+first+`" selected>`, "web:1", "web:3", "All pods are taken to run one version before the rollback.")
	want(t, olga.click("rollback?to="+first), "You have asked for a rollback to revision "+first+".")
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

// TestFormsOfOthers: nothing is written for a form without the session's token, from another page, or too large.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	ada, grace := a.person("ada", "view", "sluice-approver"), a.person("grace", "view", "sluice-approver")
	a.push(2)
	form, _ := ada.form("approve")
	with := func(name, value string) string {
		changed := url.Values{}
		for key, values := range form {
			changed[key] = values
		}
		changed.Set(name, value)
		return changed.Encode()
	}
	hers, _ := grace.form("approve")
	for name, c := range map[string]struct {
		body   string
		header map[string]string
		code   int
	}{
		"no token":      {with("csrf", ""), nil, http.StatusForbidden},
		"wrong token":   {with("csrf", strings.Repeat("A", len(form.Get("csrf")))), nil, http.StatusForbidden},
		"another's":     {with("csrf", hers.Get("csrf")), nil, http.StatusForbidden},
		"cross-site":    {form.Encode(), map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		"other origin":  {form.Encode(), map[string]string{"Origin": "https://evil.example.com"}, http.StatusForbidden},
		"too large":     {with("message", strings.Repeat("x", 9<<10)), nil, http.StatusRequestEntityTooLarge},
		"not a form":    {`{"csrf":"x"}`, map[string]string{"Content-Type": "application/json"}, http.StatusUnsupportedMediaType},
		"by an address": {"", nil, http.StatusForbidden},
	} {
		path := ada.path("approve")
		if name == "by an address" {
			path += "?" + form.Encode()
		}
		if got := ada.send(http.MethodPost, path, c.body, c.header); got.code != c.code {
			t.Errorf("%s: want %d, got %d", name, c.code, got.code)
		}
	}
	if status := a.atBatch(1).Status; len(status.Answers) > 0 {
		t.Errorf("want nothing written, got %+v", status.Answers)
	}
}

// TestNarrowRights: who may only look gets no page that asks, and the API server refuses what they send by hand.
func TestNarrowRights(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	viewer, ada := a.person("viewer", "view", "sluice-viewer"), a.person("ada", "view", "sluice-approver")
	a.push(2)
	form, _ := ada.form("approve")
	logout := regexp.MustCompile(`name="csrf" value="([^"]*)"`).FindStringSubmatch(viewer.get("/").text)
	form.Set("csrf", logout[1])
	form.Set("reason", "because")
	form.Set("batch", "2")
	for _, one := range deeds {
		verb := string(one.verb)
		if verb == "resume" || verb == "retry" { // they make no sense now
			continue
		}
		if got := viewer.get(viewer.path(verb)); got.code != http.StatusForbidden {
			t.Errorf("%s: want no page, got %d", verb, got.code)
		}
		got := viewer.post(viewer.path(verb), form)
		if got.code != http.StatusForbidden {
			t.Errorf("%s: want it refused, got %d: %s", verb, got.code, got.text)
		}
		want(t, got.text, "<h1>Not allowed</h1>", "cannot patch resource")
	}
	if got := viewer.get(viewer.path("destroy")); got.code != http.StatusNotFound {
		t.Errorf("want no other action, got %d", got.code)
	}
	if release := a.atBatch(1); len(release.Status.Answers) > 0 || release.Spec.Suspend || release.Annotations[v1alpha1.RollbackAnnotation] != "" {
		t.Errorf("want nothing written, got %+v", release)
	}
}

// TestStaleForm: a form counts for the gates that were on it, and for the release as it was seen.
func TestStaleForm(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	ada, olga := a.person("ada", "view", "sluice-approver"), a.person("olga", "view", "sluice-operator")
	a.push(2)
	approve, _ := ada.form("approve")
	jump, _ := ada.form("jump")
	back, _ := olga.form("rollback")
	a.push(3)
	for verb, form := range map[string]url.Values{"approve": approve, "jump": jump} {
		form.Set("batch", "2")
		got := ada.post(ada.path(verb), form)
		if got.code != http.StatusConflict {
			t.Errorf("%s: want it refused, got %d: %s", verb, got.code, got.text)
		}
		want(t, got.text, "<h1>The release has changed</h1>", "It is about revision ", "Look at the release")
	}
	if got := olga.post(olga.path("rollback"), back); got.code != http.StatusConflict {
		t.Errorf("rollback: want it refused, got %d", got.code)
	}
	approve, _ = ada.form("approve")
	ada.click("approve")
	a.atBatch(2)
	approve.Del(formField)
	answer := ada.post(ada.path("approve"), approve)
	if answer.code != http.StatusSeeOther {
		t.Fatalf("want to hear that it is done, got %d: %s", answer.code, answer.text)
	}
	want(t, ada.get(answer.location).text, "Nothing was written: you have answered already.")
	olgas, _ := olga.form("approve")
	olgas.Set("gate", approve.Get("gate")) // a gate of the batch before
	if got := olga.post(olga.path("approve"), olgas); got.code != http.StatusConflict {
		t.Errorf("want an answer to an earlier gate refused, got %d", got.code)
	} else {
		want(t, got.text, "A gate that you saw is not open any more.")
	}
	if status := a.atBatch(2).Status; len(status.Answers) > 0 {
		t.Errorf("want nothing answered, got %+v", status.Answers)
	}
}

// TestSentTwice: a double click does what one does, and both are told of it.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	ada := a.person("ada", "view", "sluice-approver")
	a.push(2)
	form, _ := ada.form("approve")
	var answers [3]got
	var all sync.WaitGroup
	for i := range answers {
		all.Go(func() { answers[i] = ada.post(ada.path("approve"), form) })
	}
	all.Wait()
	outcomes := map[string]int{}
	for _, answer := range answers {
		to, err := url.Parse(answer.location)
		if err != nil || answer.code != http.StatusSeeOther {
			t.Fatalf("want to be sent to the release, got %d: %s", answer.code, answer.text)
		}
		outcomes[to.Query().Get("outcome")]++
	}
	if outcomes["written"] != 1 || outcomes["already"] != 2 {
		t.Errorf("want one of three to write, got %v", outcomes)
	}
	a.atBatch(2)
}

// TestTwoPeople: of a yes and a no at the same time one counts, and the other person is told.
func TestTwoPeople(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	ada, grace := a.person("ada", "view", "sluice-approver"), a.person("grace", "view", "sluice-approver")
	a.push(2)
	yes, _ := ada.form("approve")
	no, _ := grace.form("reject")
	no.Set("reason", "errors")
	var answers [2]got
	var all sync.WaitGroup
	all.Go(func() { answers[0] = ada.post(ada.path("approve"), yes) })
	all.Go(func() { answers[1] = grace.post(grace.path("reject"), no) })
	all.Wait()
	codes := map[int]int{answers[0].code: 1}
	codes[answers[1].code]++
	if codes[http.StatusSeeOther] != 1 || codes[http.StatusConflict] != 1 {
		t.Fatalf("want one answer written and one refused, got %d and %d: %s %s", answers[0].code, answers[1].code, answers[0].text, answers[1].text)
	}
	approved := answers[0].code == http.StatusSeeOther
	a.await("as the first answer says", func(r *v1alpha1.BatchRelease) bool {
		if approved {
			return r.Status.CurrentStepIndex == 1
		}
		return r.Status.Reason == v1alpha1.ReasonGateRejected
	})
}

// TestForgedNotices: nobody makes a link that says that something was done.
func TestForgedNotices(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	olga, eve := a.person("olga", "view", "sluice-operator"), a.person("eve", "view", "sluice-operator")
	form, _ := olga.form("pause")
	genuine := olga.post(olga.path("pause"), form).location
	want(t, olga.get(genuine).text, "You have paused the release.")
	form, _ = eve.form("resume")
	hers, err := url.Parse(eve.post(eve.path("resume"), form).location)
	if err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]string{
		"no seal":        olga.path("?did=rollback&outcome=written&at=" + fmt.Sprint(time.Now().Unix())),
		"another's":      hers.String(),
		"another verb":   strings.Replace(genuine, "did=pause", "did=rollback", 1),
		"another text":   genuine + "&to=hello",
		"another moment": regexp.MustCompile(`at=\d+`).ReplaceAllString(genuine, "at="+fmt.Sprint(time.Now().Unix()+60)),
	} {
		wantNoNotice(t, name, olga.get(link).text)
	}
}

func wantNoNotice(t *testing.T, name, page string) {
	t.Helper()
	if strings.Contains(page, `class="notice`) {
		t.Errorf("%s: want no notice in:\n%s", name, page)
	}
}

// TestTooManyForms: who sends forms without end is stopped, and nobody else.
func TestTooManyForms(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	olga, ada := a.person("olga", "view", "sluice-operator"), a.person("ada", "view", "sluice-operator")
	form, _ := olga.form("pause")
	form.Set("uid", "another")
	last := 0
	for range actsBurst * 3 {
		form.Set(formField, fmt.Sprint(last))
		if last = olga.post(olga.path("pause"), form).code; last == http.StatusTooManyRequests {
			break
		}
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("want somebody stopped after %d forms, got %d", actsBurst, last)
	}
	want(t, ada.click("pause"), "You have paused the release.")
}

// TestControllerIsAway: what is asked for is on record, and the notice says that nobody has acted on it. It is written by the dashboard's field manager.
func TestControllerIsAway(t *testing.T) {
	t.Parallel()
	a := &acts{T: t, namespace: cptest.Namespace(t), admin: cptest.Client(t)}
	a.guard()
	a.serve()
	olga := a.person("olga", "view", "sluice-operator")
	a.create(&v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Strategy:    v1alpha1.ReleaseStrategy{Steps: []v1alpha1.Step{{Replicas: intstr.FromString("100%")}}},
		},
	})
	const later = " The controller has not acted on it yet."
	form, _ := olga.form("pause")
	want(t, olga.does("pause", form), "You have paused the release."+later)
	form.Del(formField)
	want(t, olga.does("pause", form), "Nothing was written: the release is paused already.")

	a.standAs(`{"phase":"Failed","message":"no progress","updateRevision":"v2"}`)
	want(t, olga.click("retry"), "You have asked for another try."+later)
	a.standAs(`{"phase":"RollingUpdate","state":"PausePoint","updateRevision":"v2","pausePoint":{"pod":"web-7","uid":"u","since":"2026-11-21T12:00:00Z"}}`)
	form, page := olga.form("approve")
	want(t, page, "The release goes on past pod web-7.")
	wantNot(t, page, "<textarea")
	want(t, olga.does("approve", form), "You have approved going on past pod web-7."+later)
	release := a.await("asked", func(r *v1alpha1.BatchRelease) bool {
		return r.Spec.Suspend && r.Annotations[v1alpha1.RetryAnnotation] == "true" && r.Status.PausePoint.Confirmed == "web-7"
	})
	owners := ""
	for _, entry := range release.ManagedFields {
		owners += entry.Manager + " " + entry.Subresource + "\n"
	}
	want(t, owners, "sluice-dashboard \n", "sluice-dashboard status\n")
}

// standAs writes a status as the controller would.
func (a *acts) standAs(status string) {
	a.Helper()
	cfg := cptest.Config(a.T)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: controllerAccount, Groups: []string{"system:masters"}}
	controller, err := client.New(cfg, cptest.ClientOptions(a.T, cfg))
	if err != nil {
		a.Fatal(err)
	}
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: a.namespace, Name: "web"}}
	if err := controller.Status().Patch(a.Context(), release, client.RawPatch(types.MergePatchType, []byte(`{"status":`+status+`}`))); err != nil {
		a.Fatal(err)
	}
}
