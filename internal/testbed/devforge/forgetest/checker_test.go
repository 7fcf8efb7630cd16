package forgetest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/forgetest"
)

func newChecker(t *testing.T) *forgetest.Checker {
	t.Helper()
	checker, err := forgetest.NewChecker()
	if err != nil {
		t.Fatal(err)
	}
	return checker
}

func TestAnswersAreHeldToTheDescription(t *testing.T) {
	t.Parallel()
	checker := newChecker(t)
	tests := map[string]struct {
		reason, method, path string
		status               int
		body                 string
		want                 string
	}{
		"Good":      {"an answer with all that is required", "GET", "/repos/o/r/pulls/1/merge", 204, "", ""},
		"Problem":   {"a problem is described for all", "GET", "/repos/o/r", 500, `{"message":"x"}`, ""},
		"Missing":   {"a required member is missing", "GET", "/repos/o/r/git/ref/heads/a/b", 200, `{"ref":"x"}`, "node_id"},
		"Type":      {"a member is of another type", "GET", "/rate_limit", 200, `{"rate":1,"resources":{}}`, "/rate"},
		"Enum":      {"a value is not among those there are", "GET", "/orgs/o/teams/t/memberships/u", 200, `{"url":"http://x/","role":"boss","state":"active"}`, "role"},
		"Null":      {"a member that is never null is", "GET", "/orgs/o/teams/t/memberships/u", 200, `{"url":null,"role":"member","state":"active"}`, "url"},
		"List":      {"a list where a text with a format belongs", "GET", "/orgs/o/teams/t/memberships/u", 200, `{"url":[],"role":"member","state":"active"}`, "url"},
		"Path":      {"a path is no URL", "GET", "/orgs/o/teams/t/memberships/u", 200, `{"url":"/x","role":"member","state":"active"}`, "url"},
		"NullOfAll": {"none of the alternatives may be null", "GET", "/repos/o/r/contents/x", 200, `null`, "null"},
		"Operation": {"there is no such operation", "GET", "/repos/o/r/nothing", 200, `{}`, "no such operation"},
		"Status":    {"there is no such answer", "GET", "/repos/o/r", 201, `{}`, "does not answer so"},
		"Malformed": {"the answer is not JSON", "GET", "/repos/o/r", 404, `{`, "parse"},
		"Template":  {"a ref with slashes is found", "GET", "/repos/o/r/commits/a/b/status", 200, `{}`, "commit_url"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checker.CheckAnswer(tc.method, tc.path, tc.status, []byte(tc.body))
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %v, want it to say %q", tc.reason, err, tc.want)
			}
		})
	}
}

func TestWebhooksAreHeldToTheDescription(t *testing.T) {
	t.Parallel()
	checker := newChecker(t)
	for _, payload := range forgetest.Examples(t, "check_suite") {
		var head struct {
			Action string `json:"action"`
		}
		if err := json.Unmarshal(payload, &head); err != nil {
			t.Fatal(err)
		}
		if err := checker.CheckWebhook("check_suite", head.Action+"x", payload); err == nil {
			t.Errorf("an action that GitHub does not have must be told: %s", head.Action)
		}
	}
	if err := checker.CheckWebhook("push", "", []byte(`{"ref":"refs/heads/main"}`)); err == nil {
		t.Error("a payload that lacks what is required must be told")
	}
}

func TestMiddlewareNotesBreachesAndPassesAnswersOn(t *testing.T) {
	t.Parallel()
	checker := newChecker(t)
	server := httptest.NewServer(checker.Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Thing", "kept")
		w.Write([]byte(`{"login":"ada"}`))
	})))
	t.Cleanup(server.Close)
	for _, path := range []string{"/api/v3/user", "/elsewhere"} {
		resp, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Header.Get("X-Thing") != "kept" {
			t.Errorf("an answer goes by unchanged: got %s, %v", resp.Status, resp.Header)
		}
	}
	if got := checker.Breaches(); len(got) != 1 || !strings.Contains(got[0], "/user") || checker.Checked() != 1 {
		t.Errorf("what is wrong is noted, and only the API is looked at: got %d of %d: %v", len(got), checker.Checked(), got)
	}
}
