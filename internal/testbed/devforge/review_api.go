package devforge

import (
	"net/http"
	"slices"
	"time"
)

// States of a review, as lists have them.
const (
	reviewApproved  = "APPROVED"
	reviewChanges   = "CHANGES_REQUESTED"
	reviewCommented = "COMMENTED"
	reviewDismissed = "DISMISSED"
)

// reviewStates are what the events of a new review make of it.
var reviewStates = map[string]string{"APPROVE": reviewApproved, "REQUEST_CHANGES": reviewChanges, "COMMENT": reviewCommented}

// review is one user's review of a pull request at a commit.
type review struct {
	id        int64
	author    *account
	body      string
	state     string
	commit    string
	submitted time.Time
}

// comment is a remark on a pull request as a whole.
type comment struct {
	id      int64
	author  *account
	body    string
	created time.Time
}

func (s shapes) review(r *repository, p *pull, v *review) object {
	page := s.html("/%s/pull/%d#pullrequestreview-%d", r.fullName(), p.number, v.id)
	pullURL := s.api("/repos/%s/pulls/%d", r.fullName(), p.number)
	return object{
		"id": v.id, "node_id": nodeID("PRR", v.id), "user": s.account(v.author), "body": v.body, "state": v.state,
		"html_url": page, "pull_request_url": pullURL, "author_association": s.association(r, v.author),
		"_links": object{"html": link(page), "pull_request": link(pullURL)}, "submitted_at": stamp(v.submitted), "commit_id": v.commit,
	}
}

func (c *call) listReviews() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	return ok(each(pageOf(c, p.reviews), func(v *review) object { return c.forge.shape.review(c.repo, p, v) }))
}

type reviewRequest struct {
	Body     string `json:"body"`
	Event    string `json:"event"`
	CommitID string `json:"commit_id"`
}

func (c *call) createReview() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	in, err := decode[reviewRequest](c)
	if err != nil {
		return answer{}, err
	}
	v, err := c.submit(p, in)
	if err != nil {
		return answer{}, err
	}
	return ok(c.forge.shape.review(c.repo, p, v))
}

// submit adds a review, also to a pull request that is closed or merged, as GitHub does. Pending
// ones, which only their author would see, there are none.
func (c *call) submit(p *pull, in reviewRequest) (*review, error) {
	state, known := reviewStates[in.Event]
	switch {
	case !known:
		return nil, refuse(http.StatusUnprocessableEntity, "event is not APPROVE, REQUEST_CHANGES or COMMENT")
	case state != reviewApproved && in.Body == "":
		return nil, refuse(http.StatusUnprocessableEntity, "Review body can't be blank")
	case state != reviewCommented && p.author == c.by.account:
		return nil, refuse(http.StatusUnprocessableEntity, "Can not approve or request changes on your own pull request")
	}
	v := &review{
		id: c.forge.ids.next(), author: c.by.account, body: in.Body, state: state, commit: p.headSHA, submitted: c.forge.now(),
	}
	if in.CommitID != "" {
		if err := c.knownCommit(in.CommitID); err != nil {
			return nil, err
		}
		v.commit = in.CommitID
	}
	p.reviews = append(p.reviews, v)
	p.reviewers = slices.DeleteFunc(p.reviewers, func(a *account) bool { return a == v.author })
	p.updated = c.forge.now()
	return v, c.forge.emitReview(c, p, v, "submitted")
}

func (c *call) dismissReview() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	id := c.number("review_id")
	at := slices.IndexFunc(p.reviews, func(v *review) bool { return v.id == id })
	if at < 0 {
		return answer{}, errNotFound
	}
	in, err := decode[struct {
		Message string `json:"message"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	v := p.reviews[at]
	if in.Message == "" || v.state != reviewApproved && v.state != reviewChanges {
		return answer{}, refuse(http.StatusUnprocessableEntity, "Can not dismiss this review, or without a message")
	}
	v.state = reviewDismissed
	p.updated = c.forge.now()
	if err := c.forge.emitReview(c, p, v, "dismissed"); err != nil {
		return answer{}, err
	}
	return ok(c.forge.shape.review(c.repo, p, v))
}

func (c *call) getRequestedReviewers() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	return ok(object{"users": each(p.reviewers, c.forge.shape.account), "teams": each(p.teams, c.forge.shape.team)})
}

func (c *call) requestReviewers() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	in, err := decode[struct {
		Reviewers     []string `json:"reviewers"`
		TeamReviewers []string `json:"team_reviewers"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	for _, name := range in.Reviewers {
		a := c.forge.who.account(name)
		if a == nil || a == p.author || c.forge.who.roleOf(a, c.repo) < RoleRead {
			return answer{}, refuse(http.StatusUnprocessableEntity, "Reviews may only be requested from collaborators.")
		}
		if !slices.Contains(p.reviewers, a) {
			p.reviewers = append(p.reviewers, a)
		}
	}
	for _, slug := range in.TeamReviewers {
		t := c.forge.who.team(c.repo.owner.login, slug)
		if t == nil {
			return answer{}, refuse(http.StatusUnprocessableEntity, "Reviews may only be requested from teams of the organization.")
		}
		if !slices.Contains(p.teams, t) {
			p.teams = append(p.teams, t)
		}
	}
	p.updated = c.forge.now()
	return created(c.forge.shape.pull(c.repo, p))
}

func (s shapes) comment(r *repository, p *pull, m *comment) object {
	return object{
		"id": m.id, "node_id": nodeID("IC", m.id), "user": s.account(m.author), "body": m.body,
		"url":        s.api("/repos/%s/issues/comments/%d", r.fullName(), m.id),
		"html_url":   s.html("/%s/pull/%d#issuecomment-%d", r.fullName(), p.number, m.id),
		"issue_url":  s.api("/repos/%s/issues/%d", r.fullName(), p.number),
		"created_at": stamp(m.created), "updated_at": stamp(m.created), "author_association": s.association(r, m.author),
	}
}

func (c *call) listComments() (answer, error) {
	p := c.repo.pull(c.number("issue_number"))
	if p == nil {
		return answer{}, errNotFound
	}
	return ok(each(pageOf(c, p.comments), func(m *comment) object { return c.forge.shape.comment(c.repo, p, m) }))
}

func (c *call) createComment() (answer, error) {
	p := c.repo.pull(c.number("issue_number"))
	if p == nil {
		return answer{}, errNotFound
	}
	in, err := decode[struct {
		Body string `json:"body"`
	}](c)
	if err != nil {
		return answer{}, err
	}
	if in.Body == "" {
		return answer{}, invalid("IssueComment", "body", "missing_field", "body is missing")
	}
	m := &comment{id: c.forge.ids.next(), author: c.by.account, body: in.Body, created: c.forge.now()}
	p.comments = append(p.comments, m)
	p.updated = m.created
	return created(c.forge.shape.comment(c.repo, p, m))
}
