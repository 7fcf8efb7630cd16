package devlab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/sluice-dev/sluice/internal/testbed/devforge/gitcmd"
)

// apiPrefix begins the paths of the API.
const apiPrefix = "/api/v4/"

type object = map[string]any

// call is one request of the API. It holds the lock of the lab.
type call struct {
	*Lab

	ctx     context.Context //nolint:containedctx // it lives as long as the request
	by      *user
	project *project
	// merge is the merge request that the path names.
	merge *mergeRequest
	// args are the parts of the path after those.
	args  []string
	query url.Values
	body  object
}

// refusal is an answer that is no success.
type refusal struct {
	status  int
	message any
}

func (r refusal) Error() string { return fmt.Sprint(r.status, " ", r.message) }

var (
	errNotFound  = refusal{http.StatusNotFound, "404 Not Found"}
	errForbidden = refusal{http.StatusForbidden, "403 Forbidden"}
)

func badRequest(format string, args ...any) error {
	return refusal{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// route is one operation of the API.
type route struct {
	method string
	path   *regexp.Regexp
	// level is the least level of access in the project that the path names.
	level int
	serve func(*call) (any, error)
}

// routes returns the routes. A part in parentheses is an argument. A path that begins with P is in
// a project, and one with M at a merge request.
func (l *Lab) routes() []route {
	list := []struct {
		method, path string
		level        int
		serve        func(*call) (any, error)
	}{
		{"GET", "user", 0, (*call).getSelf},
		{"GET", "users", 0, (*call).listUsers},
		{"GET", "users/([0-9]+)", 0, (*call).getUser},
		{"GET", "groups/([^/]+)", 0, (*call).getGroup},
		{"GET", "groups/([0-9]+)/members", 0, (*call).listMembers},
		{"GET", "personal_access_tokens/self", 0, (*call).getToken},
		{"GET", "P", 0, (*call).getProject},
		{"GET", "P/members/all/([0-9]+)", 0, (*call).getMember},
		{"GET", "P/events", 0, (*call).listEvents},
		{"GET", "P/hooks", Maintainer, (*call).listHooks},
		{"GET", "P/merge_requests", 0, (*call).listMerges},
		{"POST", "P/merge_requests", Reporter, (*call).createMerge},
		{"GET", "M", 0, (*call).getMerge},
		{"PUT", "M", Reporter, (*call).updateMerge},
		{"PUT", "M/merge", Developer, (*call).acceptMerge},
		{"PUT", "M/rebase", Developer, (*call).rebaseMerge},
		{"GET", "M/approvals", 0, (*call).getApprovals},
		{"POST", "M/approve", 0, (*call).approve},
		{"POST", "M/unapprove", 0, (*call).unapprove},
		{"GET", "M/versions", 0, (*call).listVersions},
		{"GET", "M/diffs", 0, (*call).listDiffs},
		{"GET", "M/notes", 0, (*call).listNotes},
		{"POST", "M/notes", 0, (*call).createNote},
		{"GET", "P/repository/commits", 0, (*call).listCommits},
		{"GET", "P/repository/commits/([^/]+)", 0, (*call).getCommit},
		{"GET", "P/repository/commits/([^/]+)/diff", 0, (*call).getDiff},
		{"GET", "P/repository/commits/([^/]+)/merge_requests", 0, (*call).listMergesOf},
		{"GET", "P/repository/commits/([^/]+)/statuses", 0, (*call).listStatuses},
		{"POST", "P/statuses/([^/]+)", Developer, (*call).createStatus},
		{"GET", "P/repository/compare", 0, (*call).compare},
		{"GET", "P/repository/merge_base", 0, (*call).mergeBase},
		{"GET", "P/repository/branches/([^/]+)", 0, (*call).getBranch},
		{"GET", "P/repository/files/([^/]+)", 0, (*call).getFile},
	}
	var all []route
	for _, one := range list {
		pattern := strings.Replace(one.path, "M", "projects/([^/]+)/merge_requests/([0-9]+)", 1)
		if strings.HasPrefix(one.path, "P") {
			pattern = strings.Replace(one.path, "P", "projects/([^/]+)", 1)
		}
		all = append(all, route{one.method, regexp.MustCompile("^" + apiPrefix + pattern + "$"), one.level, one.serve})
	}
	return all
}

func (l *Lab) serveAPI(w http.ResponseWriter, r *http.Request, routes []route) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, one := range routes {
		found := one.path.FindStringSubmatch(r.URL.EscapedPath())
		if one.method != r.Method || found == nil {
			continue
		}
		answer, err := l.answer(r, one, found[1:])
		if err != nil {
			l.refuse(w, r, err)
			return
		}
		status := http.StatusOK
		if r.Method == http.MethodPost {
			status = http.StatusCreated
		}
		write(w, r, status, answer)
		return
	}
	l.refuse(w, r, errNotFound)
}

// answer finds what the path names, and carries the request out.
func (l *Lab) answer(r *http.Request, to route, parts []string) (any, error) {
	c := &call{Lab: l, ctx: r.Context(), by: l.userOf(r), query: r.URL.Query(), body: object{}}
	if c.by == nil {
		return nil, refusal{http.StatusUnauthorized, "401 Unauthorized"}
	}
	if r.Method != http.MethodGet {
		if err := json.NewDecoder(r.Body).Decode(&c.body); err != nil {
			return nil, badRequest("body is not JSON")
		}
	}
	for _, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return nil, errNotFound
		}
		c.args = append(c.args, plain)
	}
	if strings.HasPrefix(r.URL.Path, apiPrefix+"projects/") {
		if err := c.enter(to); err != nil {
			return nil, err
		}
	}
	return to.serve(c)
}

