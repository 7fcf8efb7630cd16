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

// ensemble is the second act: a story for each member of a train, released from one repository by
// the same pushes, and one for the train.
type ensemble struct {
	*environment
	*stage

	options options
	stories []*story
	train   *story
	clone   *clone
	note    *note
	begun   time.Time
}

// second plays the act with a train that has a workload of each kind.
func second(ctx context.Context, o options, env *environment) error {
	e := &ensemble{environment: env, stage: allKinds(), options: o, note: &note{}, begun: time.Now()}
	env.screen.chapter("Second act: a train of a Deployment, a StatefulSet and a DaemonSet")
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
		s, err := e.rehearse(ctx, e.options, e.stage, c, "")
		if err != nil {
			return err
		}
		s.note = e.note
		e.stories = append(e.stories, s)
	}
	e.train, err = e.rehearse(ctx, e.options, e.stage, cast{kind: "train", name: e.stage.train}, "")
	if err == nil {
		e.train.note = e.note
	}
	return err
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
	err = e.atOnce(func(s *story) error {
		first := &version{number: 1, image: s.images[0], commit: commit, pushed: time.Now()}
		s.versions = append(s.versions, first)
		return s.deployed(ctx, first)
	})
	if err != nil {
		return err
	}
	_, err = e.train.await(ctx, "the train rests", func(scene *scene) bool {
		return scene.release != nil && scene.release.Status.Phase == v1alpha1.PhaseCompleted
	})
	return err
}

// release pushes a version of each workload in one commit, and follows them through their batches.
func (e *ensemble) release(ctx context.Context) error {
	if err := e.push(ctx); err != nil {
		return err
	}
	for step := range len(e.stories[0].claims.targets) - 1 {
		if err := e.passGate(ctx, step); err != nil {
			return err
		}
	}
	if err := e.atOnce(func(s *story) error { return s.complete(ctx, s.latest()) }); err != nil {
		return err
	}
	_, err := e.train.await(ctx, "the train is through", func(scene *scene) bool {
		commit := e.train.latest().commit
		return scene.release.Status.Commit == commit && scene.release.Status.Phase == v1alpha1.PhaseCompleted && reported(scene.release, commit, stateSuccess)
	})
	return err
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
	e.train.versions = append(e.train.versions, &version{number: 2, image: "web, db and agent", commit: commit, pushed: time.Now()})
	e.screen.say("%s: %s: $ git commit -am 'Next version of web, db and agent' && git push   # %s", developer, strings.Join(images, ", "), plain.Commit(commit))
	return nil
}

// passGate waits until the train stands at its gate after a step, and lets all its members through:
// one pull request, or one status on the commit, is for all.
func (e *ensemble) passGate(ctx context.Context, step int) error {
	gate, err := e.train.awaitGate(ctx, e.train.latest(), step)
	if err != nil {
		return err
	}
	e.note.countDown("looking at them for a moment", e.options.pause)
	if err := e.options.lookAround(ctx); err != nil {
		return err
	}
	var actor, what string
	if gate.Spec.Type == v1alpha1.GatePullRequest {
		actor, what = approver, fmt.Sprintf("#%d", gate.Status.PullRequest.Number)
		if err := e.showPull(ctx); err != nil {
			return err
		}
	} else {
		actor, what = tester, gate.Spec.Policy.CommitStatus.Context
	}
	for _, s := range e.stories {
		if err := s.claim(ctx, s.latest(), gate, actor, what); err != nil {
			return err
		}
	}
	if gate.Spec.Type == v1alpha1.GatePullRequest {
		return e.train.approve(ctx, e.train.latest(), gate)
	}
	return e.train.test(ctx, gate, stateSuccess)
}

// showPull prints which members the pull request lists.
func (e *ensemble) showPull(ctx context.Context) error {
	pulls, err := e.forge.Pulls(ctx, e.people[approver])
	if err != nil {
		return err
	}
	for _, p := range pulls {
		e.screen.say("#%d lists all members, with their images before and after:", p.Number)
		for _, line := range p.table() {
			e.screen.print("    " + line + "\n")
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
	pulls, err := e.forge.Pulls(ctx, e.people[approver])
	if err != nil {
		return err
	}
	broken := onePull(pulls, kinds())
	var found []findings
	var members []member
	records := 0
	for _, s := range e.stories {
		log := s.watch.all()
		f := s.claims.check(log)
		for _, reason := range f.broken {
			broken = append(broken, fmt.Sprintf("%s %s: %s", s.kind, s.name, reason))
		}
		found, records = append(found, f), records+len(log)
		members = append(members, member{name: s.name, claims: s.claims, records: log})
	}
	broken = append(broken, endsTogether(members)...)
	e.screen.chapter("Summary of the second act")
	e.screen.print(kindSummary(e.screen.start, e.stories, found))
	e.screen.say("the second act took %s", since(e.begun, time.Now()))
	return verdict(e.screen, broken, records)
}
