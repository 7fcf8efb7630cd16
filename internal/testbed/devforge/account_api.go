package devforge

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
)

func (c *call) getAuthenticatedUser() (answer, error) {
	if c.by.integration() != nil {
		return answer{}, c.notGranted()
	}
	profile := c.forge.shape.profile(c.by.account)
	maps.Copy(profile, object{
		"private_gists": 0, "total_private_repos": 0, "owned_private_repos": 0, "disk_usage": 0, "collaborators": 0,
		"two_factor_authentication": false,
	})
	return ok(profile)
}

func (c *call) getUser() (answer, error) {
	a := c.forge.who.account(c.req.PathValue("username"))
	if a == nil {
		return answer{}, errNotFound
	}
	return ok(c.forge.shape.profile(a))
}

func (c *call) getTeam() (answer, error) {
	t := c.forge.who.team(c.req.PathValue("org"), c.req.PathValue("team_slug"))
	if t == nil {
		return answer{}, errNotFound
	}
	shape := c.forge.shape.team(t)
	maps.Copy(shape, object{
		"members_count": len(t.members), "repos_count": 0, "created_at": stamp(t.made), "updated_at": stamp(t.made),
		"organization": c.forge.shape.organization(c.forge.who.account(t.organization)),
	})
	return ok(shape)
}

func (c *call) listTeamMembers() (answer, error) {
	t := c.forge.who.team(c.req.PathValue("org"), c.req.PathValue("team_slug"))
	if t == nil {
		return answer{}, errNotFound
	}
	return ok(each(pageOf(c, t.members), c.forge.shape.account))
}

func (c *call) getTeamMembership() (answer, error) {
	org, slug, name := c.req.PathValue("org"), c.req.PathValue("team_slug"), c.req.PathValue("username")
	t := c.forge.who.team(org, slug)
	if t == nil || !slices.ContainsFunc(t.members, func(a *account) bool { return strings.EqualFold(a.login, name) }) {
		return answer{}, errNotFound
	}
	url := c.forge.shape.api("/orgs/%s/teams/%s/memberships/%s", org, slug, name)
	return ok(object{"url": url, "role": "member", "state": "active"})
}

func (c *call) getPermission() (answer, error) {
	a := c.forge.who.account(c.req.PathValue("username"))
	if a == nil {
		return answer{}, errNotFound
	}
	role := c.forge.who.roleOf(a, c.repo)
	user := c.forge.shape.account(a)
	user["role_name"], user["permissions"] = role.String(), rights(role)
	return ok(object{"permission": role.String(), "role_name": role.String(), "user": user})
}

func (c *call) getApp() (answer, error) { return ok(c.forge.shape.integration(c.by.app)) }

func (c *call) getRepositoryInstallation() (answer, error) {
	repo, err := c.forge.repository(c.ctx, c.req.PathValue("owner")+"/"+c.req.PathValue("repo"))
	if err != nil {
		return answer{}, errNotFound
	}
	return c.findInstallation(func(i *installation) bool { return i.covers(repo) })
}

func (c *call) findInstallation(accept func(*installation) bool) (answer, error) {
	found := c.forge.who.installed(c.by.app, accept)
	if found == nil {
		return answer{}, errNotFound
	}
	return ok(c.forge.shape.installation(found))
}

// tokenRequest narrows a token. Nil leaves what the installation has.
type tokenRequest struct {
	Repositories  []string        `json:"repositories"`
	RepositoryIDs []int64         `json:"repository_ids"`
	Permissions   json.RawMessage `json:"permissions"`
}

func (c *call) createAccessToken() (answer, error) {
	id := c.number("installation_id")
	installed := c.forge.who.installed(c.by.app, func(i *installation) bool { return i.id == id })
	if installed == nil {
		return answer{}, errNotFound
	}
	in, err := decode[tokenRequest](c)
	if err != nil {
		return answer{}, err
	}
	granted, err := narrowed(installed.app.permissions, in.Permissions)
	if err != nil {
		return answer{}, err
	}
	repositories, err := c.chosen(installed, in)
	if err != nil {
		return answer{}, err
	}
	token, expires := c.forge.issueFor(installed, granted, repositories)
	selection := installed.selection()
	if repositories != nil {
		selection = "selected"
	}
	return created(object{
		"token": token, "expires_at": stamp(expires), "permissions": granted, "repository_selection": selection,
	})
}

// narrowed returns the permissions asked for, which must be among those held.
func narrowed(held Permissions, asked json.RawMessage) (Permissions, error) {
	if len(asked) == 0 || string(asked) == "null" {
		return held, nil
	}
	var wanted Permissions
	if err := json.Unmarshal(asked, &wanted); err != nil {
		return nil, refuse(http.StatusBadRequest, "Problems parsing JSON")
	}
	if len(wanted) == 0 {
		return held, nil
	}
	for name, level := range wanted {
		if !held.allows(name, level) {
			return nil, refuse(http.StatusUnprocessableEntity, "The permissions requested are not granted to this installation.")
		}
	}
	return wanted, nil
}

// chosen returns the repositories that a token is narrowed to; nil for all that are installed.
func (c *call) chosen(installed *installation, in tokenRequest) (map[int64]bool, error) {
	if len(in.Repositories)+len(in.RepositoryIDs) == 0 {
		return nil, nil
	}
	ids := map[int64]bool{}
	for _, name := range in.Repositories {
		repo, err := c.forge.repository(c.ctx, installed.account.login+"/"+name)
		if err != nil || !installed.covers(repo) {
			return nil, noAccess()
		}
		ids[repo.id] = true
	}
	for _, id := range in.RepositoryIDs {
		repo := c.forge.repos.byID(id)
		if repo == nil || !installed.covers(repo) {
			return nil, noAccess()
		}
		ids[id] = true
	}
	return ids, nil
}

func noAccess() error {
	return refuse(http.StatusUnprocessableEntity,
		"There is at least one repository that does not exist or is not accessible to the parent installation.")
}

func (g *registry) byID(id int64) *repository {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, repo := range g.byName {
		if repo.id == id {
			return repo
		}
	}
	return nil
}
