package devforge

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

func (r *repository) pull(number int64) *pull {
	if number < 1 || number > int64(len(r.pulls)) {
		return nil
	}
	return r.pulls[number-1]
}

// thePull returns the pull request that the path names.
func (c *call) thePull() (*pull, error) {
	p := c.repo.pull(c.number("pull_number"))
	if p == nil {
		return nil, errNotFound
	}
	return p, nil
}

// listPulls filters by state, head and base, and sorts, as GitHub does.
func (c *call) listPulls() (answer, error) {
	state := cmp.Or(c.query("state"), "open")
	if state != "open" && state != "closed" && state != "all" {
		return answer{}, invalid("PullRequest", "state", "invalid", "state is not open, closed or all")
	}
	found := slices.DeleteFunc(slices.Clone(c.repo.pulls), func(p *pull) bool {
		return state != "all" && p.state() != state ||
			c.query("base") != "" && c.query("base") != p.base ||
			c.query("head") != "" && c.query("head") != c.repo.owner.login+":"+p.head
	})
	c.sortPulls(found)
	return ok(each(pageOf(c, found), func(p *pull) object { return c.forge.shape.pull(c.repo, p) }))
}

func (c *call) sortPulls(pulls []*pull) {
	sort, direction := c.query("sort"), c.query("direction")
	slices.SortStableFunc(pulls, func(a, b *pull) int {
		switch sort {
		case "updated":
			return cmp.Or(a.updated.Compare(b.updated), cmp.Compare(a.number, b.number))
		case "popularity":
			return cmp.Or(cmp.Compare(len(a.comments), len(b.comments)), cmp.Compare(a.number, b.number))
		}
		return cmp.Compare(a.number, b.number)
	})
	if direction == "desc" || direction == "" && (sort == "" || sort == "created") {
		slices.Reverse(pulls)
	}
}

type pullRequest struct {
	Title string  `json:"title"`
	Body  *string `json:"body"`
	Head  string  `json:"head"`
	Base  string  `json:"base"`
	State string  `json:"state"`
	Draft bool    `json:"draft"`
}

func (c *call) createPull() (answer, error) {
	in, err := decode[pullRequest](c)
	if err != nil {
		return answer{}, err
	}
	p, err := c.newPull(in)
	if err != nil {
		return answer{}, err
	}
	if err := c.repo.git.SetRef(c.ctx, p.ref("head"), p.headSHA); err != nil {
		return answer{}, err
	}
	c.repo.pulls = append(c.repo.pulls, p)
	return c.changedPull(http.StatusCreated, p, pullEvent{pull: p, action: "opened"})
}

// newPull checks the request.
func (c *call) newPull(in pullRequest) (*pull, error) {
	if owner, _, named := strings.Cut(in.Head, ":"); named && !strings.EqualFold(owner, c.repo.owner.login) {
		return nil, invalid("PullRequest", "head", "invalid", "there are no forks")
	}
	now := c.forge.now()
	p := &pull{
		id: c.forge.ids.next(), number: len(c.repo.pulls) + 1, title: in.Title, author: c.by.account, draft: in.Draft,
		head: withoutOwner(in.Head), base: in.Base, created: now, updated: now,
	}
	p.headSHA, p.baseSHA = c.repo.refs[branchPrefix+p.head], c.repo.refs[branchPrefix+p.base]
	if in.Body != nil {
		p.body = *in.Body
	}
	switch {
	case p.title == "":
		return nil, invalid("PullRequest", "title", "missing_field", "title is missing")
	case p.headSHA == "":
		return nil, invalid("PullRequest", "head", "invalid", "no such branch")
	case p.baseSHA == "":
		return nil, invalid("PullRequest", "base", "invalid", "no such branch")
	}
	return p, c.checkNew(p)
}

// checkNew refuses a second pull request for the same two branches, and one without commits.
func (c *call) checkNew(p *pull) error {
	for _, other := range c.repo.pulls {
		if !other.closed() && other.head == p.head && other.base == p.base {
			label := c.repo.owner.login + ":" + p.head
			return invalid("PullRequest", "", "custom", fmt.Sprintf("A pull request already exists for %s.", label))
		}
	}
	if c.repo.git.IsAncestor(p.headSHA, p.baseSHA) {
		return invalid("PullRequest", "", "custom", fmt.Sprintf("No commits between %s and %s", p.base, p.head))
	}
	return nil
}

