package devforge

import (
	"encoding/base64"
	"fmt"
	"maps"
	"strings"
	"time"
)

// shapes make the JSON objects of GitHub's API from what the forge knows.
type shapes struct {
	root string
	who  *directory
}

// api returns a URL below the root of the API.
func (s shapes) api(format string, args ...any) string {
	return s.root + apiPrefix + fmt.Sprintf(format, args...)
}

// html returns a URL of a page.
func (s shapes) html(format string, args ...any) string { return s.root + fmt.Sprintf(format, args...) }

// nodeID returns a GraphQL name, which GitHub's answers carry everywhere.
func nodeID(kind string, id any) string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%v", kind, id))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// stampOrNull returns null for the zero time.
func stampOrNull(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return stamp(t)
}

// textOrNull returns null for no text.
func textOrNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// user returns an account in its short form; nil is null.
func (s shapes) user(a *account) any {
	if a == nil {
		return nil
	}
	return s.account(a)
}

func (s shapes) account(a *account) object {
	name := strings.ReplaceAll(strings.ReplaceAll(a.login, "[", "%5B"), "]", "%5D")
	url := s.api("/users/%s", name)
	return object{
		"login": a.login, "id": a.id, "node_id": nodeID("U", a.id), "type": a.kind, "site_admin": false,
		"avatar_url": s.html("/avatars/%d", a.id), "gravatar_id": "", "url": url, "html_url": s.html("/%s", name),
		"followers_url": url + "/followers", "following_url": url + "/following{/other_user}",
		"gists_url": url + "/gists{/gist_id}", "starred_url": url + "/starred{/owner}{/repo}",
		"subscriptions_url": url + "/subscriptions", "organizations_url": url + "/orgs", "repos_url": url + "/repos",
		"events_url": url + "/events{/privacy}", "received_events_url": url + "/received_events", "user_view_type": "public",
	}
}

// profile returns an account in its long form.
func (s shapes) profile(a *account) object {
	profile, email := s.account(a), any(a.email)
	if a.kind == kindBot {
		email = nil
	}
	maps.Copy(profile, object{
		"name": a.login, "company": nil, "blog": "", "location": nil, "email": email, "hireable": nil, "bio": nil,
		"twitter_username": nil, "public_repos": 0, "public_gists": 0, "followers": 0, "following": 0,
		"created_at": stamp(a.created), "updated_at": stamp(a.created),
	})
	return profile
}

// organization returns an organization as its teams have it.
func (s shapes) organization(a *account) object {
	url := s.api("/orgs/%s", a.login)
	return object{
		"login": a.login, "id": a.id, "node_id": nodeID("O", a.id), "url": url, "repos_url": url + "/repos", "events_url": url + "/events",
		"hooks_url": url + "/hooks", "issues_url": url + "/issues", "members_url": url + "/members{/member}",
		"public_members_url": url + "/public_members{/member}", "avatar_url": s.html("/avatars/%d", a.id), "description": nil,
		"html_url": s.html("/%s", a.login), "has_organization_projects": false, "has_repository_projects": false, "public_repos": 0,
		"public_gists": 0, "followers": 0, "following": 0, "type": a.kind, "created_at": stamp(a.created), "updated_at": stamp(a.created),
		"archived_at": nil,
	}
}

// repositoryLinks are the URLs of a repository below its own.
var repositoryLinks = map[string]string{
	"archive_url": "/{archive_format}{/ref}", "assignees_url": "/assignees{/user}", "blobs_url": "/git/blobs{/sha}",
	"branches_url": "/branches{/branch}", "collaborators_url": "/collaborators{/collaborator}", "comments_url": "/comments{/number}",
	"commits_url": "/commits{/sha}", "compare_url": "/compare/{base}...{head}", "contents_url": "/contents/{+path}",
	"contributors_url": "/contributors", "deployments_url": "/deployments", "downloads_url": "/downloads", "events_url": "/events",
	"forks_url": "/forks", "git_commits_url": "/git/commits{/sha}", "git_refs_url": "/git/refs{/sha}", "git_tags_url": "/git/tags{/sha}",
	"hooks_url": "/hooks", "issue_comment_url": "/issues/comments{/number}", "issue_events_url": "/issues/events{/number}",
	"issues_url": "/issues{/number}", "keys_url": "/keys{/key_id}", "labels_url": "/labels{/name}", "languages_url": "/languages",
	"merges_url": "/merges", "milestones_url": "/milestones{/number}",
	"notifications_url": "/notifications{?since,all,participating}", "pulls_url": "/pulls{/number}", "releases_url": "/releases{/id}",
	"stargazers_url": "/stargazers", "statuses_url": "/statuses/{sha}", "subscribers_url": "/subscribers",
	"subscription_url": "/subscription", "tags_url": "/tags", "teams_url": "/teams", "trees_url": "/git/trees{/sha}",
}