// enter finds the project, and the merge request, that a path names.
func (c *call) enter(to route) error {
	c.project = c.Lab.project(c.args[0])
	switch {
	case c.project == nil || !c.project.visibleTo(c.by):
		return refusal{http.StatusNotFound, "404 Project Not Found"}
	case c.project.level(c.by) < to.level:
		return errForbidden
	}
	c.args = c.args[1:]
	if !strings.Contains(to.path.String(), "merge_requests/(") {
		return nil
	}
	number, err := strconv.Atoi(c.args[0])
	if err != nil || number < 1 || number > len(c.project.merges) {
		return errNotFound
	}
	c.merge, c.args = c.project.merges[number-1], c.args[1:]
	return nil
}

func (l *Lab) refuse(w http.ResponseWriter, r *http.Request, err error) {
	known, is := errors.AsType[refusal](err)
	switch {
	case is:
	case errors.Is(err, gitcmd.ErrNotFound):
		known = errNotFound
	default:
		l.log.ErrorContext(r.Context(), "cannot answer", "path", r.URL.Path, "error", err)
		known = refusal{http.StatusInternalServerError, "500 Internal Server Error"}
	}
	write(w, r, known.status, object{"message": known.message})
}

// write sends an answer, of a list the page that is asked for. Lists of commits have no count.
func write(w http.ResponseWriter, r *http.Request, status int, answer any) {
	if list, is := answer.([]any); is {
		page, per := number(r, "page", 1), min(number(r, "per_page", 20), 100)
		first, last := min((page-1)*per, len(list)), min(page*per, len(list))
		if !strings.HasSuffix(r.URL.Path, "/repository/commits") {
			w.Header().Set("X-Total", strconv.Itoa(len(list)))
		}
		answer = append([]any{}, list[first:last]...)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func number(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}

// text returns a field of the body.
func (c *call) text(name string) string {
	said, _ := c.body[name].(string)
	return said
}

func (c *call) getSelf() (any, error) {
	told := c.whole(c.by)
	told["email"], told["commit_email"] = c.by.email, c.by.email
	return told, nil
}

func (c *call) listUsers() (any, error) {
	found := []any{}
	for _, u := range c.users {
		name, search := c.query.Get("username"), c.query.Get("search")
		if name != "" && strings.EqualFold(u.username, name) || search != "" && (strings.EqualFold(u.email, search) || strings.Contains(u.username, search)) {
			found = append(found, c.basic(u))
		}
	}
	return found, nil
}

func (c *call) getUser() (any, error) {
	for _, u := range c.users {
		if strconv.FormatInt(u.id, 10) == c.args[0] {
			return c.whole(u), nil
		}
	}
	return nil, refusal{http.StatusNotFound, "404 User Not Found"}
}

func (c *call) group() *group {
	for _, g := range c.groups {
		if strings.EqualFold(g.path, c.args[0]) || strconv.FormatInt(g.id, 10) == c.args[0] {
			return g
		}
	}
	return nil
}

func (c *call) getGroup() (any, error) {
	found := c.group()
	if found == nil {
		return nil, refusal{http.StatusNotFound, "404 Group Not Found"}
	}
	return object{"id": found.id, "full_path": found.path, "path": found.path[strings.LastIndex(found.path, "/")+1:]}, nil
}

func (c *call) listMembers() (any, error) {
	found := c.group()
	if found == nil {
		return nil, refusal{http.StatusNotFound, "404 Group Not Found"}
	}
	members := []any{}
	for _, u := range found.members {
		members = append(members, c.basic(u))
	}
	return members, nil
}

func (c *call) getToken() (any, error) {
	return object{"id": c.by.id, "user_id": c.by.id, "scopes": []string{"api"}, "active": true}, nil
}

func (c *call) getProject() (any, error) {
	p := c.project
	return object{
		"id": p.id, "path_with_namespace": p.path, "default_branch": p.branch, "merge_method": p.method,
		"remove_source_branch_after_merge": false, "web_url": c.url + "/" + p.path,
	}, nil
}

func (c *call) getMember() (any, error) {
	for u, level := range c.project.members {
		if strconv.FormatInt(u.id, 10) == c.args[0] {
			told := c.basic(u).(object)
			told["access_level"], told["membership_state"], told["expires_at"] = level, "active", nil
			return told, nil
		}
	}
	return nil, errNotFound
}

func (c *call) listHooks() (any, error) { return []any{}, nil }

func (c *call) listEvents() (any, error) {
	found := []any{}
	for _, e := range slices.Backward(c.project.events) {
		push := object{
			"commit_count": 1, "action": e.action, "ref_type": "branch", "commit_from": orNull(e.before), "commit_to": orNull(e.after),
			"ref": orNull(e.ref), "commit_title": nil, "ref_count": nil,
		}
		if e.refs > 0 {
			push["ref_count"], push["commit_count"] = e.refs, 0
		}
		author := c.basic(e.by)
		found = append(found, object{
			"id": e.id, "project_id": c.project.id, "action_name": "pushed to", "author": author, "created_at": e.at, "push_data": push,
		})
	}
	return found, nil
}

func orNull(s string) any {
	if s == "" {
		return nil
	}
	return s
}
