package devforge_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// receiver takes webhooks and checks their signatures.
type receiver struct {
	*httptest.Server

	mu     sync.Mutex
	bodies map[string][]byte // the last of each event
	bad    []string
}

const secret = "It's a Secret to Everybody"

func newReceiver(t *testing.T, status int) *receiver {
	t.Helper()
	r := &receiver{bodies: map[string][]byte{}}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		r.mu.Lock()
		defer r.mu.Unlock()
		if req.Header.Get("X-Hub-Signature-256") != "sha256="+hex.EncodeToString(mac.Sum(nil)) {
			r.bad = append(r.bad, req.Header.Get("X-Github-Event"))
		}
		r.bodies[req.Header.Get("X-Github-Event")] = body
		w.WriteHeader(status)
		io.WriteString(w, "taken")
	}))
	t.Cleanup(r.Close)
	return r
}

func (w *world) hook(r *receiver, events ...string) int64 {
	w.t.Helper()
	id, err := w.AddHook(w.ctx(), repository, devforge.Hook{URL: r.URL, Secret: secret, Events: events})
	must(w.t, err)
	return id
}

// delivered returns the events that were sent so far, with their actions.
func (w *world) delivered() []string {
	w.t.Helper()
	must(w.t, w.WaitDeliveries(w.ctx()))
	var events []string
	for _, d := range w.Deliveries() {
		events = append(events, strings.TrimSuffix(d.Event+" "+d.Action, " "))
	}
	return events
}

func TestEventsOfAPullRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	receiver := newReceiver(t, 202)
	w.hook(receiver)
	clone := w.cloneAs(w.tokens["ada"])
	w.open(clone, "topic")
	w.push(clone, "topic", "more.txt", "more\n")
	_, _, err := w.ada.PullRequests.Edit(w.ctx(), owner, web, 1, &github.PullRequest{Title: new("Other")})
	must(t, err)
	for _, state := range []string{"closed", "open"} {
		_, _, err := w.ada.PullRequests.Edit(w.ctx(), owner, web, 1, &github.PullRequest{State: &state})
		must(t, err)
	}
	review, _, err := w.bob.PullRequests.CreateReview(w.ctx(), owner, web, 1, &github.PullRequestReviewRequest{Event: new("APPROVE")})
	must(t, err)
	_, _, err = w.bob.PullRequests.DismissReview(w.ctx(), owner, web, 1, review.GetID(),
		&github.PullRequestReviewDismissalRequest{Message: new("stale")})
	must(t, err)
	_, _, err = w.bob.PullRequests.Merge(w.ctx(), owner, web, 1, "", nil)
	must(t, err)
	want := []string{
		"ping", "push", "pull_request opened", "push", "pull_request synchronize", "pull_request edited", "pull_request closed",
		"pull_request reopened", "pull_request_review submitted", "pull_request_review dismissed", "push", "pull_request closed",
	}
	if diff := cmp.Diff(want, w.delivered()); diff != "" {
		t.Errorf("everything is told, in its order (-want +got):\n%s", diff)
	}
	if len(receiver.bad) > 0 {
		t.Errorf("each is signed: not so %v", receiver.bad)
	}
	event, err := github.ParseWebHook("pull_request", receiver.bodies["pull_request"])
	must(t, err)
	closed := event.(*github.PullRequestEvent)
	if !closed.GetPullRequest().GetMerged() || closed.GetSender().GetLogin() != "bob" {
		t.Errorf("the last says that bob merged: got %v", closed)
	}
}

func TestEventsOfAPush(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	receiver := newReceiver(t, 200)
	w.hook(receiver, "push")
	clone := w.cloneAs(w.tokens["ada"])
	before := git(t, clone, "rev-parse", "HEAD")
	commit(t, clone, "two\n")
	after := w.push(clone, "main", "more.txt", "more\n")
	last := func() *github.PushEvent {
		t.Helper()
		must(t, w.WaitDeliveries(w.ctx()))
		event, err := github.ParseWebHook("push", receiver.bodies["push"])
		must(t, err)
		return event.(*github.PushEvent)
	}
	got := last()
	if got.GetBefore() != before || got.GetAfter() != after || len(got.Commits) != 2 || got.Commits[0].Modified[0] != "deploy/app.yaml" ||
		got.Commits[1].Added[0] != "more.txt" || got.GetPusher().GetName() != "ada" || got.GetForced() {
		t.Errorf("a push tells what it brought: got %v", got)
	}
	git(t, clone, "push", "--quiet", "--force", "origin", before+":main")
	if got := last(); !got.GetForced() || got.GetAfter() != before || len(got.Commits) != 0 {
		t.Errorf("a rewrite says so: got %v", got)
	}
	git(t, clone, "push", "--quiet", "origin", before+":refs/heads/new")
	if got := last(); !got.GetCreated() || got.GetRef() != "refs/heads/new" {
		t.Errorf("a new branch says so: got %v", got)
	}
	git(t, clone, "push", "--quiet", "origin", "--delete", "new")
	if got := last(); !got.GetDeleted() || got.HeadCommit != nil {
		t.Errorf("a branch that goes says so: got %v", got)
	}
}

