package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/sluice-dev/sluice/examples"
)

// stage is the place of an act: a namespace that a ReleaseSource fills from a repository on the
// forge.
type stage struct {
	namespace, source string
	// train is the release whose members the others are; empty if each is one of its own.
	train string
	// repository is the forge's OWNER/NAME, sample what it holds at first.
	repository string
	sample     func() (fs.FS, error)
	// people are those with an account on the forge, by name.
	people map[string]account
}

// oneDeployment returns the stage of the first act.
func oneDeployment() *stage {
	return &stage{namespace: "shop", source: "web", repository: organization + "/releases", sample: examples.Repo}
}

// allKinds returns the stage of the second act.
func allKinds() *stage {
	return &stage{namespace: "platform", source: "platform", train: "platform", repository: organization + "/platform", sample: examples.Kinds}
}

// open makes the repository of a stage, and invites everybody.
func (e *environment) open(ctx context.Context, at *stage) error {
	seed, err := at.sample()
	if err != nil {
		return fmt.Errorf("read sample: %w", err)
	}
	if err := e.forge.CreateRepository(ctx, at.repository, branch, seed); err != nil {
		return fmt.Errorf("seed forge: %w", err)
	}
	at.people = map[string]account{}
	for name, token := range e.tokens {
		if err := e.forge.Invite(ctx, at.repository, name); err != nil {
			return fmt.Errorf("invite: %w", err)
		}
		at.people[name] = account{at.repository, name, token}
	}
	return nil
}

// cloneURL holds the developer's token, as git would be given it by a credential helper.
func (e *environment) cloneURL(at *stage) (string, error) {
	address, err := url.Parse(e.forge.CloneURL(at.repository))
	if err != nil {
		return "", fmt.Errorf("read address of repository: %w", err)
	}
	address.User = url.UserPassword(developer, e.tokens[developer])
	return address.String(), nil
}

// pullsURL returns where a browser sees the pull requests.
func (e *environment) pullsURL(at *stage) string {
	return e.forge.URL() + "/" + at.repository + "/pulls"
}
