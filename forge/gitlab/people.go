package gitlab

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/coauthors"
	"github.com/sluice-dev/sluice/forge/wire"
)

// developer is the level of those who may push and open merge requests.
const developer = 30

// Self returns our own account. It is requested once.
func (c *Client) Self(ctx context.Context) (forge.Account, error) {
	c.mu.Lock()
	known := c.self
	c.mu.Unlock()
	if known.Known() {
		return known, nil
	}
	var found user
	err := c.api.Get(ctx, root("user"), nil, &found)
	if err == nil && !found.account().Known() {
		err = wire.Distrusted("the answer names nobody")
	}
	if err != nil {
		return forge.Account{}, c.api.Explain(err, "read our own account")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.self, c.address = found.account(), strings.ToLower(cmp.Or(found.CommitEmail, found.Email))
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

// Repository returns the project. It is requested once.
func (c *Client) Repository(ctx context.Context) (forge.Repository, error) {
	found, err := c.readProject(ctx, false)
	return found.repository(), err
}

// readProject reads the project, the first time or again.
func (c *Client) readProject(ctx context.Context, again bool) (project, error) {
	c.mu.Lock()
	known := c.project
	c.mu.Unlock()
	if known.ID != 0 && !again {
		return known, nil
	}
	var found project
	err := c.api.Get(ctx, "../"+at("%s", c.owner+"/"+c.name), nil, &found)
	if err == nil && found.ID == 0 {
		err = wire.Distrusted("it has no id")
	}
	if err != nil {
		return project{}, c.api.Explain(err, "read project %s/%s", c.owner, c.name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.project = found
	return found, nil
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
	if !pathName.MatchString(name) {
		return nobody, nil
	}
	var found []user
	if err := c.api.Get(ctx, root("users"), url.Values{"username": {name}}, &found); err != nil {
		return nobody, c.api.Explain(err, "read account %s", name)
	}
	i := slices.IndexFunc(found, func(u user) bool { return strings.EqualFold(u.Username, name) })
	if i < 0 || !found[i].account().Known() {
		return nobody, nil
	}
	return c.typed(ctx, found[i].account())
}

// typed returns an account with its type. Lists don't have it, and it never changes.
func (c *Client) typed(ctx context.Context, who forge.Account) (forge.Account, error) {
	if !who.Known() || who.Type != "" {
		return who, nil
	}
	c.mu.Lock()
	self := c.self
	c.mu.Unlock()
	if who.Same(self) {
		return self, nil
	}
	told := func(t forge.AccountType) bool { return t != "" }
	var err error
	who.Type, err = wire.Remembered(c.facts, fmt.Sprintf("type %d", who.ID), told, func() (forge.AccountType, error) {
		var found user
		err := c.api.Explain(c.api.Get(ctx, root("users/%s", who.ID), nil, &found), "read account %s", who.Login)
		switch {
		case forge.KindOf(err) == forge.NotFound:
			return "", nil // it is gone
		case err == nil && found.ID != who.ID:
			err = c.api.Explain(wire.Distrusted("the answer is about another one"), "read account %s", who.Login)
		}
		return found.account().Type, err
	})
	return who, err
}

// Permissions returns what people may do with the project, as its members or those of its groups.
func (c *Client) Permissions(ctx context.Context, who ...forge.Account) ([]forge.Permission, error) {
	found := make([]forge.Permission, 0, len(who))
	for _, one := range who {
		level, err := c.level(ctx, one)
		if err != nil {
			return nil, err
		}
		found = append(found, forge.Permission{Account: one, Write: level >= developer})
	}
	return found, nil
}

// level returns the level of access that an account has; 0 for none.
func (c *Client) level(ctx context.Context, who forge.Account) (int, error) {
	var member struct {
		ID    int64  `json:"id"`
		State string `json:"state"`
		// Membership is "awaiting" of those who were invited and let in by nobody.
		Membership string `json:"membership_state"`
		Level      int    `json:"access_level"`
	}
	err := c.api.Explain(c.api.Get(ctx, at("members/all/%s", who.ID), nil, &member), "read what %s may do with the project", who.Login)
	switch {
	case forge.KindOf(err) == forge.NotFound:
		return 0, nil
	case err != nil:
		return 0, err
	case member.ID != who.ID || member.State != "active" || member.Membership != "" && member.Membership != "active":
		return 0, nil
	}
	return member.Level, nil
}

// team returns a group with everybody who is in it. The name is that of a group in the project's
// one, or the whole path of a group.
func (c *Client) team(ctx context.Context, name string) (forge.Team, error) {
	path, _, _ := forge.Numbered(name)
	if !strings.Contains(path, "/") {
		path = c.owner + "/" + path
	}
	if !isGroup(path) {
		return forge.Team{}, wire.Invalid("%q is not the path of a group", name)
	}
	var group struct {
		ID   int64  `json:"id"`
		Path string `json:"full_path"`
	}
	err := c.api.Get(ctx, root("groups/%s", path), url.Values{"with_projects": {"false"}}, &group)
	if err == nil && (group.ID == 0 || !strings.EqualFold(group.Path, path)) {
		err = wire.Distrusted("the answer is about another one")
	}
	if err != nil {
		return forge.Team{}, c.api.Explain(err, "read group %s", path)
	}
	members, err := wire.List[user](ctx, c.api, root("groups/%s/members", group.ID), nil)
	if err != nil {
		return forge.Team{}, c.api.Explain(err, "read members of group %s", path)
	}
	members = slices.DeleteFunc(members, func(u user) bool { return u.State != "active" })
	last := strings.LastIndex(path, "/")
	return forge.Team{ID: group.ID, Organization: path[:last], Slug: path[last+1:], Members: wire.Convert(members, (*user).account)}, nil
}

// most is how many addresses of authors and committers the forge is asked about for one list of
// commits.
const most = 30

// commits returns commits with the accounts of their authors and committers, by their addresses.
// An address that the forge is not asked about stays as that of a co-author: the gate sees that it
// is not known.
func (c *Client) commits(ctx context.Context, made []commit) ([]forge.Commit, error) {
	found, asked := make([]forge.Commit, 0, len(made)), map[string]forge.Account{}
	for i := range made {
		one := forge.Commit{
			SHA: made[i].SHA, Parents: made[i].Parents, AuthorAddress: made[i].AuthorEmail, CoAuthors: coauthors.Of(made[i].Message),
		}
		for _, of := range []struct {
			address string
			who     *forge.Account
		}{{made[i].AuthorEmail, &one.Author}, {made[i].CommitterEmail, &one.Committer}} {
			address := strings.ToLower(of.address)
			who, known := asked[address]
			if !known && len(asked) == most {
				one.CoAuthors = append(one.CoAuthors, address)
				continue
			}
			var err error
			if !known {
				if who, err = c.byAddress(ctx, address); err != nil {
					return nil, err
				}
			}
			asked[address], *of.who = who, who
		}
		found = append(found, one)
	}
	return found, nil
}

// byAddress returns the account of an address; one that is not Known if the server shows none. Most
// people hide theirs.
func (c *Client) byAddress(ctx context.Context, address string) (forge.Account, error) {
	c.mu.Lock()
	self, own := c.self, c.address
	c.mu.Unlock()
	address = strings.ToLower(address)
	switch who, numbered := byNumber(address); {
	case address == "":
		return forge.Account{}, nil
	case address == own:
		return self, nil
	case numbered:
		return who, nil
	}
	return wire.Remembered(c.facts, "address "+address, wire.Always, func() (forge.Account, error) {
		var found []user
		if err := c.api.Get(ctx, root("users"), url.Values{"search": {address}}, &found); err != nil {
			return forge.Account{}, c.api.Explain(err, "look for an author")
		}
		for i := range found {
			if strings.EqualFold(found[i].PublicEmail, address) || strings.EqualFold(found[i].Email, address) {
				return found[i].account(), nil
			}
		}
		return forge.Account{}, nil
	})
}

// byNumber returns the account of an address of the forge's own that has its number in it. It is
// free text, and keeps an account from approving, no more.
func byNumber(address string) (forge.Account, bool) {
	name, host, _ := strings.Cut(address, "@")
	number, name, numbered := strings.Cut(name, "-")
	id, err := strconv.ParseInt(number, 10, 64)
	return forge.Account{ID: id, Login: name}, err == nil && numbered && id > 0 && strings.HasPrefix(host, "users.noreply.")
}
