package webhook_test

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
)

func pullGate(approvals int32) v1alpha1.GatePolicy {
	return v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{MinApprovals: approvals}}
}

func (w *world) opened(source string, number int64) func(*v1alpha1.GateStatus) {
	return func(s *v1alpha1.GateStatus) {
		s.PullRequest = &v1alpha1.PullRequestReference{
			Source: v1alpha1.SourceReference{Namespace: w.namespace, Name: source}, Branch: "sluice/x", Number: number,
		}
	}
}

func decided(decision v1alpha1.Decision, more func(*v1alpha1.GateStatus)) func(*v1alpha1.GateStatus) {
	return func(s *v1alpha1.GateStatus) {
		if more != nil {
			more(s)
		}
		s.Decision = decision
	}
}

// TestWhatIsLookedAt: each event has the objects looked at for which it may be news, and no others.
func TestWhatIsLookedAt(t *testing.T) {
	w := newWorld(t)
	w.source("other", nil)
	ours, theirs := w.release("web", "shop"), w.release("api", "other")
	smoke := v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: "CI/smoke", Creators: []string{"ci"}}}
	e2e := v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "actions"}}

	w.gate("pull", ours, pullGate(0), w.opened("shop", 12))
	w.gate("pull-closed", ours, pullGate(0), decided(v1alpha1.DecisionRejected, w.opened("shop", 13)))
	w.gate("pull-passed", ours, pullGate(1), decided(v1alpha1.DecisionPassed, w.opened("shop", 14)))
	w.gate("pull-reviewed", ours, pullGate(2), w.opened("shop", 15))
	unopened := record.Branch(w.gate("pull-unopened", ours, pullGate(2), nil))
	w.gate("pull-elsewhere", theirs, pullGate(2), w.opened("other", 12))
	w.gate("status", ours, smoke, nil)
	w.gate("status-passed", ours, smoke, decided(v1alpha1.DecisionPassed, nil))
	w.gate("status-elsewhere", theirs, smoke, nil)
	w.gate("check", ours, e2e, nil)
	w.gate("check-unit", ours, v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "unit", App: "actions"}}, nil)
	w.gate("check-elsewhere", theirs, e2e, nil)
	w.gate("manual", ours, v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}}, nil)

	another := "deadbeef" + commit[8:]
	tests := []struct {
		reason, event, payload string
		want                   []string
	}{
		{"a push to the branch", "push", push("main"), []string{"source shop"}},
		{"a push to another branch", "push", push("topic"), nil},
		{"a push to a branch of that last name", "push", push("team/main"), nil},
		{"a tag", "push", `{"ref":"refs/tags/main","after":"` + commit + `",` + repository + `}`, nil},
		{"a merge, which Git has to show", "pull_request", pull("closed", 12, true, "main"), []string{"source shop"}},
		{"a merge that is no approval", "pull_request", pull("closed", 99, true, "main"), []string{"source shop"}},
		{"a merge into another branch", "pull_request", pull("closed", 12, true, "topic"), []string{"gate pull"}},
		{"closed", "pull_request", pull("closed", 12, false, "main"), []string{"gate pull"}},
		{"opened again", "pull_request", pull("reopened", 13, false, "main"), []string{"gate pull-closed"}},
		{"closed after the decision", "pull_request", pull("closed", 14, false, "main"), nil},
		{"closed before the gate says that it is open", "pull_request", pullFrom(16, unopened), []string{"gate pull-unopened"}},
		{"a label", "pull_request", pull("labeled", 12, false, "main"), nil},
		{"no number", "pull_request", pull("closed", 0, false, "main"), nil},
		{"a review", "pull_request_review", review("submitted", 15), []string{"gate pull-reviewed"}},
		{"a review taken back", "pull_request_review", review("dismissed", 15), []string{"gate pull-reviewed"}},
		{"a review where none are asked for", "pull_request_review", review("submitted", 12), nil},
		{"a status", "status", status(commit, "ci/SMOKE"), []string{"gate status"}},
		{"a status of another context", "status", status(commit, "ci/lint"), nil},
		{"a status of another commit", "status", status(another, "ci/smoke"), nil},
		{"a check", "check_run", check("check_run", "completed", commit, "e2e", "actions"), []string{"gate check"}},
		{"a check that goes on", "check_run", check("check_run", "created", commit, "e2e", "actions"), nil},
		{"a check of another app", "check_run", check("check_run", "completed", commit, "e2e", "jenkins"), nil},
		{"a check of another commit", "check_run", check("check_run", "completed", another, "e2e", "actions"), nil},
		{"all checks of an app", "check_suite", check("check_suite", "completed", commit, "", "actions"), []string{"gate check", "gate check-unit"}},
		{"checks that begin", "check_suite", check("check_suite", "requested", commit, "", "actions"), nil},
		{"an event of no use", "star", `{}`, nil},
	}
	for _, tt := range tests {
		words := "nothing waits"
		if len(tt.want) > 0 {
			words = "accepted"
		}
		w.want(w.hook(tt.event, tt.payload), http.StatusAccepted, words)
		asked := w.asked()
		if diff := cmp.Diff(tt.want, slices.Sorted(maps.Keys(asked))); diff != "" {
			t.Errorf("%s: is to be looked at (-want +got):\n%s", tt.reason, diff)
		}
		for object, at := range asked {
			if at != "2026-11-21T12:00:00Z" {
				t.Errorf("%s: %s is to be looked at since %s", tt.reason, object, at)
			}
		}
		w.forget()
	}
	w.want(w.hook("ping", `{"zen":"x"}`), http.StatusAccepted, "accepted")
	if asked := w.asked(); len(asked) > 0 {
		t.Errorf("a ping had %v looked at", asked)
	}
}