// repository returns a repository in its usual form.
func (s shapes) repository(r *repository) object {
	url, page := s.api("/repos/%s", r.fullName()), s.html("/%s", r.fullName())
	visibility := "private"
	if r.public.Load() {
		visibility = "public"
	}
	shape := object{
		"id": r.id, "node_id": nodeID("R", r.id), "name": r.name, "full_name": r.fullName(), "owner": s.account(r.owner),
		"private": visibility == "private", "visibility": visibility, "html_url": page, "description": nil, "fork": false, "url": url,
		"created_at": stamp(r.created), "updated_at": stamp(r.pushed), "pushed_at": stamp(r.pushed),
		"clone_url": page + ".git", "git_url": page + ".git", "ssh_url": page + ".git", "svn_url": page, "mirror_url": nil,
		"homepage": nil, "language": nil, "license": nil, "size": 0, "stargazers_count": 0, "watchers_count": 0, "watchers": 0,
		"forks_count": 0, "forks": 0, "open_issues_count": r.openPulls(), "open_issues": r.openPulls(), "default_branch": r.defaultBranch,
		"has_issues": true, "has_projects": false, "has_downloads": false, "has_wiki": false, "has_pages": false,
		"has_discussions": false, "archived": false, "disabled": false, "topics": []string{}, "is_template": false,
		"allow_forking": false, "web_commit_signoff_required": false,
	}
	for name, path := range repositoryLinks {
		shape[name] = url + path
	}
	return shape
}

// fullRepository returns a repository as a request by name gets it.
func (s shapes) fullRepository(r *repository, role Role) object {
	shape := s.repository(r)
	maps.Copy(shape, object{
		"network_count": 0, "subscribers_count": 0, "allow_merge_commit": true, "allow_squash_merge": true,
		"allow_rebase_merge": true, "allow_auto_merge": false, "delete_branch_on_merge": r.tidy.Load(), "permissions": rights(role),
	})
	return shape
}

func rights(role Role) object {
	return object{
		"pull": role >= RoleRead, "triage": role >= RoleWrite, "push": role >= RoleWrite,
		"maintain": role >= RoleAdmin, "admin": role >= RoleAdmin,
	}
}

// integration returns an app; nil is null.
func (s shapes) integration(a *app) any {
	if a == nil {
		return nil
	}
	return object{
		"id": a.id, "slug": a.slug, "node_id": nodeID("A", a.id), "owner": s.account(a.owner), "name": a.slug,
		"description": "", "external_url": s.html("/apps/%s", a.slug), "html_url": s.html("/apps/%s", a.slug),
		"created_at": stamp(a.created), "updated_at": stamp(a.created), "permissions": a.permissions, "events": []string{},
	}
}

func (s shapes) installation(i *installation) object {
	return object{
		"id": i.id, "app_id": i.app.id, "app_slug": i.app.slug, "target_id": i.account.id, "target_type": i.account.kind,
		"account": s.account(i.account), "repository_selection": i.selection(), "permissions": i.app.permissions, "events": []string{},
		"access_tokens_url": s.api("/app/installations/%d/access_tokens", i.id), "repositories_url": s.api("/installation/repositories"),
		"html_url": s.html("/settings/installations/%d", i.id), "single_file_name": nil,
		"created_at": stamp(i.created), "updated_at": stamp(i.created), "suspended_by": nil, "suspended_at": nil,
	}
}

// with returns a copy of an object that has more members.
func with(base, more object) object {
	all := maps.Clone(base)
	maps.Copy(all, more)
	return all
}
