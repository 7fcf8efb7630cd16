package github

import (
	"context"
	"strings"

	"github.com/google/go-github/v60/github"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// Self returns the account that we act as. It is requested once.
func (c *Client) Self(ctx context.Context) (forge.Account, error) {
	c.mu.Lock()
	self := c.self
	c.mu.Unlock()
	if self.Known() {
		return self, nil
	}
	self, err := c.readSelf(ctx)
	if err == nil && !self.Known() {
		err = wire.Distrusted("the answer names nobody")
	}
	if err != nil {
		return forge.Account{}, c.explain(err, "read the account of the credentials")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self = self
	return self, nil
}

// readSelf asks whose the token is. An app acts as an account that is named after it.
func (c *Client) readSelf(ctx context.Context) (forge.Account, error) {
	as, isApp := c.credentials.(*installation)
	if !isApp {
		user, _, err := c.api.Users.Get(ctx, "")
		return account(user), err
	}
	app, _, err := as.api.Apps.Get(ctx, "")
	if err != nil {
		return forge.Account{}, err
	}
	name := app.GetSlug() + "[bot]"
	if !login.MatchString(name) {
		return forge.Account{}, wire.Distrusted("the answer names no app")
	}
	bot, _, err := c.api.Users.Get(ctx, name)
	return account(bot), err
}

// Repository returns the repository that the client works on. It is requested once.
func (c *Client) Repository(ctx context.Context) (forge.Repository, error) {
	c.mu.Lock()
	known := c.repository
	c.mu.Unlock()
	if known.ID != 0 {
		return known, nil
	}
	return c.readRepository(ctx)
}

// readRepository reads the repository, and remembers it.
func (c *Client) readRepository(ctx context.Context) (forge.Repository, error) {
	found, _, err := c.api.Repositories.Get(ctx, c.owner, c.name)
	if err == nil && found.GetID() == 0 {
		err = wire.Distrusted("it has no id")
	}
	if err != nil {
		return forge.Repository{}, c.explain(err, "read repository %s/%s", c.owner, c.name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repository = forge.Repository{
		ID: found.GetID(), FullName: found.GetFullName(), DefaultBranch: found.GetDefaultBranch(),
		DeleteBranchOnMerge: found.GetDeleteBranchOnMerge(),
	}
	return c.repository, nil
}

// Accounts returns the accounts of some logins, in their order. A login that nobody has is an
// account that is not Known.
func (c *Client) Accounts(ctx context.Context, logins ...string) ([]forge.Account, error) {
	accounts := make([]forge.Account, 0, len(logins))
	for _, name := range logins {
		found, err := c.accountOf(ctx, name)
		if err != nil {
			return nil, err
		}
		accounts = append(accounts, found)
	}
	return accounts, nil
}

func (c *Client) accountOf(ctx context.Context, name string) (forge.Account, error) {
	if bare, id, numbered := forge.Numbered(name); numbered {
		return forge.Account{ID: id, Login: bare}, nil
	}
	nobody := forge.Account{Login: name}
	if !login.MatchString(name) {
		return nobody, nil
	}
	user, _, err := c.api.Users.Get(ctx, name)
	if err := c.explain(err, "read account %s", name); err != nil {
		if forge.KindOf(err) == forge.NotFound {
			return nobody, nil
		}
		return nobody, err
	}
	return account(user), nil
}

// Team returns a team and everybody in it. The name is a slug, or organization/slug; a slug alone
// is one of the repository's owner. Of a name with a number the number says nothing: the caller
// compares it.
func (c *Client) Team(ctx context.Context, name string) (forge.Team, error) {
	bare, _, _ := forge.Numbered(name)
	organization, slug, qualified := strings.Cut(bare, "/")
	if !qualified {
		organization, slug = c.owner, bare
	}
	if !ownerName.MatchString(organization) || !teamSlug.MatchString(slug) {
		return forge.Team{}, wire.Invalid("%q is not the name of a team", name)
	}
	id, err := c.teamID(ctx, organization, slug)
	if err != nil {
		return forge.Team{}, err
	}
	members, err := allCounted(func(page github.ListOptions) ([]*github.User, *github.Response, error) {
		return c.api.Teams.ListTeamMembersBySlug(ctx, organization, slug, &github.TeamListTeamMembersOptions{ListOptions: page})
	})
	if err != nil {
		return forge.Team{}, c.explain(err, "read members of team %s/%s", organization, slug)
	}
	// GitHub lists members by slug alone, which may have become another team's.
	switch after, err := c.teamID(ctx, organization, slug); {
	case err != nil:
		return forge.Team{}, err
	case after != id:
		return forge.Team{}, c.explain(wire.Distrusted("the slug is another team's now"), "read members of team %s/%s", organization, slug)
	}
	return forge.Team{ID: id, Organization: organization, Slug: slug, Members: convert(members, account)}, nil
}

func (c *Client) teamID(ctx context.Context, organization, slug string) (int64, error) {
	found, _, err := c.api.Teams.GetTeamBySlug(ctx, organization, slug)
	if err == nil && found.GetID() == 0 {
		err = wire.Distrusted("it has no id")
	}
	return found.GetID(), c.explain(err, "read team %s/%s", organization, slug)
}
