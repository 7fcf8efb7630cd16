package devlab

import (
	"fmt"
	"net/http"
	"slices"
	"time"
)

// status is an external status of a commit.
type status struct {
	id                                    int64
	sha, name, state, description, target string
	by                                    *user
	created                               time.Time
	// retried is set once a later one has its name.
	retried bool
}

func (s *status) going() bool { return s.state == "pending" || s.state == "running" }

// transitions are the events of a status by the state that they lead to, and from where they can.
var transitions = map[string]struct {
	event string
	from  []string
}{
	"pending": {"enqueue", []string{"created"}}, "running": {"run", []string{"created", "pending"}},
	"success": {"success", []string{"created", "pending", "running"}}, "failed": {"drop", []string{"created", "pending", "running"}},
	"canceled": {"cancel", []string{"created", "pending", "running"}}, "skipped": {"skip", []string{"created", "pending"}},
}

func (c *call) createStatus() (any, error) {
	found, err := c.resolved()
	if err != nil {
		return nil, refusal{http.StatusNotFound, "404 Commit Not Found"}
	}
	to, known := transitions[c.text("state")]
	if !known {
		return nil, badRequest("state does not have a valid value")
	}
	name := c.text("name")
	if name == "" {
		name = c.text("context")
	}
	i := slices.IndexFunc(c.project.statuses, func(s *status) bool { return s.sha == found.SHA && s.name == name && s.by == c.by && s.going() })
	s := &status{sha: found.SHA, name: name, state: "created", by: c.by}
	if i >= 0 {
		s = c.project.statuses[i]
	}
	if !slices.Contains(to.from, s.state) {
		return nil, badRequest("Cannot transition status via :%s from :%s (Reason(s): Status cannot transition via \"%s\")", to.event, s.state, to.event)
	}
	if i < 0 {
		for _, other := range c.project.statuses {
			other.retried = other.retried || other.sha == s.sha && other.name == s.name
		}
		s.id, s.created = c.next(), c.now()
		c.project.statuses = append(c.project.statuses, s)
	}
	s.state, s.description, s.target = c.text("state"), c.text("description"), c.text("target_url")
	return c.statusShape(s), nil
}

func (c *call) statusShape(s *status) object {
	return object{
		"id": s.id, "sha": s.sha, "ref": c.project.branch, "status": s.state, "name": s.name, "description": orNull(s.description),
		"target_url": orNull(s.target), "author": c.basic(s.by), "created_at": s.created, "started_at": nil, "finished_at": nil,
	}
}

func (c *call) listStatuses() (any, error) {
	found, err := c.resolved()
	if err != nil {
		return nil, err
	}
	list := []any{}
	for _, s := range c.project.statuses {
		named := c.query.Get("name") == "" || c.query.Get("name") == s.name
		if s.sha == found.SHA && named && (!s.retried || fmt.Sprint(c.query.Get("all")) == "true") {
			list = append(list, c.statusShape(s))
		}
	}
	return list, nil
}
