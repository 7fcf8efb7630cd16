package devforge

// getIssue gives a pull request as an issue, which alone says who closed it.
func (c *call) getIssue() (answer, error) {
	p := c.repo.pull(c.number("issue_number"))
	if p == nil {
		return answer{}, errNotFound
	}
	s, r := c.forge.shape, c.repo
	url, page := s.api("/repos/%s/issues/%d", r.fullName(), p.number), s.html("/%s/pull/%d", r.fullName(), p.number)
	return ok(object{
		"id": p.id, "node_id": nodeID("PR", p.id), "number": p.number, "state": p.state(), "locked": false, "title": p.title,
		"body": textOrNull(p.body), "user": s.account(p.author), "url": url, "html_url": page, "repository_url": s.api("/repos/%s", r.fullName()),
		"labels_url": url + "/labels{/name}", "comments_url": url + "/comments", "events_url": url + "/events", "comments": len(p.comments),
		"labels": []object{}, "assignee": nil, "assignees": []object{}, "milestone": nil, "active_lock_reason": nil,
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "closed_at": stampOrNull(p.closedAt), "closed_by": s.user(p.closedBy),
		"author_association": s.association(r, p.author), "draft": p.draft, "state_reason": nil,
		"pull_request": object{
			"url": s.api("/repos/%s/pulls/%d", r.fullName(), p.number), "html_url": page, "diff_url": page + ".diff", "patch_url": page + ".patch",
			"merged_at": stampOrNull(p.mergedAt),
		},
	})
}
