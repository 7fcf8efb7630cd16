package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"

	"github.com/sluice-dev/sluice/examples"
	"github.com/sluice-dev/sluice/internal/testbed/devforge"
	"github.com/sluice-dev/sluice/internal/testbed/devforge/person"
)

// The sample repository on the forge.
const (
	organization = "shop"
	repository   = "releases"
)

// Those with an account on the forge. The sample names the tester as the one whose status counts.
const (
	// developer pushes.
	developer = "ada"
	// approver reviews and merges.
	approver = "grace"
	// tester is CI: it tries out what runs and posts the result.
	tester = "ci"
	// releaser is what Sluice acts as.
	releaser = "sluice"
)

// rights are what the token of each is good for; nil is all that its account may do.
var rights = map[string]devforge.Permissions{
	developer: nil,
	approver:  nil,
	tester:    {"statuses": "write"},
	releaser:  {"contents": "write", "pull_requests": "write", "statuses": "write"},
}

// startForge has everybody invited to a private repository that holds the sample.
func (e *environment) startForge(ctx context.Context) error {
	forge, err := devforge.Start(ctx, devforge.Options{Dir: e.state.join("forge"), Logger: e.log})
	if err != nil {
		return fmt.Errorf("start forge: %w", err)
	}
	e.forge = forge
	e.stops = append(e.stops, forge.Close)
	seed, err := examples.Repo()
	if err != nil {
		return fmt.Errorf("read sample: %w", err)
	}
	if err := forge.CreateRepository(ctx, repositoryName(), branch, seed); err != nil {
		return fmt.Errorf("seed forge: %w", err)
	}
	e.people = map[string]somebody{}
	for _, name := range slices.Sorted(maps.Keys(rights)) {
		if e.people[name], err = invite(forge, name); err != nil {
			return err
		}
	}
	e.screen.say("forge is up at %s, with the private repository %s", forge.URL(), repositoryName())
	return nil
}

func repositoryName() string { return organization + "/" + repository }

// invite makes an account that may write to the repository, and a token for it.
func invite(forge *devforge.Forge, name string) (somebody, error) {
	if _, err := forge.CreateUser(name); err != nil {
		return somebody{}, fmt.Errorf("invite: %w", err)
	}
	if err := forge.Grant(repositoryName(), name, devforge.RoleWrite); err != nil {
		return somebody{}, fmt.Errorf("invite: %w", err)
	}
	token, err := forge.CreateToken(name, rights[name])
	if err != nil {
		return somebody{}, fmt.Errorf("invite: %w", err)
	}
	return somebody{person.New(forge, repositoryName(), name, token)}, nil
}

// cloneURL holds a person's token, as git would be given it by a credential helper.
func (e *environment) cloneURL(p somebody) (string, error) {
	address, err := url.Parse(e.forge.CloneURL(repositoryName()))
	if err != nil {
		return "", fmt.Errorf("read address of repository: %w", err)
	}
	address.User = url.UserPassword(p.Login, p.Token)
	return address.String(), nil
}

// pullsURL is where a browser sees the pull requests.
func (e *environment) pullsURL() string { return e.forge.URL() + "/" + repositoryName() + "/pulls" }

// webhooks are what the forge and the controller agree on.
type webhooks struct {
	// address that the controller takes them on.
	address string
	secret  string
}

// agreeOnWebhooks finds an address on loopback that nobody listens on.
func agreeOnWebhooks(ctx context.Context) (webhooks, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return webhooks{}, fmt.Errorf("find a free port: %w", err)
	}
	defer listener.Close()
	return webhooks{address: listener.Addr().String(), secret: rand.Text()}, nil
}

// addHook has the forge tell the controller what happens, as somebody does once in the
// repository's settings.
func (e *environment) addHook(ctx context.Context) error {
	hook := devforge.Hook{URL: fmt.Sprintf("http://%s/hooks/%s/%s", e.webhooks.address, namespace, workload), Secret: e.webhooks.secret}
	if _, err := e.forge.AddHook(ctx, repositoryName(), hook); err != nil {
		return fmt.Errorf("add webhook: %w", err)
	}
	return nil
}