func TestRepositoryOfASource(t *testing.T) {
	w := newWorld(t)
	names := map[string]struct {
		url   string
		forge *v1alpha1.Forge
		want  bool
	}{
		"case":          {"https://forge.test/x/y", &v1alpha1.Forge{Owner: "Acme", Repo: "SHOP"}, true},
		"other-owner":   {"https://forge.test/acme/shop", &v1alpha1.Forge{Owner: "evil", Repo: "shop"}, false},
		"other-repo":    {"https://forge.test/acme/shop", &v1alpha1.Forge{Owner: "acme", Repo: "shop2"}, false},
		"https":         {"https://forge.test/acme/shop", nil, true},
		"https-git":     {"https://forge.test:8443/acme/Shop.git/", nil, true},
		"below":         {"https://forge.test/git/acme/shop.git", nil, true},
		"ssh":           {"ssh://git@forge.test/acme/shop.git", nil, true},
		"scp":           {"git@forge.test:acme/shop.git", nil, true},
		"scp-root":      {"git@forge.test:/acme/shop", nil, true},
		"half-a-name":   {"https://forge.test/notacme/shop", nil, false},
		"another":       {"https://forge.test/acme/shop-2", nil, false},
		"name-and-more": {"https://forge.test/acme/shop/wiki", nil, false},
		"no-path":       {"https://forge.test", nil, false},
	}
	for name, tt := range names {
		w.source(name, func(s *v1alpha1.ReleaseSource) {
			s.Spec.URL = tt.url
			if s.Spec.Forge = tt.forge; tt.forge != nil {
				s.Spec.Forge.SecretRef.Name = "token"
			}
		})
		h := w.hook("push", push("main"))
		h.path = "/hooks/" + w.namespace + "/" + name
		if tt.want {
			w.want(h, http.StatusAccepted, "accepted")
		} else {
			w.want(h, http.StatusAccepted, "another repository")
		}
		if _, got := w.asked()["source "+name]; got != tt.want {
			t.Errorf("%s, %+v: looked at %t, want %t", tt.url, tt.forge, got, tt.want)
		}
	}
}

func TestTheBranchOfASourceWithoutOne(t *testing.T) {
	w := newWorld(t)
	w.source("plain", func(s *v1alpha1.ReleaseSource) { s.Spec.Ref = v1alpha1.GitReference{} })
	h := w.hook("push", push("main"))
	h.path = "/hooks/" + w.namespace + "/plain"
	w.want(h, http.StatusAccepted, "accepted")
}

// TestHintsAreTold: each hint is another value: one that comes during a look asks for another look.
func TestHintsAreTold(t *testing.T) {
	w := newWorld(t)
	w.want(w.hook("push", push("main")), http.StatusAccepted, "accepted")
	first := w.asked()["source shop"]
	w.clock.SetTime(w.clock.Now().Add(time.Nanosecond))
	w.want(w.hook("push", push("main")+" "), http.StatusAccepted, "accepted")
	if second := w.asked()["source shop"]; second == first {
		t.Errorf("two pushes are both asked for at %s", first)
	}
}
