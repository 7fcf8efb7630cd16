package devforge

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
)

// need holds the rights that a request requires.
type need struct {
	// role in the repository that the path names.
	role Role
	// permission and level are required of a narrowed token.
	permission, level string
	// signed is set where only an app may ask, with its own key.
	signed bool
	// known is set where somebody must have signed in.
	known bool
}

func reads(permission string) need {
	return need{role: RoleRead, permission: permission, level: "read"}
}
func writes(permission string) need {
	return need{role: RoleWrite, permission: permission, level: "write"}
}

// speaks serves what every reader may do: open a pull request, review one, comment on one.
func speaks() need {
	return need{role: RoleRead, permission: "pull_requests", level: "write", known: true}
}

// administers serves a repository's hooks.
func administers() need {
	return need{role: RoleAdmin, permission: "repository_hooks", level: "write"}
}

// route is one operation of the API.
type route struct {
	method, pattern string
	need            need
	serve           func(*call) (answer, error)
}

// routes returns the routes, which are tried in their order. A name in braces stands for a segment
// of the path; with "..." for as many as there are.
func routes() []route {
	all := [][]route{accountRoutes(), repositoryRoutes(), gitRoutes(), pullRoutes(), reportRoutes(), hookRoutes()}
	var flat []route
	for _, some := range all {
		flat = append(flat, some...)
	}
	return flat
}

func accountRoutes() []route {
	return []route{
		{"GET", "/rate_limit", need{}, (*call).getRateLimit},
		{"GET", "/user", need{known: true}, (*call).getAuthenticatedUser},
		{"GET", "/users/{username}", need{}, (*call).getUser},
		{"GET", "/orgs/{org}/teams/{team_slug}", need{permission: "members", level: "read", known: true}, (*call).getTeam},
		{"GET", "/orgs/{org}/teams/{team_slug}/members", need{permission: "members", level: "read", known: true}, (*call).listTeamMembers},
		{
			"GET", "/orgs/{org}/teams/{team_slug}/memberships/{username}",
			need{permission: "members", level: "read", known: true}, (*call).getTeamMembership,
		},
		{"GET", "/app", need{signed: true}, (*call).getApp},
		{"POST", "/app/installations/{installation_id}/access_tokens", need{signed: true}, (*call).createAccessToken},
		{"GET", "/repos/{owner}/{repo}/installation", need{signed: true}, (*call).getRepositoryInstallation},
	}
}

func repositoryRoutes() []route {
	const repo = "/repos/{owner}/{repo}"
	return []route{
		{"GET", repo, reads("metadata"), (*call).getRepository},
		{"GET", repo + "/collaborators/{username}/permission", reads("metadata"), (*call).getPermission},
		{"GET", repo + "/rules/branches/{branch...}", reads("metadata"), (*call).listRules},
		{"GET", repo + "/branches/{branch...}", reads("contents"), (*call).getBranch},
		{"GET", repo + "/contents/{path...}", reads("contents"), (*call).getContents},
		{"GET", repo + "/contents", reads("contents"), (*call).getContents},
		{"PUT", repo + "/contents/{path...}", writes("contents"), (*call).putContents},
		{"DELETE", repo + "/contents/{path...}", writes("contents"), (*call).deleteContents},
		{"GET", repo + "/compare/{basehead...}", reads("contents"), (*call).compare},
		{"GET", repo + "/activity", reads("contents"), (*call).listActivities},
	}
}

func gitRoutes() []route {
	const git = "/repos/{owner}/{repo}/git"
	return []route{
		{"GET", git + "/ref/{ref...}", reads("contents"), (*call).getRef},
		{"GET", git + "/matching-refs/{ref...}", reads("contents"), (*call).listMatchingRefs},
		{"POST", git + "/refs", writes("contents"), (*call).createRef},
		{"PATCH", git + "/refs/{ref...}", writes("contents"), (*call).updateRef},
		{"DELETE", git + "/refs/{ref...}", writes("contents"), (*call).deleteRef},
		{"POST", git + "/blobs", writes("contents"), (*call).createBlob},
		{"GET", git + "/blobs/{file_sha}", reads("contents"), (*call).getBlob},
		{"POST", git + "/trees", writes("contents"), (*call).createTree},
		{"GET", git + "/trees/{tree_sha...}", reads("contents"), (*call).getTree},
		{"POST", git + "/commits", writes("contents"), (*call).createCommit},
		{"GET", git + "/commits/{commit_sha}", reads("contents"), (*call).getGitCommit},
	}
}

