package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
)

// mostShown is how many broken promises are told one by one.
const mostShown = 10

// errBroken says that the watch log shows something else than Sluice promises.
var errBroken = errors.New("the watch log does not show what was promised")

// run is the whole demo, from an empty folder to a removed one.
func run(ctx context.Context, o options, out *os.File) (err error) {
	state, err := openStateDir(o.stateDir)
	if err != nil {
		return err
	}
	interrupted := func() bool { return ctx.Err() != nil }
	defer func() { err = state.close(err, interrupted()) }()
	screen := newScreen(out, o.plain)
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
	narrator := &narrator{screen: env.screen}
	watch, err := startRecorder(ctx, env.config, env.cluster.Scheme(), narrator.hear)
	if err != nil {
		return err
	}
	work, err := gitClone(ctx, env.cloneURL(), env.state.join("clone"))
	if err != nil {
		return err
	}
	note := &note{}
	defer following(ctx, watch, env.screen, note)()
	s := &story{
		options: o, screen: env.screen, watch: watch, note: note,
		cluster: env.cluster, clone: work, cloneURL: env.cloneURL(),
	}
	if err := s.tell(ctx); err != nil {
		return err
	}
	if err := conclude(s, watch.all()); err != nil {
		return err
	}
	if o.keep {
		return stay(ctx, env, note)
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

// conclude holds the watch log against the promises and prints the summary.
func conclude(s *story, records []record) error {
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
func stay(ctx context.Context, env *environment, note *note) error {
	env.screen.chapter("Everything keeps running until Ctrl-C")
	env.screen.print(instructions(env))
	note.set("push a commit to release it; Ctrl-C ends the demo")
	<-ctx.Done()
	return nil
}

// instructions can be pasted into a shell as they are: paths are full, nothing needs to be installed.
func instructions(env *environment) string {
	kubectl := env.plane.KubectlPath + " -n " + namespace
	return fmt.Sprintf(`
  export KUBECONFIG=%s

  # Look at it:
  %s get batchrelease,gates,deployment,replicaset
  # Push another version:
  git clone %s && cd shop && sed -i.bak 's|%s|nginx:1.30|' %s && git commit -am 'web: nginx:1.30' && git push
  # Confirm a batch:
  %s patch batchrelease %s --type=merge --subresource=status -p '%s'

`, env.plane.Kubeconfig, kubectl, env.cloneURL(), images[len(images)-1], manifestFile, kubectl, workload, confirmPatch)
}
