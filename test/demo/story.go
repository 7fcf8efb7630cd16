package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// branch is the one that is released.
const branch = "main"

// web returns what the first act releases.
func web() cast {
	return cast{kind: "Deployment", name: "web", manifest: "deployment.yaml", images: []string{"nginx:1.27", "nginx:1.28", "nginx:1.29", "nginx:1.29.1"}}
}

// fieldOwner is who makes the story's objects, as managedFields name it.
const fieldOwner = "sluice-demo"

// version is one version of the sample, from its push on.
type version struct {
	number   int
	image    string
	commit   string
	pushed   time.Time
	finished time.Time
	// heldBy is the gate that did not let it through, for people.
	heldBy string
}

func (v *version) String() string { return fmt.Sprintf("version %d (%s)", v.number, v.image) }

// story holds the events of a workload, and the results.
type story struct {
	*environment
	*stage
	cast

	options options
	watch   *recorder
	note    *note
	clone   *clone

	claims   claims
	versions []*version
	// tested are the gates that CI has answered since the story is over.
	tested map[types.UID]bool
}

// tell goes through all of it: a first deploy, a release, one that its tests hold, and the one
// that fixes it.
func (s *story) tell(ctx context.Context) error {
	if err := s.firstDeploy(ctx); err != nil {
		return err
	}
	for _, chapter := range []struct{ heading, tested string }{
		{"git push: version 2", stateSuccess},
		{"git push: version 3, which " + tester + " finds broken", stateFailure},
		{"git push: version 4, while version 3 is held", stateSuccess},
	} {
		s.screen.chapter(chapter.heading)
		if err := s.release(ctx, chapter.tested); err != nil {
			return err
		}
	}
	return nil
}

// firstDeploy points a ReleaseSource at the repository and waits for what it holds.
func (s *story) firstDeploy(ctx context.Context) error {
	s.screen.chapter("First deploy: what the repository holds")
	commit, err := s.clone.head(ctx)
	if err != nil {
		return err
	}
	first := &version{number: 1, image: s.images[0], commit: commit, pushed: time.Now()}
	s.versions = append(s.versions, first)
	if err := s.createSource(ctx, s.stage); err != nil {
		return err
	}
	s.screen.say("ReleaseSource %s/%s follows %s of %s", s.namespace, s.source, branch, s.forge.CloneURL(s.repository))
	return s.deployed(ctx, first)
}

// deployed waits until the first version runs everywhere.
func (s *story) deployed(ctx context.Context, first *version) error {
	scene, err := s.await(ctx, "the first version is deployed", func(scene *scene) bool {
		return scene.release != nil && scene.workload != nil && deployed(scene.workload)
	})
	if err != nil {
		return err
	}
	first.finished = time.Now()
	s.claims, err = s.claimsOf(scene)
	if err != nil {
		return err
	}
	s.screen.say("%s %s: %d pods of %s are available; the first deploy isn't batched", s.kind, s.name, s.claims.replicas, first.image)
	return nil
}

// claimsOf reads what is promised from the manifests that are deployed.
func (c cast) claimsOf(scene *scene) (claims, error) {
	last := len(c.images) - 1
	promised := claims{replicas: replicasOf(scene.workload), first: c.images[0], last: c.images[last], images: map[string]string{}}
	var err error
	if promised.maxSurge, promised.maxUnavailable, err = boundsOf(scene.release, scene.workload); err != nil {
		return promised, err
	}
	for _, step := range scene.release.Spec.Strategy.Steps {
		target, err := scaled(&step.Replicas, promised.replicas, true)
		if err != nil {
			return promised, fmt.Errorf("read step: %w", err)
		}
		promised.targets = append(promised.targets, target)
	}
	return promised, nil
}

// release pushes the next version and follows it through its batches, until it runs everywhere
// or its tests hold it.
func (s *story) release(ctx context.Context, tested string) error {
	v, err := s.push(ctx)
	if err != nil {
		return err
	}
	for step := range len(s.claims.targets) - 1 {
		gate, err := s.reachGate(ctx, v, step)
		if err != nil {
			return err
		}
		switch {
		case gate.Spec.Type == v1alpha1.GatePullRequest:
			err = s.approve(ctx, v, gate)
		case tested == stateSuccess:
			err = s.pass(ctx, v, gate)
		default:
			return s.hold(ctx, v, gate, tested)
		}
		if err != nil {
			return err
		}
	}
	return s.complete(ctx, v)
}

// latest returns the version that was pushed last.
func (s *story) latest() *version { return s.versions[len(s.versions)-1] }

// push commits the next version to the manifest and pushes it.
func (s *story) push(ctx context.Context) (*version, error) {
	last := s.latest()
	next := &version{number: last.number + 1, image: s.images[last.number]}
	if err := s.clone.update(ctx); err != nil {
		return nil, err
	}
	if err := s.clone.setImage(s.manifest, last.image, next.image); err != nil {
		return nil, err
	}
	commit, err := s.clone.commitAndPush(ctx, "web: "+next.image)
	if err != nil {
		return nil, err
	}
	next.commit, next.pushed = commit, time.Now()
	s.versions = append(s.versions, next)
	s.claims.images[commit] = next.image
	s.screen.say("%s: $ git pull && git commit -am 'web: %s' && git push   # %s", developer, next.image, plain.Commit(commit))
	return next, nil
}

// complete waits until a version runs everywhere, the workload is handed back, and the forge was
// told.
func (s *story) complete(ctx context.Context, v *version) error {
	s.note.set("releasing %s to all pods", v)
	_, err := s.await(ctx, fmt.Sprintf("%s is released", v), func(scene *scene) bool {
		release := scene.release
		return release != nil && release.Status.Commit == v.commit && release.Status.Phase == v1alpha1.PhaseCompleted &&
			(s.reportedByTrain() || reported(release, v.commit, stateSuccess)) && scene.total().ending == 0
	})
	if err != nil {
		return err
	}
	v.finished = time.Now()
	s.screen.say("%s is released to all %d pods; the %s is the native controller's again", v, s.claims.replicas, s.kind)
	s.note.set("")
	return nil
}

// reportedByTrain reports whether the story is about a member of a train, which reports for all.
func (s *story) reportedByTrain() bool { return s.train != "" && s.train != s.name }

// reported reports whether a state was the last that was reported of a commit.
func reported(release *v1alpha1.BatchRelease, commit, state string) bool {
	report := release.Status.Report
	return report != nil && report.Commit == commit && report.State == state
}

// await waits for a scene, but not for ever.
func (s *story) await(ctx context.Context, what string, done func(*scene) bool) (*scene, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.timeout)
	defer cancel()
	return s.watch.await(ctx, what, done)
}
