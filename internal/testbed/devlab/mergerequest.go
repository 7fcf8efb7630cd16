package devlab

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// mergeRequest is a proposal to merge a branch.
type mergeRequest struct {
	iid                 int
	title, description  string
	state               string
	author              *user
	from                *project
	source, target      string
	created, updated    time.Time
	versions            []version
	approvals           []approval
	notes               []note
	mergeUser, closedBy *user
	mergedAt, closedAt  time.Time
	// mergeCommit and squashCommit are the commits of the merge; empty where it made none.
	mergeCommit, squashCommit string
}

// version is a head that a merge request has had, with the commit on which it was.
type version struct {
	id         int64
	head, base string
	at         time.Time
}

type approval struct {
	by *user
	at time.Time
}

type note struct {
	id   int64
	by   *user
	body string
	at   time.Time
}

func (m *mergeRequest) head() string { return m.versions[len(m.versions)-1].head }
func (m *mergeRequest) base() string { return m.versions[len(m.versions)-1].base }

// version notes another head of a merge request. Approvals stay.
func (l *Lab) version(ctx context.Context, p *project, m *mergeRequest, head string) error {
	ref := fmt.Sprintf("refs/merge-requests/%d/head", m.iid)
	if m.from == p {
		if err := p.git.SetRef(ctx, ref, head); err != nil {
			return err
		}
	} else if err := p.fetch(ctx, l.git, m.from, "+refs/heads/"+m.source+":"+ref); err != nil {
		return err
	}
	base, err := p.git.MergeBase(ctx, p.head(m.target), head)
	if err != nil {
		return err
	}
	m.versions = append(m.versions, version{id: l.next(), head: head, base: base, at: l.now()})
	m.updated = l.now()
	return nil
}

func (c *call) shape(m *mergeRequest) object {
	told := object{
		"id": m.versions[0].id, "iid": m.iid, "project_id": c.project.id, "title": m.title, "description": m.description, "state": m.state,
		"created_at": m.created, "updated_at": m.updated, "merged_at": orNever(m.mergedAt), "closed_at": orNever(m.closedAt),
		"author": c.basic(m.author), "merge_user": c.basic(m.mergeUser), "merged_by": c.basic(m.mergeUser), "closed_by": c.basic(m.closedBy),
		"source_branch": m.source, "target_branch": m.target, "source_project_id": m.from.id, "target_project_id": c.project.id,
		"sha": m.head(), "merge_commit_sha": orNull(m.mergeCommit), "squash_commit_sha": orNull(m.squashCommit),
		"web_url": fmt.Sprintf("%s/%s/-/merge_requests/%d", c.url, c.project.path, m.iid), "draft": false, "merge_when_pipeline_succeeds": false,
	}
	return told
}

func orNever(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return at
}

func (c *call) wholeMerge(of *mergeRequest) object {
	told := c.shape(of)
	told["diff_refs"] = object{"base_sha": of.base(), "head_sha": of.head(), "start_sha": of.base()}
	return told
}

func (c *call) getMerge() (any, error) { return c.wholeMerge(c.merge), nil }

func (c *call) listMerges() (any, error) {
	found := []any{}
	for _, m := range slices.Backward(c.project.merges) {
		state := c.query.Get("state")
		is := func(name, have string) bool { return c.query.Get(name) == "" || c.query.Get(name) == have }
		if (state == "" || state == "all" || state == m.state) && is("source_branch", m.source) && is("target_branch", m.target) {
			found = append(found, c.shape(m))
		}
	}
	return found, nil
}