func pullRoutes() []route {
	const pulls, one = "/repos/{owner}/{repo}/pulls", "/repos/{owner}/{repo}/pulls/{pull_number}"
	const comments = "/repos/{owner}/{repo}/issues/{issue_number}/comments"
	return []route{
		{"GET", pulls, reads("pull_requests"), (*call).listPulls},
		{"POST", pulls, speaks(), (*call).createPull},
		{"GET", one, reads("pull_requests"), (*call).getPull},
		{"PATCH", one, speaks(), (*call).updatePull},
		{"GET", one + "/files", reads("pull_requests"), (*call).listPullFiles},
		{"GET", one + "/commits", reads("pull_requests"), (*call).listPullCommits},
		{"GET", one + "/merge", reads("pull_requests"), (*call).isMerged},
		{"GET", "/repos/{owner}/{repo}/issues/{issue_number}", reads("pull_requests"), (*call).getIssue},
		{"PUT", one + "/update-branch", writes("contents"), (*call).updatePullBranch},
		{"PUT", one + "/merge", writes("contents"), (*call).mergePull},
		{"GET", one + "/reviews", reads("pull_requests"), (*call).listReviews},
		{"POST", one + "/reviews", speaks(), (*call).createReview},
		{"PUT", one + "/reviews/{review_id}/dismissals", writes("pull_requests"), (*call).dismissReview},
		{"GET", one + "/requested_reviewers", reads("pull_requests"), (*call).getRequestedReviewers},
		{"POST", one + "/requested_reviewers", writes("pull_requests"), (*call).requestReviewers},
		{"GET", comments, reads("pull_requests"), (*call).listComments},
		{"POST", comments, speaks(), (*call).createComment},
	}
}

func reportRoutes() []route {
	const repo = "/repos/{owner}/{repo}"
	const deployments, suffix = repo + "/deployments", "/statuses"
	return []route{
		{"POST", repo + "/statuses/{sha}", writes("statuses"), (*call).createStatus},
		{"GET", repo + "/commits/{ref...}/statuses", reads("statuses"), (*call).listStatuses},
		{"GET", repo + "/commits/{ref...}/check-suites", reads("checks"), (*call).listCheckSuites},
		{"GET", repo + "/commits/{ref...}/check-runs", reads("checks"), (*call).listCheckRuns},
		{"GET", repo + "/commits/{commit_sha...}/pulls", reads("pull_requests"), (*call).listPullsOfCommit},
		{"GET", repo + "/commits/{ref...}", reads("contents"), (*call).getCommit},
		{"GET", repo + "/commits", reads("contents"), (*call).listCommits},
		{"POST", repo + "/check-runs", writes("checks"), (*call).createCheckRun},
		{"GET", repo + "/check-runs/{check_run_id}", reads("checks"), (*call).getCheckRun},
		{"PATCH", repo + "/check-runs/{check_run_id}", writes("checks"), (*call).updateCheckRun},
		{"POST", deployments, writes("deployments"), (*call).createDeployment},
		{"GET", deployments, reads("deployments"), (*call).listDeployments},
		{"GET", deployments + "/{deployment_id}", reads("deployments"), (*call).getDeployment},
		{"POST", deployments + "/{deployment_id}" + suffix, writes("deployments"), (*call).createDeploymentStatus},
		{"GET", deployments + "/{deployment_id}" + suffix, reads("deployments"), (*call).listDeploymentStatuses},
	}
}

func hookRoutes() []route {
	const hooks = "/repos/{owner}/{repo}/hooks"
	return []route{
		{"GET", hooks, administers(), (*call).listHooks},
		{"POST", hooks, administers(), (*call).createHook},
		{"GET", hooks + "/{hook_id}", administers(), (*call).getHook},
		{"DELETE", hooks + "/{hook_id}", administers(), (*call).deleteHook},
	}
}

// compiledRoute matches paths as they were sent, so that an escaped slash is part of a segment.
type compiledRoute struct {
	route

	path  *regexp.Regexp
	names []string
}

var placeholder = regexp.MustCompile(`\{([a-z_]+)(\.\.\.)?\}`)

func compile(r route) compiledRoute {
	c := compiledRoute{route: r}
	pattern := placeholder.ReplaceAllStringFunc(r.pattern, func(found string) string {
		parts := placeholder.FindStringSubmatch(found)
		c.names = append(c.names, parts[1])
		if parts[2] != "" {
			return "(.+)"
		}
		return "([^/]+)"
	})
	c.path = regexp.MustCompile("^" + pattern + "$")
	return c
}

// match sets the path values of a request that the route is for.
func (c compiledRoute) match(r *http.Request, path string) bool {
	found := c.path.FindStringSubmatch(path)
	if r.Method != c.method || found == nil {
		return false
	}
	for i, name := range c.names {
		value, err := url.PathUnescape(found[i+1])
		if err != nil {
			return false
		}
		r.SetPathValue(name, value)
	}
	return true
}

func compileRoutes() []compiledRoute {
	var compiled []compiledRoute
	for _, r := range routes() {
		compiled = append(compiled, compile(r))
	}
	return compiled
}

// apiPath returns a request's path below the API's root, as it was sent.
func apiPath(r *http.Request) string {
	return strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), apiPrefix), "/")
}
