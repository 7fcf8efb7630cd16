package devforge_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
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

const repository = "shop/web"

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
