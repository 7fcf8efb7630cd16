package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/internal/plain"
)

// mostShown is how many broken promises are told one by one.
const mostShown = 10

// errBroken says that the watch log shows something else than Sluice promises.
var errBroken = errors.New("the watch log does not show what was promised")

// run is the whole demo, from an empty folder to a removed one.
func run(ctx context.Context, o options, screen *screen) (err error) {
	state, err := openStateDir(o.stateDir)
	if err != nil {
		return err
	}
	interrupted := func() bool { return ctx.Err() != nil }
	defer func() { err = state.close(err, interrupted()) }()
	defer screen.close()
	env := &environment{state: state, screen: screen}
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

// perform tells the story, checks it, and with --keep stays.
func perform(ctx context.Context, o options, env *environment) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watch, err := startRecorder(ctx, env.config, env.cluster.Scheme(), newNarrator(env.screen).hear)
	if err != nil {
		return err
	}
	url, err := env.cloneURL(env.people[developer])
	if err != nil {
		return err
	}
	work, err := gitClone(ctx, url, env.state.join("clone"))
	if err != nil {
		return err
	}
	s := &story{environment: env, options: o, watch: watch, note: &note{}, clone: work, tested: map[types.UID]bool{}}
	defer following(ctx, watch, env.screen, s.note)()
	if err := s.tell(ctx); err != nil {
		return err
	}
	if err := conclude(ctx, s, watch.all()); err != nil {
		return err
	}
	if o.keep {
		return stay(ctx, s, url)
	}
	return nil
}

// following draws the panel in the background, if there is one, until the function returned is called.
func following(ctx context.Context, watch *recorder, screen *screen, note *note) func() {
	if !screen.live {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { follow(ctx, watch, screen, note) })
	return func() {
		cancel()
		done.Wait()
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
	if len(found.broken) == 0 {
		s.screen.say("all promises were kept, by %d changes in the watch log", len(records))
		return nil
	}
	shown := found.broken[:min(mostShown, len(found.broken))]
	return fmt.Errorf("%w:\n  %s", errBroken, strings.Join(shown, "\n  "))
}

// stay keeps everything running until Ctrl-C, or until something goes down, and says how to use it.
func stay(ctx context.Context, s *story, url string) error {
	s.screen.chapter("Everything keeps running until Ctrl-C")
	s.screen.print(instructions(s.environment, url))
	s.note.set("push a commit to release it; Ctrl-C ends the demo")
	return s.testOn(ctx)
}

// instructions can be pasted into a shell as they are: paths are full, nothing needs to be installed.
func instructions(env *environment, url string) string {
	kubectl := env.plane.KubectlPath + " -n " + namespace
	identity := fmt.Sprintf("-c user.name=%s -c user.email=%s@localhost", developer, developer)
	return fmt.Sprintf(`
  export KUBECONFIG=%s

  # Look at it:
  %s get batchrelease,gates,deployment,replicaset
  # Follow it, from the folder of this checkout:
  go run ./cmd/sluice get web -n %s --watch
  # Push another version, as %s:
  git clone %s %s && cd %s && sed -i.bak 's|%s|nginx:1.30|' %s && git commit -am 'web: nginx:1.30' && git push
  # Approve and merge its pull request in a browser, signed in as %s with the token %s
  %s
  # With three pods %s finds it good by itself, and it goes on to all of them.

`, env.plane.Kubeconfig, kubectl, namespace, developer, identity, url, repository, images[len(images)-1], manifestFile,
		approver, env.people[approver].Token, env.pullsURL(), tester)
}
