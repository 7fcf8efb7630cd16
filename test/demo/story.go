package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// Names of the sample in examples/repo, and of the namespace that it is released to.
const (
	namespace    = "shop"
	workload     = "web"
	manifestFile = "deployment.yaml"
	branch       = "main"
)

// images are the versions that the story releases; the first is what examples/repo holds.
var images = []string{"nginx:1.27", "nginx:1.28", "nginx:1.29", "nginx:1.29.1"}

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

// story is what happens, and the results.
type story struct {
	*environment

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
	first := &version{number: 1, image: images[0], commit: commit, pushed: time.Now()}
	s.versions = append(s.versions, first)
	if err := s.createSource(ctx); err != nil {
		return err
	}
	s.screen.say("ReleaseSource %s/%s follows %s of %s", namespace, workload, branch, s.forge.CloneURL(repositoryName()))
	scene, err := s.await(ctx, "the first version is deployed", func(scene *scene) bool {
		return scene.release != nil && scene.deployment != nil && deployed(scene.deployment)
	})
	if err != nil {
		return err
	}
	first.finished = time.Now()
	s.claims, err = claimsOf(scene)
	if err != nil {
		return err
	}
	s.screen.say("Deployment %s: %d pods of %s are available; the first deploy isn't batched", workload, s.claims.replicas, first.image)
	return nil
}

// deployed is what kubectl rollout status waits for.
func deployed(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Spec.Replicas != nil && d.Status.AvailableReplicas == *d.Spec.Replicas
}

// claimsOf reads what is promised from the manifests that are deployed.
func claimsOf(scene *scene) (claims, error) {
	replicas := int(*scene.deployment.Spec.Replicas)
	c := claims{replicas: replicas, first: images[0], last: images[len(images)-1], images: map[string]string{}}
	var err error
	if rolling := scene.deployment.Spec.Strategy.RollingUpdate; rolling != nil {
		if c.maxSurge, err = intstr.GetScaledValueFromIntOrPercent(rolling.MaxSurge, replicas, true); err != nil {
			return c, fmt.Errorf("read maxSurge: %w", err)
		}
		if c.maxUnavailable, err = intstr.GetScaledValueFromIntOrPercent(rolling.MaxUnavailable, replicas, false); err != nil {
			return c, fmt.Errorf("read maxUnavailable: %w", err)
		}
	}
	for _, step := range scene.release.Spec.Strategy.Steps {
		target, err := intstr.GetScaledValueFromIntOrPercent(&step.Replicas, replicas, true)
		if err != nil {
			return c, fmt.Errorf("read step: %w", err)
		}
		c.targets = append(c.targets, target)
	}
	return c, nil
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

// push commits the next version to the manifest and pushes it.
func (s *story) push(ctx context.Context) (*version, error) {
	last := s.versions[len(s.versions)-1]
	next := &version{number: last.number + 1, image: images[last.number]}
	if err := s.clone.update(ctx); err != nil {
		return nil, err
	}
	if err := s.clone.setImage(last.image, next.image); err != nil {
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

// complete waits until a version runs everywhere, the Deployment is handed back, and the forge was
// told.
func (s *story) complete(ctx context.Context, v *version) error {
	s.note.set("releasing %s to all pods", v)
	_, err := s.await(ctx, fmt.Sprintf("%s is released", v), func(scene *scene) bool {
		release := scene.release
		return release != nil && release.Status.Commit == v.commit && release.Status.Phase == v1alpha1.PhaseCompleted &&
			reported(release, v.commit, stateSuccess) && scene.total().ending == 0
	})
	if err != nil {
		return err
	}
	v.finished = time.Now()
	s.screen.say("%s is released to all %d pods; the Deployment is the native controller's again", v, s.claims.replicas)
	s.note.set("")
	return nil
}

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
