package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// kinds returns what the second act releases, with one push.
func kinds() []cast {
	return []cast{
		{kind: "Deployment", name: "web", manifest: "web.yaml", images: []string{"nginx:1.27", "nginx:1.28"}},
		{kind: "StatefulSet", name: "db", manifest: "db.yaml", images: []string{"valkey/valkey:8.0", "valkey/valkey:8.1"}},
		{kind: "DaemonSet", name: "agent", manifest: "agent.yaml", images: []string{"prom/node-exporter:v1.8.0", "prom/node-exporter:v1.9.0"}},
	}
}

// ensemble is the second act: a story for each of several workloads, released from one repository
// by the same pushes.
type ensemble struct {
	*environment
	*stage

	options options
	stories []*story
	clone   *clone
	note    *note
	begun   time.Time
}

// second plays the act with a workload of each kind.
func second(ctx context.Context, o options, env *environment) error {
	e := &ensemble{environment: env, stage: allKinds(), options: o, note: &note{}, begun: time.Now()}
	env.screen.chapter("Second act: a Deployment, a StatefulSet and a DaemonSet in one repository")
	if err := e.gather(ctx); err != nil {
		return err
	}
	defer following(ctx, env.screen, e.panel)()
	if err := e.firstDeploy(ctx); err != nil {
		return err
	}
	env.screen.chapter("git push: a new version of all three")
	if err := e.release(ctx); err != nil {
		return err
	}
	return e.conclude(ctx)
}

// gather opens the stage and makes the stories.
func (e *ensemble) gather(ctx context.Context) error {
	err := e.open(ctx, e.stage)
	if err != nil {
		return err
	}
	if e.clone, err = e.checkOut(ctx, e.stage); err != nil {
		return err
	}
	for _, c := range kinds() {
		s, err := e.rehearse(ctx, e.options, e.stage, c, c.name+": ")
		if err != nil {
			return err
		}
		s.note = e.note
		e.stories = append(e.stories, s)
	}
	return nil
}

// firstDeploy waits for what the repository holds.
func (e *ensemble) firstDeploy(ctx context.Context) error {
	commit, err := e.clone.head(ctx)
	if err != nil {
		return err
	}
	if err := e.createSource(ctx, e.stage); err != nil {
		return err
	}
	e.screen.say("ReleaseSource %s/%s follows %s of %s", e.namespace, e.source, branch, e.forge.CloneURL(e.repository))
	return e.atOnce(func(s *story) error {
		first := &version{number: 1, image: s.images[0], commit: commit, pushed: time.Now()}
		s.versions = append(s.versions, first)
		return s.deployed(ctx, first)
	})
}

// release pushes a version of each workload in one commit, and follows them through their batches.
func (e *ensemble) release(ctx context.Context) error {
	if err := e.push(ctx); err != nil {
		return err
	}
	for step := range len(e.stories[0].claims.targets) - 1 {
		if err := e.passGates(ctx, step); err != nil {
			return err
		}
	}
	return e.atOnce(func(s *story) error { return s.complete(ctx, s.latest()) })
}

func (e *ensemble) push(ctx context.Context) error {
	var images []string
	for _, s := range e.stories {
		if err := e.clone.setImage(s.manifest, s.images[0], s.images[1]); err != nil {
			return err
		}
		images = append(images, s.images[1])
	}
	commit, err := e.clone.commitAndPush(ctx, "Next version of web, db and agent")
	if err != nil {
		return err
	}
	for _, s := range e.stories {
		s.versions = append(s.versions, &version{number: 2, image: s.images[1], commit: commit, pushed: time.Now()})
		s.claims.images[commit] = s.images[1]
	}
	e.screen.say("%s: %s: $ git commit -am 'Next version of web, db and agent' && git push   # %s", developer, strings.Join(images, ", "), plain.Commit(commit))
	return nil
}

// passGates waits until each release stands at its gate after a step, and lets all through: each
// has a pull request of its own, while one status on the commit is for all.
func (e *ensemble) passGates(ctx context.Context, step int) error {
	gates := make([]*v1alpha1.Gate, len(e.stories))
	for i, s := range e.stories {
		var err error
		if gates[i], err = s.awaitGate(ctx, s.latest(), step); err != nil {
			return err
		}
	}
	e.note.countDown("looking at them for a moment", e.options.pause)
	if err := e.options.lookAround(ctx); err != nil {
		return err
	}
	if gates[0].Spec.Type == v1alpha1.GatePullRequest {
		return e.approve(ctx, gates)
	}
	for i, s := range e.stories {
		if err := s.claim(ctx, s.latest(), gates[i], tester, gates[i].Spec.Policy.CommitStatus.Context); err != nil {
			return err
		}
	}
	return e.stories[0].test(ctx, gates[0], stateSuccess)
}

func (e *ensemble) approve(ctx context.Context, gates []*v1alpha1.Gate) error {
	for i, s := range e.stories {
		if err := s.approve(ctx, s.latest(), gates[i]); err != nil {
			return err
		}
	}
	return nil
}

// atOnce does the same for all stories at the same time.
func (e *ensemble) atOnce(do func(*story) error) error {
	errs := make([]error, len(e.stories))
	var all sync.WaitGroup
	for i, s := range e.stories {
		all.Go(func() { errs[i] = do(s) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// panel has the scenes below each other. It is drawn again at each tick: there is more than one
// watch.
func (e *ensemble) panel() (lines []string, changed <-chan struct{}) {
	for _, s := range e.stories {
		scene, _ := s.watch.now()
		lines = append(lines, drawScene(scene, e.screen.style)...)
	}
	return append(lines, "  "+e.note.String()), nil
}

// conclude prints what the forge shows of the commit and the summary, and holds the watch log of
// each workload against the promises.
func (e *ensemble) conclude(ctx context.Context) error {
	v := e.stories[0].latest()
	e.screen.chapter("What the forge lists on the commit " + plain.Commit(v.commit) + ", newest first")
	if err := e.stories[0].listStatuses(ctx, v); err != nil {
		return err
	}
	var found []findings
	var broken []string
	records := 0
	for _, s := range e.stories {
		log := s.watch.all()
		f := s.claims.check(log)
		for _, reason := range f.broken {
			broken = append(broken, fmt.Sprintf("%s %s: %s", s.kind, s.name, reason))
		}
		found, records = append(found, f), records+len(log)
	}
	e.screen.chapter("Summary of the second act")
	e.screen.print(kindSummary(e.screen.start, e.stories, found))
	e.screen.say("the second act took %s", since(e.begun, time.Now()))
	return verdict(e.screen, broken, records)
}