func TestPushesAtOnceAreToldOfWhoMadeThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.hook(newReceiver(t, 200), "push")
	var wg sync.WaitGroup
	for i := range 4 {
		for _, user := range []string{"ada", "bob"} {
			clone := w.cloneAs(w.tokens[user])
			wg.Go(func() {
				if out, err := tryGit(clone, "push", "--quiet", "origin", fmt.Sprintf("main:%s-%d", user, i)); err != nil {
					t.Errorf("push: %v: %s", err, out)
				}
			})
		}
		wg.Go(func() {
			if _, _, err := w.ada.PullRequests.List(w.ctx(), owner, web, nil); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if got := len(w.delivered()); got != 9 {
		t.Errorf("a ping and eight pushes: got %d", got)
	}
	for _, sent := range w.Deliveries()[1:] {
		event, err := github.ParseWebHook("push", sent.Payload)
		must(t, err)
		push := event.(*github.PushEvent)
		if !strings.HasPrefix(push.GetRef(), "refs/heads/"+push.GetSender().GetLogin()+"-") || len(push.Commits) != 0 {
			t.Errorf("a push is told of who made it: got %s by %s", push.GetRef(), push.GetSender().GetLogin())
		}
	}
}

func TestEventsOfReports(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	w.hook(newReceiver(t, 200), "status", "check_run", "check_suite")
	sha := w.tip("main")
	must(t, w.report(w.ada, sha, "ci", "success", ""))
	ci, _ := w.appClient(w.app("ci"))
	run, _, err := ci.Checks.CreateCheckRun(w.ctx(), owner, web, github.CreateCheckRunOptions{Name: "test", HeadSHA: sha})
	must(t, err)
	_, _, err = ci.Checks.UpdateCheckRun(w.ctx(), owner, web, run.GetID(), github.UpdateCheckRunOptions{
		Name: "test", Conclusion: new("success"),
	})
	must(t, err)
	want := []string{"ping", "status", "check_run created", "check_run completed", "check_suite completed"}
	if diff := cmp.Diff(want, w.delivered()); diff != "" {
		t.Errorf("reports are told (-want +got):\n%s", diff)
	}
}

func TestDeliveriesAreNotRepeatedUnlessAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	receiver := newReceiver(t, 500)
	id := w.hook(receiver, "status")
	must(t, w.report(w.ada, w.tip("main"), "ci", "success", ""))
	w.delivered()
	sent := w.Deliveries()
	if len(sent) != 2 || sent[1].Status != 500 || sent[1].Response != "taken" || sent[1].Header.Get("X-Github-Delivery") != sent[1].GUID {
		t.Fatalf("a failed delivery is recorded, once: got %v", sent)
	}
	must(t, w.Redeliver(w.ctx(), sent[1].GUID))
	w.delivered()
	again := w.Deliveries()[2]
	if again.GUID != sent[1].GUID || !again.Redelivery || string(again.Payload) != string(sent[1].Payload) {
		t.Errorf("a redelivery is the same thing again: got %v", again)
	}
	must(t, w.SetHookSecret(w.ctx(), repository, id, "another"))
	must(t, w.Redeliver(w.ctx(), sent[1].GUID))
	w.delivered()
	if len(receiver.bad) != 1 {
		t.Errorf("another secret signs what follows: %v", receiver.bad)
	}
	must(t, w.RemoveHook(w.ctx(), repository, id))
	must(t, w.report(w.ada, w.tip("main"), "ci", "success", ""))
	if got := len(w.delivered()); got != 4 {
		t.Errorf("a hook that is gone gets nothing: got %d", got)
	}
}

func TestHooksOverTheAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, devforge.Options{})
	receiver := newReceiver(t, 200)
	create := func(url string) (*github.Hook, error) {
		h, _, err := w.bob.Repositories.CreateHook(w.ctx(), owner, web, &github.Hook{
			Events: []string{"status"}, Active: new(true),
			Config: &github.HookConfig{URL: &url, ContentType: new("json"), Secret: new(secret)},
		})
		return h, err
	}
	made, err := create(receiver.URL)
	must(t, err)
	_, err = create("http://192.0.2.1/hook")
	wantStatus(t, "nothing is sent to other machines", err, 422)
	hooks, _, err := w.bob.Repositories.ListHooks(w.ctx(), owner, web, nil)
	must(t, err)
	if len(hooks) != 1 || hooks[0].GetID() != made.GetID() || hooks[0].Config.GetSecret() == secret {
		t.Errorf("a hook is listed without its secret: got %v", hooks)
	}
	must(t, w.report(w.ada, w.tip("main"), "ci", "success", ""))
	w.delivered()
	if len(receiver.bad) > 0 || !json.Valid(receiver.bodies["status"]) {
		t.Errorf("it gets what it asked for, signed: %v", receiver.bad)
	}
	_, err = w.bob.Repositories.DeleteHook(w.ctx(), owner, web, made.GetID())
	must(t, err)
}
