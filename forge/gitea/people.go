package gitea

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/wire"
)

// Self returns our own account. It is requested once.
func (c *Client) Self(ctx context.Context) (forge.Account, error) {
	c.mu.Lock()
	known := c.self
	c.mu.Unlock()
	if known.Known() {
		return known, nil
	}
	var found user
	err := c.api.Get(ctx, c.root("user"), nil, &found)
	if err == nil && !found.account().Known() {
		err = wire.Distrusted("the answer names nobody")
	}
	if err != nil {
		return forge.Account{}, c.api.Explain(err, "read our own account")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self, c.address = found.account(), found.Email
	return c.self, nil
}

// author returns our account as the author of a commit, by the address from which the server knows
// it.
func (c *Client) author(ctx context.Context, when time.Time) (forge.Signature, error) {
	self, err := c.Self(ctx)
	if when.IsZero() {
		when = c.now()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return forge.Signature{Name: self.Login, Address: c.address, At: when}, err
}

// Repository returns the repository. It is requested once.
func (c *Client) Repository(ctx context.Context) (forge.Repository, error) {
	c.mu.Lock()
	known := c.repository
	c.mu.Unlock()
	if known.ID != 0 {
		return known.repository(), nil
	}
	return c.readRepository(ctx)
}

func (c *Client) readRepository(ctx context.Context) (forge.Repository, error) {
	var found repository
	err := c.api.Get(ctx, "", nil, &found)
	if err == nil && found.ID == 0 {
		err = wire.Distrusted("it has no id")
	}
	if err != nil {
		return forge.Repository{}, c.api.Explain(err, "read repository %s/%s", c.owner, c.name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.repository = found
	return found.repository(), nil
}

func (r repository) repository() forge.Repository {
	return forge.Repository{ID: r.ID, FullName: r.FullName, DefaultBranch: r.DefaultBranch}
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
		return forge.Account{ID: id, Login: bare, Type: forge.TypeUser}, nil
	}
	nobody := forge.Account{Login: name}
	if !login.MatchString(name) {
		return nobody, nil
	}
	var found user
	err := c.api.Explain(c.api.Get(ctx, c.root("users/%s", name), nil, &found), "read account %s", name)
	switch {
	case forge.KindOf(err) == forge.NotFound:
		return nobody, nil
	case err != nil || !found.account().Known():
		return nobody, err
	}
	return found.account(), nil
}

// Permissions returns what people may do with the repository. Gitea tells that to administrators of
// the repository. Others see whom an issue may be assigned to. That list has everybody who may
// write, and some members of teams, whose approval Gitea does not count.
func (c *Client) Permissions(ctx context.Context, who ...forge.Account) ([]forge.Permission, error) {
	var found []forge.Permission
	for _, one := range who {
		if !login.MatchString(one.Login) {
			continue
		}
		if c.isBlind() {
			return c.assignable(ctx, who)
		}
		var level struct {
			Permission string `json:"permission"`
			User       *user  `json:"user"`
		}
		err := c.api.Explain(c.api.Get(ctx, at("collaborators/%s/permission", one.Login), nil, &level), "read what %s may do with the repository", one.Login)
		switch forge.KindOf(err) {
		case forge.NotFound:
			continue
		case forge.Forbidden:
			c.setBlind()
			return c.assignable(ctx, who)
		}
		if err != nil {
			return nil, err
		}
		write := slices.Contains([]string{"write", "admin", "owner"}, level.Permission)
		// The login may have passed to another account since the review.
		found = append(found, forge.Permission{Account: one, Write: write && level.User.account().Same(one)})
	}
	return found, nil
}

func (c *Client) isBlind() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.blind
}

func (c *Client) setBlind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.blind = true
}

func (c *Client) assignable(ctx context.Context, who []forge.Account) ([]forge.Permission, error) {
	var users []user
	if err := c.api.Get(ctx, "assignees", nil, &users); err != nil {
		return nil, c.api.Explain(err, "read who may write to the repository")
	}
	found := make([]forge.Permission, 0, len(who))
	for _, one := range who {
		write := slices.ContainsFunc(users, func(u user) bool { return u.account().Same(one) })
		found = append(found, forge.Permission{Account: one, Write: write})
	}
	return found, nil
}

// byAddress returns the account of an address; one that is not Known if the server shows none.
func (c *Client) byAddress(ctx context.Context, address string) (forge.Account, error) {
	var found struct {
		Data []user `json:"data"`
	}
	err := c.api.Get(ctx, c.root("users/search"), url.Values{"q": {address}, "limit": {"10"}}, &found)
	if err != nil {
		return forge.Account{}, c.api.Explain(err, "look for a co-author")
	}
	for _, one := range found.Data {
		if strings.EqualFold(one.Email, address) {
			return one.account(), nil
		}
	}
	return forge.Account{}, nil
}
