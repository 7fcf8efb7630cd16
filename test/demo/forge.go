package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"slices"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// organization owns the repositories on the forge.
const organization = "shop"

// Those with an account on the forge. The sample names the tester as the one whose status counts.
const (
	// developer pushes.
	developer = "ada"
	// approver reviews and merges.
	approver = "grace"
	// tester is CI: it tries out what runs and posts the result.
	tester = "ci"
	// releaser is Sluice's account.
	releaser = "sluice"
)

// rights are what the token of each is good for; nil is all that its account may do.
var rights = map[string]devforge.Permissions{
	developer: nil,
	approver:  nil,
	tester:    {"statuses": "write"},
	releaser:  {"contents": "write", "pull_requests": "write", "statuses": "write"},
}

// startForge has everybody sign up, and opens the first stage.
func (e *environment) startForge(ctx context.Context) error {
	forge, err := devforge.Start(ctx, devforge.Options{Dir: e.state.join("forge"), Logger: e.log})
	if err != nil {
		return fmt.Errorf("start forge: %w", err)
	}
	e.forge = forge
	e.stops = append(e.stops, forge.Close)
	e.tokens = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(rights)) {
		if e.tokens[name], err = signUp(forge, name); err != nil {
			return err
		}
	}
	if err := e.open(ctx, e.first); err != nil {
		return err
	}
	e.screen.say("forge is up at %s, with the private repository %s", forge.URL(), e.first.repository)
	return nil
}

// signUp makes an account, and a token for it.
func signUp(forge *devforge.Forge, name string) (string, error) {
	if _, err := forge.CreateUser(name); err != nil {
		return "", fmt.Errorf("sign up: %w", err)
	}
	token, err := forge.CreateToken(name, rights[name])
	if err != nil {
		return "", fmt.Errorf("sign up: %w", err)
	}
	return token, nil
}

// webhooks holds the URL and the secret that forge and controller share.
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
func (e *environment) addHook(ctx context.Context, at *stage) error {
	hook := devforge.Hook{URL: fmt.Sprintf("http://%s/hooks/%s/%s", e.webhooks.address, at.namespace, at.source), Secret: e.webhooks.secret}
	if _, err := e.forge.AddHook(ctx, at.repository, hook); err != nil {
		return fmt.Errorf("add webhook: %w", err)
	}
	return nil
}