// changedPull tells of a change and answers with what the pull request has become.
func (c *call) changedPull(status int, p *pull, told ...pullEvent) (answer, error) {
	for _, e := range told {
		if err := c.forge.emitPull(c.ctx, c.repo, c.by.account, e); err != nil {
			return answer{}, err
		}
	}
	shape, err := c.forge.fullPull(c.ctx, c.repo, p)
	return answer{status, shape}, err
}

func (c *call) getPull() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	return c.changedPull(http.StatusOK, p)
}

// mayEdit lets the author change a pull request, and who may write.
func (c *call) mayEdit(p *pull) error {
	if p.author != c.by.account && c.forge.roleIn(c.by, c.repo) < RoleWrite {
		return refuse(http.StatusForbidden, "Must have write rights to Repository.")
	}
	return nil
}

// updatePull changes title, body, base and state.
func (c *call) updatePull() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	if err := c.mayEdit(p); err != nil {
		return answer{}, err
	}
	in, err := decode[pullRequest](c)
	if err != nil {
		return answer{}, err
	}
	if err := c.checkBase(p, in.Base); err != nil {
		return answer{}, err
	}
	var told []pullEvent
	if in.State != "" && in.State != p.state() {
		e, err := c.setState(p, in.State)
		if err != nil {
			return answer{}, err
		}
		told = append(told, e)
	}
	if changes := c.edit(p, in); len(changes) > 0 {
		told = append(told, pullEvent{pull: p, action: "edited", more: object{"changes": changes}})
	}
	p.updated = c.forge.now()
	return c.changedPull(http.StatusOK, p, told...)
}

// checkBase refuses another base that is none.
func (c *call) checkBase(p *pull, base string) error {
	if _, found := c.repo.refs[branchPrefix+base]; base != "" && base != p.base && (!found || p.closed()) {
		return invalid("PullRequest", "base", "invalid", "no such branch, or the pull request is closed")
	}
	return nil
}

// edit sets what is given, and gives what was there before.
func (c *call) edit(p *pull, in pullRequest) object {
	changes := object{}
	if in.Title != "" && in.Title != p.title {
		changes["title"] = object{"from": p.title}
		p.title = in.Title
	}
	if in.Body != nil && *in.Body != p.body {
		changes["body"] = object{"from": p.body}
		p.body = *in.Body
	}
	if in.Base != "" && in.Base != p.base {
		changes["base"] = object{"ref": object{"from": p.base}, "sha": object{"from": p.baseSHA}}
		p.base, p.baseSHA = in.Base, c.repo.refs[branchPrefix+in.Base]
	}
	return changes
}

// setState closes or reopens a pull request. A merged one stays closed, and so does one without
// its branch.
func (c *call) setState(p *pull, state string) (pullEvent, error) {
	switch {
	case state == "closed":
		p.close(c.by.account, c.forge.now())
		return pullEvent{pull: p, action: "closed"}, nil
	case state != "open":
		return pullEvent{}, invalid("PullRequest", "state", "invalid", "state is not open or closed")
	case p.merged():
		return pullEvent{}, invalid("PullRequest", "state", "invalid", "state cannot be changed. The pull request is merged.")
	}
	head, base := c.repo.refs[branchPrefix+p.head], c.repo.refs[branchPrefix+p.base]
	if head == "" || base == "" {
		return pullEvent{}, invalid("PullRequest", "state", "invalid", "state cannot be changed. A branch has been deleted.")
	}
	if err := c.checkNew(&pull{head: p.head, base: p.base, headSHA: head, baseSHA: base}); err != nil {
		return pullEvent{}, err
	}
	if err := c.repo.git.SetRef(c.ctx, p.ref("head"), head); err != nil {
		return pullEvent{}, err
	}
	p.headSHA, p.baseSHA, p.closedBy, p.closedAt = head, base, nil, time.Time{}
	return pullEvent{pull: p, action: "reopened"}, nil
}

func (c *call) listPullFiles() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	changes, err := c.forge.pullChanges(c.ctx, c.repo, p)
	if err != nil {
		return answer{}, err
	}
	return ok(c.forge.shape.changes(c.repo, p.headSHA, pageOf(c, changes)))
}

func (c *call) listPullCommits() (answer, error) {
	p, err := c.thePull()
	if err != nil {
		return answer{}, err
	}
	commits, err := c.repo.git.Log(c.ctx, "--reverse", p.commitRange())
	if err != nil {
		return answer{}, err
	}
	return ok(each(pageOf(c, commits), c.commit))
}
