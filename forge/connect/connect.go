// Package connect makes the client of each type of forge.
package connect

import (
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/gitea"
	"github.com/sluice-dev/sluice/forge/github"
	"github.com/sluice-dev/sluice/forge/gitlab"
	"github.com/sluice-dev/sluice/forge/wire"
)

// Common holds the options that all clients of a process share.
type Common = wire.Common

// Clients makes the clients of a process, and shares them.
type Clients struct {
	// GitHub makes clients of GitHub, which also give apps their tokens for Git.
	GitHub *github.Clients
	gitea  *gitea.Clients
	gitlab *gitlab.Clients
}

// New returns Clients that have made none.
func New(c Common) *Clients {
	return &Clients{
		GitHub: github.NewClients(github.Options{
			AllowHTTP: c.AllowHTTP, Networks: c.Networks, Transport: c.Transport, Git: c.Git,
			WritesPerHour: c.WritesPerHour, Timeout: c.Timeout, Now: c.Now,
		}),
		gitea: gitea.NewClients(c), gitlab: gitlab.NewClients(c),
	}
}

// Client returns the client of a repository. It sends nothing. Options that can't work are a
// *forge.Error of kind Misconfigured.
func (c *Clients) Client(a forge.Access) (forge.Client, error) {
	client, err := c.inspect(a)
	if err != nil {
		return nil, err
	}
	return client, nil
}

// Inspector is a client that can also say whether its setup is fit for use.
type Inspector interface {
	forge.Client
	forge.Inspection
}

// Inspector returns the client of a repository, for who sets Sluice up.
func (c *Clients) Inspector(a forge.Access) (Inspector, error) { return c.inspect(a) }

func (c *Clients) inspect(a forge.Access) (Inspector, error) {
	switch a.Type {
	case forge.TypeGitea:
		client, err := c.gitea.Client(a)
		if err != nil {
			return nil, err
		}
		return client, nil
	case forge.TypeGitLab:
		client, err := c.gitlab.Client(a)
		if err != nil {
			return nil, err
		}
		return client, nil
	case forge.TypeGitHub, "":
		options, err := github.OptionsOf(a)
		if err != nil {
			return nil, err
		}
		client, err := c.GitHub.Client(options)
		if err != nil {
			return nil, err
		}
		return client, nil
	}
	return nil, wire.Misconfigured("forge type %q is unknown", a.Type)
}
