package github_test

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	gogithub "github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

var allRights = []forge.Right{
	forge.ReadContents, forge.PushBranches, forge.OpenPullRequests, forge.PostStatuses, forge.ReadChecks, forge.MakeDeployments,
}

// TestMay: each right is found to be there or not, by what it takes at the forge and by nothing
// else; and nothing is changed.
func TestMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	needs := map[forge.Right][2]string{
		forge.ReadContents: {"contents", "read"}, forge.PushBranches: {"contents", "write"}, forge.OpenPullRequests: {"pull_requests", "write"},
		forge.PostStatuses: {"statuses", "write"}, forge.ReadChecks: {"checks", "read"}, forge.MakeDeployments: {"deployments", "write"},
	}
	for right, need := range needs {
		token, err := w.forge.CreateToken("sluice", devforge.Permissions{need[0]: need[1]})
		if err != nil {
			t.Fatal(err)
		}
		client := w.newClient(func(o *github.Options) { o.Token = token })
		for _, asked := range allRights {
			want := asked == right || asked == forge.ReadContents && right == forge.PushBranches
			may, err := client.May(t.Context(), asked, "main")
			if err != nil || may != want {
				t.Errorf("with %s: %s: want %t to %s, got %t, %v", need[0], need[1], want, asked, may, err)
			}
		}
	}
	for _, right := range allRights {
		if may, err := w.client.May(t.Context(), right, "main"); err != nil || !may {
			t.Errorf("want to be let %s, got %t, %v", right, may, err)
		}
	}
	ada := w.as("ada")
	refs, _, err := ada.Git.ListMatchingRefs(t.Context(), "shop", "web", &gogithub.ReferenceListOptions{Ref: "heads/"})
	if err != nil || len(refs) != 1 {
		t.Errorf("want no branch but main, got %v, %v", refs, err)
	}
	pulls, _, err := ada.PullRequests.List(t.Context(), "shop", "web", &gogithub.PullRequestListOptions{State: "all"})
	if err != nil || len(pulls) != 0 {
		t.Errorf("want no pull request, got %v, %v", pulls, err)
	}
	deployments, _, err := ada.Repositories.ListDeployments(t.Context(), "shop", "web", nil)
	if err != nil || len(deployments) != 0 {
		t.Errorf("want no deployment, got %v, %v", deployments, err)
	}
}

// TestMayUnknown: an answer of a server in trouble counts neither way.
func TestMayUnknown(t *testing.T) {
	t.Parallel()
	for _, right := range allRights {
		s := serve(t, answering(http.StatusBadGateway, `{"message":"trouble"}`))
		_, err := clientOf(t, s.URL).May(t.Context(), right, "main")
		wantKind(t, err, forge.Transient, "trouble at "+string(right))
	}
}

// TestProtection: rules and the older protection are summed up, and hidden ones are reported as
// hidden.
func TestProtection(t *testing.T) {
	t.Parallel()
	const rules = `[{"type":"deletion","ruleset_id":1},{"type":"a_new_one","ruleset_id":1},{"type":"pull_request","ruleset_id":7,` +
		`"parameters":{"required_approving_review_count":2,"dismiss_stale_reviews_on_push":true}}]`
	const older = `{"required_pull_request_reviews":{"required_approving_review_count":1,"dismiss_stale_reviews":true},"enforce_admins":{"enabled":false}}`
	cases := map[string]struct {
		rules, branch, ruleset, older string
		want                          forge.Protection
	}{
		"None": {rules: `[]`, branch: `{"protected":false}`},
		"Rules": {
			rules: rules, branch: `{"protected":true}`, ruleset: `{"current_user_can_bypass":"never"}`,
			want: forge.Protection{Protected: true, PullRequest: true, Approvals: 2, DismissesStale: true},
		},
		"RulesNotForUs": {
			rules: rules, branch: `{"protected":true}`, ruleset: `{"current_user_can_bypass":"always"}`,
			want: forge.Protection{Protected: true, PullRequest: true, Approvals: 2, DismissesStale: true, WeBypass: true},
		},
		"RulesetNotShown": {
			rules: rules, branch: `{"protected":true}`,
			want: forge.Protection{Protected: true, PullRequest: true, Approvals: 2, DismissesStale: true},
		},
		"NoPullRequest": {rules: `[{"type":"deletion"}]`, branch: `{"protected":false}`, want: forge.Protection{Protected: true}},
		"Hidden":        {rules: `[]`, branch: `{"protected":true}`, want: forge.Protection{Protected: true, Hidden: true}},
		"Older": {
			rules: `[]`, branch: `{"protected":true}`, older: older,
			want: forge.Protection{Protected: true, PullRequest: true, Approvals: 1, DismissesStale: true, AdminsBypass: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const repository = "/api/v3/repos/shop/web/"
			answers := map[string]string{
				repository + "rules/branches/main": tc.rules, repository + "branches/main": tc.branch,
				repository + "rulesets/7": tc.ruleset, repository + "branches/main/protection": tc.older,
			}
			s := serve(t, func(w http.ResponseWriter, r *http.Request) {
				answer := answers[r.URL.Path]
				if answer == "" {
					w.WriteHeader(http.StatusForbidden)
					answer = `{"message":"Resource not accessible"}`
				}
				fmt.Fprint(w, answer)
			})
			got, err := clientOf(t, s.URL).Protection(t.Context(), "main")
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
