package dashboard

import (
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/verb"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestFormsOfOthers: nothing is written for a form without the session's token, from another page,
// or too large.
func TestFormsOfOthers(t *testing.T) {
	t.Parallel()
	a := newActs(t)
	a.deploy()
	ada, grace := a.person("ada", "view", "sluice-approver"), a.person("grace", "view", "sluice-approver")
	a.push(2)
	form, _ := ada.form("approve")
	with := func(name, value string) string {
		changed := maps.Clone(form)
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

// TestNarrowRights: who may only look gets no page that asks, and the API server refuses what they
// send by hand.
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
	for _, one := range verb.All {
		action := one.Name
		if action == "resume" || action == "retry" { // they make no sense now
			continue
		}
		if got := viewer.get(viewer.path(action)); got.code != http.StatusForbidden {
			t.Errorf("%s: want no page, got %d", action, got.code)
		}
		got := viewer.post(viewer.path(action), form)
		if got.code != http.StatusForbidden {
			t.Errorf("%s: want it refused, got %d: %s", action, got.code, got.text)
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
		want(t, got.text, "<h1>The release has changed</h1>", "Its revision is now ", "Back to the release")
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
	want(t, ada.get(answer.location).text, "Nothing was written: you have already answered.")
	olgas, _ := olga.form("approve")
	olgas.Set("gate", approve.Get("gate")) // a gate of the batch before
	if got := olga.post(olga.path("approve"), olgas); got.code != http.StatusConflict {
		t.Errorf("want an answer to an earlier gate refused, got %d", got.code)
	} else {
		want(t, got.text, "A gate that you saw is no longer open.")
	}
	if status := a.atBatch(2).Status; len(status.Answers) > 0 {
		t.Errorf("want nothing answered, got %+v", status.Answers)
	}
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

// TestControllerIsAway: a request is recorded by the dashboard's field manager, and the notice
// reports that the controller has not acted on it.
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
	want(t, olga.does("pause", form), "Nothing was written: the release is already paused.")

	a.standAs(`{"phase":"Failed","message":"no progress","updateRevision":"v2"}`)
	want(t, olga.click("retry"), "You have requested a retry."+later)
	a.standAs(`{"phase":"RollingUpdate","state":"PausePoint","updateRevision":"v2","pausePoint":{"pod":"web-7","uid":"u","since":"2026-11-21T12:00:00Z"}}`)
	form, page := olga.form("approve")
	want(t, page, "The release continues past pod web-7.")
	wantNot(t, page, "<textarea")
	want(t, olga.does("approve", form), "You have approved continuing past pod web-7."+later)
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
