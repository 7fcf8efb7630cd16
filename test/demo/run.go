package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// mostShown is how many broken promises are told one by one.
const mostShown = 10

// errBroken says that the watch log shows something else than Sluice promises.
var errBroken = errors.New("the watch log does not show what was promised")

// run plays the whole demo, from an empty folder to a removed one.
func run(ctx context.Context, o options, screen *screen) (err error) {
	state, err := openStateDir(o.stateDir)
	if err != nil {
		return err
	}
	interrupted := func() bool { return ctx.Err() != nil }
	defer func() { err = state.close(err, interrupted()) }()
	defer screen.close()
	env := &environment{state: state, screen: screen, first: oneDeployment(), metrics: o.metrics, forgeType: o.forge}
	defer func() { err = errors.Join(err, env.stop()) }()
	screen.chapter("Starting what the story takes place on")
	life, err := env.start(ctx)
	if err == nil {
		err = perform(life, o, env)
	}
	if life.Err() != nil && !interrupted() {
		return errors.Join(context.Cause(life), err)
	}
	return err
}

// perform plays the acts, each of which is checked at its end, and with --keep stays.
func perform(ctx context.Context, o options, env *environment) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := env.rehearse(ctx, o, env.first, web(), "")
	if err != nil {
		return err
	}
	if err := first(ctx, s); err != nil {
		return err
	}
	if err := second(ctx, o, env); err != nil {
		return err
	}
	if err := third(ctx, o, env); err != nil {
		return err
	}
	if !o.keep {
		return nil
	}
	defer s.panel(ctx)()
	return stay(ctx, s)
}

// first plays the act with one Deployment.
func first(ctx context.Context, s *story) error {
	defer s.panel(ctx)()
	var err error
	if s.clone, err = s.checkOut(ctx, s.stage); err != nil {
		return err
	}
	if err := s.tell(ctx); err != nil {
		return err
	}
	return conclude(ctx, s, s.watch.all())
}

// rehearse makes a story of a workload, with nothing told yet. Where there are several, of tells
// its gates apart.
func (e *environment) rehearse(ctx context.Context, o options, at *stage, c cast, of string) (*story, error) {
	workload := types.NamespacedName{Namespace: at.namespace, Name: c.name}
	watch, err := startRecorder(ctx, e.config, e.cluster.Scheme(), recorded{workload, at.train}, newNarrator(e.screen, of).hear)
	if err != nil {
		return nil, err
	}
	return &story{environment: e, stage: at, cast: c, options: o, watch: watch, note: &note{}, tested: map[types.UID]bool{}}, nil
}

// checkOut clones the repository of a stage as the developer.
func (e *environment) checkOut(ctx context.Context, at *stage) (*clone, error) {
	url, err := e.cloneURL(at)
	if err != nil {
		return nil, err
	}
	return gitClone(ctx, url, e.state.join("clone-"+at.namespace))
}

// panel draws the story's panel until the function returned is called.
func (s *story) panel(ctx context.Context) func() {
	return following(ctx, s.screen, func() ([]string, <-chan struct{}) {
		scene, changed := s.watch.now()
		return drawPanel(scene, s.note.String(), s.screen.style), changed
	})
}

// following draws a panel in the background, if there is one, until the function returned is
// called.
func following(ctx context.Context, screen *screen, panel func() ([]string, <-chan struct{})) func() {
	if !screen.live {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { follow(ctx, screen, panel) })
	return func() {
		cancel()
		done.Wait()
		screen.show(nil)
	}
}

// conclude prints what the forge shows of each commit and the summary, and holds the watch log
// against the promises.
func conclude(ctx context.Context, s *story, records []record) error {
	s.screen.chapter("What the forge lists on each commit, newest first")
	for _, v := range s.versions[1:] {
		s.screen.print(fmt.Sprintf("  %s web: %s\n", plain.Commit(v.commit), v.image))
		if err := s.listStatuses(ctx, v); err != nil {
			return err
		}
	}
	found := s.claims.check(records)
	s.screen.chapter("Summary")
	s.screen.print(summary(s, found))
	return verdict(s.screen, found.broken, len(records))
}

// verdict says whether all promises were kept, by so many records.
func verdict(screen *screen, broken []string, records int) error {
	if len(broken) == 0 {
		screen.say("all promises were kept, by %d changes in the watch log", records)
		return nil
	}
	shown := broken[:min(mostShown, len(broken))]
	return fmt.Errorf("%w:\n  %s", errBroken, strings.Join(shown, "\n  "))
}

// stay keeps everything running until Ctrl-C, or until something goes down, and says how to use it.
func stay(ctx context.Context, s *story) error {
	url, err := s.cloneURL(s.stage)
	if err != nil {
		return err
	}
	s.screen.chapter("Everything keeps running until Ctrl-C")
	s.screen.print(instructions(s, url))
	s.note.set("push a commit to release it; Ctrl-C ends the demo")
	return s.testOn(ctx)
}

// instructions returns commands to paste into a shell: with full paths, and without programs to
// install.
func instructions(s *story, url string) string {
	kubectl := s.plane.KubectlPath + " -n " + s.namespace
	folder := path.Base(s.repository)
	sluice := program()
	identity := fmt.Sprintf("-c user.name=%s -c user.email=%s@localhost", developer, developer)
	image := s.images[len(s.images)-1]
	return fmt.Sprintf(`
  export KUBECONFIG=%s

  # Look at it:
  %s get batchrelease,gates,deployment,replicaset
  # Follow it:
  %s get web -n %s --watch
  # Push another version, as %s:
  git clone %s %s && cd %s && sed 's|%s|nginx:1.30|' %s > new.yaml && mv new.yaml %s && git commit -am 'web: nginx:1.30' && git push
  # Approve and merge its pull request in a browser, signed in as %s with the token %s
  %s
  # With three pods %s finds it good by itself, and it goes on to all of them.
  # See all of it on the dashboard; the address works once, then run: %s dashboard
  %s
  # Its controller runs in the demo, as an administrator. For 'sluice check', the account of an installed one lacks rights, and the policies name another.

`, s.plane.Kubeconfig, kubectl, sluice, s.namespace, developer, identity, url, folder, image, s.manifest, s.manifest,
		approver, s.tokens[approver], s.pullsURL(s.stage), tester, sluice, s.look())
}

// program returns the sluice that make demo builds, or else the way to run it from the checkout.
func program() string {
	built, err := controlplane.InCheckout("bin/sluice")
	if err != nil {
		return "go run ./cmd/sluice"
	}
	if _, err := os.Stat(built); err != nil {
		return "go -C " + filepath.Dir(filepath.Dir(built)) + " run ./cmd/sluice"
	}
	return built
}
