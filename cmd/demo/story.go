package main

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Names of the sample in examples/repo, and of the namespace that it is released to.
const (
	namespace    = "shop"
	workload     = "web"
	manifestFile = "deployment.yaml"
	branch       = "main"
)

// images are the versions that the story releases; the first is what examples/repo holds.
var images = []string{"nginx:1.27", "nginx:1.28", "nginx:1.29"}

// owner is who confirms gates, as managedFields and the gates' evidence name it.
const owner = "sluice-demo"

// pollInterval is how often the repository is looked at: often, as nobody likes to watch a wait.
const pollInterval = time.Second

// pollTimeout is how long a look at the repository may take.
const pollTimeout = time.Minute

// confirmPatch is what confirms a manual gate.
const confirmPatch = `{"status":{"currentStepState":"Completed"}}`

// version is one version of the sample, from its push on.
type version struct {
	number   int
	image    string
	commit   string
	pushed   time.Time
	finished time.Time
}

func (v *version) String() string { return fmt.Sprintf("version %d (%s)", v.number, v.image) }

// story is what happens, and what came of it.
type story struct {
	options  options
	screen   *screen
	watch    *recorder
	note     *note
	cluster  client.Client
	clone    *clone
	cloneURL string

	claims   claims
	versions []*version
}

// tell goes through all of it: a first deploy, a release, and one that overtakes it.
func (s *story) tell(ctx context.Context) error {
	if err := s.firstDeploy(ctx); err != nil {
		return err
	}
	s.screen.chapter("git push: version 2")
	second, err := s.push(ctx, images[1])
	if err != nil {
		return err
	}
	if err := s.release(ctx, second, 1); err != nil {
		return err
	}
	s.screen.chapter("git push: version 3, while version 2 waits at its gate")
	third, err := s.push(ctx, images[2])
	if err != nil {
		return err
	}
	if err := s.release(ctx, third, len(s.claims.targets)-1); err != nil {
		return err
	}
	return s.complete(ctx, third)
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
	s.screen.say("ReleaseSource %s/%s follows %s of %s", namespace, workload, branch, s.cloneURL)
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
	s.screen.say("Deployment %s: %d pods of %s are available; a first deploy needs no batches", workload, s.claims.replicas, first.image)
	return nil
}

// deployed is what kubectl rollout status waits for.
func deployed(d *appsv1.Deployment) bool {
	return d.Status.ObservedGeneration >= d.Generation && d.Spec.Replicas != nil && d.Status.AvailableReplicas == *d.Spec.Replicas
}

func (s *story) createSource(ctx context.Context) error {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}},
		&v1alpha1.ReleaseSource{
			ObjectMeta: metav1.ObjectMeta{Name: workload, Namespace: namespace},
			Spec: v1alpha1.ReleaseSourceSpec{
				URL:      s.cloneURL,
				Ref:      v1alpha1.GitReference{Branch: branch},
				Interval: metav1.Duration{Duration: pollInterval},
				Timeout:  metav1.Duration{Duration: pollTimeout},
			},
		},
	}
	for _, object := range objects {
		if err := s.cluster.Create(ctx, object, client.FieldOwner(owner)); err != nil {
			return fmt.Errorf("create %s: %w", object.GetName(), err)
		}
	}
	return nil
}

// claimsOf reads what is promised from the manifests that are deployed.
func claimsOf(scene *scene) (claims, error) {
	replicas := int(*scene.deployment.Spec.Replicas)
	c := claims{replicas: replicas, first: images[0], last: images[len(images)-1]}
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

// push commits the next version to the manifest and pushes it.
func (s *story) push(ctx context.Context, image string) (*version, error) {
	last := s.versions[len(s.versions)-1]
	next := &version{number: last.number + 1, image: image}
	if err := s.clone.replaceInFile(manifestFile, last.image, image); err != nil {
		return nil, err
	}
	commit, err := s.clone.commitAndPush(ctx, "web: "+image)
	if err != nil {
		return nil, err
	}
	next.commit, next.pushed = commit, time.Now()
	s.versions = append(s.versions, next)
	s.screen.say("$ git commit -am 'web: %s' && git push   # %s", image, short(commit))
	return next, nil
}

// release goes with a version through its first batches, confirming each gate on the way, and
// stays at the gate after the batch of index last, unless that one is the end of the release.
func (s *story) release(ctx context.Context, v *version, last int) error {
	for step := 0; step <= last && step < len(s.claims.targets)-1; step++ {
		if err := s.reachGate(ctx, v, step); err != nil {
			return err
		}
		if step == last {
			return nil
		}
		if err := s.confirm(ctx, v, step); err != nil {
			return err
		}
	}
	return nil
}

// reachGate waits until the release stands at the gate after a step.
func (s *story) reachGate(ctx context.Context, v *version, step int) error {
	s.note.set("releasing %s", v)
	_, err := s.await(ctx, fmt.Sprintf("batch %d of %s is done", step+1, v), func(scene *scene) bool {
		release := scene.release
		return release != nil && release.Status.Commit == v.commit && int(release.Status.CurrentStepIndex) == step &&
			release.Status.CurrentStepState == v1alpha1.StepBlocking && len(release.Status.Gates) > 0
	})
	if err != nil {
		return err
	}
	s.note.countDown("looking at it for a moment", s.options.pause)
	return s.lookAround(ctx)
}

// lookAround is the moment that a person takes to look at the new pods.
func (s *story) lookAround(ctx context.Context) error {
	select {
	case <-time.After(s.options.pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// confirm patches the status as a user does with kubectl.
func (s *story) confirm(ctx context.Context, v *version, step int) error {
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Name: workload, Namespace: namespace}}
	patch := client.RawPatch(types.MergePatchType, []byte(confirmPatch))
	if err := s.cluster.Status().Patch(ctx, release, patch, client.FieldOwner(owner)); err != nil {
		return fmt.Errorf("confirm batch %d of %s: %w", step+1, v, err)
	}
	s.claims.confirmations = append(s.claims.confirmations, confirmation{revisionOf(release), time.Now(), v.image, step})
	s.screen.say("$ kubectl -n %s patch batchrelease %s --type=merge --subresource=status -p '%s'", namespace, workload, confirmPatch)
	return nil
}

// complete waits until the last version runs everywhere and the Deployment is handed back.
func (s *story) complete(ctx context.Context, v *version) error {
	s.note.set("releasing %s to all pods", v)
	_, err := s.await(ctx, fmt.Sprintf("%s is released", v), func(scene *scene) bool {
		release := scene.release
		return release != nil && release.Status.Commit == v.commit && release.Status.Phase == v1alpha1.PhaseCompleted &&
			scene.total().ending == 0
	})
	if err != nil {
		return err
	}
	v.finished = time.Now()
	s.screen.say("%s is released to all %d pods; the Deployment is the native controller's again", v, s.claims.replicas)
	s.note.set("")
	return nil
}

// await waits for a scene, but not for ever.
func (s *story) await(ctx context.Context, what string, done func(*scene) bool) (*scene, error) {
	ctx, cancel := context.WithTimeout(ctx, s.options.timeout)
	defer cancel()
	return s.watch.await(ctx, what, done)
}

func short(commit string) string { return commit[:min(7, len(commit))] }
