package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
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

// startForge has everybody sign up, and opens the first stage.
func (e *environment) startForge(ctx context.Context) error {
	forge, err := e.newForge(ctx)
	if err != nil {
		return fmt.Errorf("start forge: %w", err)
	}
	e.forge = forge
	e.stops = append(e.stops, forge.Close)
	e.tokens = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(rights)) {
		if e.tokens[name], err = forge.SignUp(ctx, name); err != nil {
			return fmt.Errorf("sign up: %w", err)
		}
	}
	if err := e.open(ctx, e.first); err != nil {
		return err
	}
	e.screen.say("forge is up at %s, with the private repository %s", forge.URL(), e.first.repository)
	return nil
}

// newForge starts the forge that was asked for.
func (e *environment) newForge(ctx context.Context) (hub, error) {
	dir := e.state.join("forge")
	if e.forgeType == v1alpha1.ForgeGitea {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		return startGitea(ctx, dir, e.screen.progress())
	}
	forge, err := devforge.Start(ctx, devforge.Options{Dir: dir, Logger: e.log})
	if err != nil {
		return nil, err
	}
	return devHub{forge}, nil
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
	address := fmt.Sprintf("http://%s/hooks/%s/%s", e.webhooks.address, at.namespace, at.source)
	if err := e.forge.AddHook(ctx, at.repository, address, e.webhooks.secret); err != nil {
		return fmt.Errorf("add webhook: %w", err)
	}
	return nil
}