// createMerge opens a merge request from the project, or from a fork, into the project or that of
// which it is a fork.
func (c *call) createMerge() (any, error) {
	into, from := c.project, c.project
	if id, given := c.body["target_project_id"].(float64); given {
		if into = c.Lab.project(fmt.Sprint(int64(id))); into == nil || into != from && from.from != into {
			return nil, errNotFound
		}
	}
	source, target := c.text("source_branch"), c.text("target_branch")
	switch {
	case c.text("title") == "" || source == "" || target == "":
		return nil, badRequest("title, source_branch or target_branch is missing")
	case source == target && from == into:
		return nil, refusal{http.StatusUnprocessableEntity, []string{"You can't use same project/branch for source and target"}}
	case from.head(source) == "":
		return nil, refusal{http.StatusUnprocessableEntity, object{"source_branch": []string{"does not exist"}}}
	}
	for _, m := range into.merges {
		if m.state == "opened" && m.from == from && m.source == source && m.target == target {
			return nil, refusal{http.StatusConflict, []string{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", m.iid)}}
		}
	}
	m := &mergeRequest{
		iid: len(into.merges) + 1, title: c.text("title"), state: "opened", author: c.by, from: from, source: source, target: target, created: c.now(),
	}
	c.project = into
	if err := c.version(c.ctx, into, m, from.head(source)); err != nil {
		return nil, err
	}
	into.merges = append(into.merges, m)
	m.description = c.carryOut(m, c.text("description"))
	return c.wholeMerge(m), nil
}

// carryOut carries out the lines of a text that are actions, and returns the others.
func (c *call) carryOut(m *mergeRequest, text string) string {
	var kept []string
	for line := range strings.SplitSeq(text, "\n") {
		switch strings.TrimSpace(line) {
		case "/approve":
			m.approvals = append(m.approvals, approval{c.by, c.now()})
		case "/close":
			m.state, m.closedBy, m.closedAt = "closed", c.by, c.now()
		default:
			kept = append(kept, line)
		}
	}
	return strings.Join(kept, "\n")
}

func (c *call) updateMerge() (any, error) {
	m := c.merge
	if c.by != m.author && c.project.level(c.by) < Developer {
		return nil, errForbidden
	}
	if title, given := c.body["title"].(string); given {
		m.title = title
	}
	if text, given := c.body["description"].(string); given {
		m.description = c.carryOut(m, text)
	}
	switch event := c.text("state_event"); {
	case event == "close" && m.state == "opened":
		m.state, m.closedBy, m.closedAt = "closed", c.by, c.now()
	case event == "reopen" && m.state == "closed":
		m.state, m.closedBy, m.closedAt = "opened", nil, time.Time{}
		if head := m.from.head(m.source); head != "" && head != m.head() {
			if err := c.version(c.ctx, c.project, m, head); err != nil {
				return nil, err
			}
		}
	}
	m.updated = c.now()
	return c.wholeMerge(m), nil
}

func (c *call) listVersions() (any, error) {
	found := []any{}
	for _, v := range slices.Backward(c.merge.versions) {
		found = append(found, object{
			"id": v.id, "head_commit_sha": v.head, "base_commit_sha": v.base, "start_commit_sha": v.base, "created_at": v.at, "state": "collected",
		})
	}
	return found, nil
}

func (c *call) listDiffs() (any, error) {
	return c.diff(c.merge.base(), c.merge.head())
}

func (c *call) listNotes() (any, error) {
	found := []any{}
	for _, n := range slices.Backward(c.merge.notes) {
		found = append(found, object{"id": n.id, "body": n.body, "author": c.basic(n.by), "created_at": n.at, "system": false})
	}
	return found, nil
}

func (c *call) createNote() (any, error) {
	body := c.carryOut(c.merge, c.text("body"))
	if body == "" {
		return nil, badRequest("body is empty")
	}
	made := note{id: c.next(), by: c.by, body: body, at: c.now()}
	c.merge.notes = append(c.merge.notes, made)
	return object{"id": made.id, "body": made.body, "author": c.basic(c.by), "created_at": made.at, "system": false}, nil
}

// getApprovals lists who approves. It names no commit.
func (c *call) getApprovals() (any, error) {
	by := []any{}
	for _, a := range c.merge.approvals {
		one := object{"user": c.basic(a.by)}
		if !c.project.untimed {
			one["approved_at"] = a.at
		}
		by = append(by, one)
	}
	return object{"user_has_approved": false, "user_can_approve": true, "approved": len(by) > 0, "approved_by": by}, nil
}

func (c *call) approve() (any, error) {
	if c.project.level(c.by) < Reporter {
		return nil, refusal{http.StatusUnauthorized, "401 Unauthorized"}
	}
	if slices.ContainsFunc(c.merge.approvals, func(a approval) bool { return a.by == c.by }) {
		return nil, refusal{http.StatusUnauthorized, "401 Unauthorized"}
	}
	c.merge.approvals = append(c.merge.approvals, approval{c.by, c.now()})
	return c.getApprovals()
}

func (c *call) unapprove() (any, error) {
	before := len(c.merge.approvals)
	c.merge.approvals = slices.DeleteFunc(c.merge.approvals, func(a approval) bool { return a.by == c.by })
	if len(c.merge.approvals) == before {
		return nil, errNotFound
	}
	return c.getApprovals()
}
