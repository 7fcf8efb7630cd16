package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
)

// States of a commit status.
const (
	stateSuccess = "success"
	stateFailure = "failure"
)

// remark is what the approver writes.
const remark = "The first pod looks fine."

// reachGate waits until the release stands at the gate after a step, and has somebody look at the
// new pods.
func (s *story) reachGate(ctx context.Context, v *version, step int) (*v1alpha1.Gate, error) {
	gate, err := s.awaitGate(ctx, v, step)
	if err != nil {
		return nil, err
	}
	s.note.countDown("looking at it for a moment", s.options.pause)
	return gate, s.options.lookAround(ctx)
}

// awaitGate waits until the release stands at the gate after a step, and what it waits for is
// known.
func (s *story) awaitGate(ctx context.Context, v *version, step int) (*v1alpha1.Gate, error) {
	s.note.set("releasing %s", v)
	scene, err := s.await(ctx, fmt.Sprintf("batch %d of %s is done", step+1, v), func(scene *scene) bool {
		gate := scene.gate(v.commit, step)
		return gate != nil && gate.Status.Decision == v1alpha1.DecisionWaiting && askedFor(gate) && standsAt(scene.release, gate)
	})
	if err != nil {
		return nil, err
	}
	return scene.gate(v.commit, step), nil
}

// askedFor reports whether what a gate waits for can be given.
func askedFor(gate *v1alpha1.Gate) bool {
	return gate.Spec.Type != v1alpha1.GatePullRequest || gate.Status.PullRequest != nil && gate.Status.PullRequest.Number > 0
}

func standsAt(release *v1alpha1.BatchRelease, gate *v1alpha1.Gate) bool {
	return release != nil && release.Status.Commit == gate.Spec.Commit && release.Status.CurrentStepIndex == gate.Spec.Step &&
		release.Status.CurrentStepState == v1alpha1.StepBlocking
}

// lookAround waits as long as a person looks at the new pods.
func (o options) lookAround(ctx context.Context) error {
	select {
	case <-time.After(o.pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// approve has the pull request of a gate reviewed and merged.
func (s *story) approve(ctx context.Context, v *version, gate *v1alpha1.Gate) error {
	pull := gate.Status.PullRequest
	if err := s.claim(ctx, v, gate, approver, fmt.Sprintf("#%d", pull.Number)); err != nil {
		return err
	}
	if err := s.forge.Approve(ctx, s.people[approver], pull.Number, remark); err != nil {
		return err
	}
	s.screen.say("%s: approves and merges #%d, %s", approver, pull.Number, pull.URL)
	return nil
}

// pass has CI post what the gate waits for.
func (s *story) pass(ctx context.Context, v *version, gate *v1alpha1.Gate) error {
	if err := s.claim(ctx, v, gate, tester, gate.Spec.Policy.CommitStatus.Context); err != nil {
		return err
	}
	return s.test(ctx, gate, stateSuccess)
}

// hold has CI post something else, and sees that the release stays where it is and says why.
func (s *story) hold(ctx context.Context, v *version, gate *v1alpha1.Gate, state string) error {
	v.heldBy = gate.Spec.Policy.CommitStatus.Context
	step := int(gate.Spec.Step)
	waits := func(scene *scene) bool {
		gate := scene.gate(v.commit, step)
		return gate != nil && gate.Status.Decision == v1alpha1.DecisionWaiting
	}
	before, err := s.await(ctx, fmt.Sprintf("the gate of %s waits", v), waits)
	if err != nil {
		return err
	}
	if err := s.test(ctx, gate, state); err != nil {
		return err
	}
	waiting := before.gate(v.commit, step).Status
	_, err = s.await(ctx, fmt.Sprintf("the gate of %s tells of the %s", v, state), func(scene *scene) bool {
		return waits(scene) && scene.gate(v.commit, step).Status.Message != waiting.Message
	})
	if err != nil {
		return err
	}
	s.note.countDown("held: nothing more happens", s.options.pause)
	if err := s.options.lookAround(ctx); err != nil {
		return err
	}
	s.screen.say("%s is held with %d of %d pods; its commit says:", v, s.claims.targets[step], s.claims.replicas)
	return s.listStatuses(ctx, v)
}

// test reports the status of CI for a commit.
func (s *story) test(ctx context.Context, gate *v1alpha1.Gate, state string) error {
	status := commitStatus{Context: gate.Spec.Policy.CommitStatus.Context, State: state, Description: "smoke test of the new pods"}
	if err := s.forge.Post(ctx, s.people[tester], gate.Spec.Commit, status); err != nil {
		return err
	}
	s.screen.say("%s: posts %s on %s: %s", tester, status.Context, plain.Commit(gate.Spec.Commit), state)
	return nil
}

// testOn has CI find each further version good, until ctx is done.
func (s *story) testOn(ctx context.Context) error {
	for {
		scene, changed := s.watch.now()
		for _, gate := range scene.gates {
			if err := s.testOnce(ctx, gate); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// testOnce posts what a gate waits for, unless that was done before.
func (s *story) testOnce(ctx context.Context, gate *v1alpha1.Gate) error {
	if gate.Spec.Type != v1alpha1.GateCommitStatus || gate.Status.Decision != v1alpha1.DecisionWaiting || s.tested[gate.UID] {
		return nil
	}
	s.tested[gate.UID] = true
	return s.test(ctx, gate, stateSuccess)
}

// claim notes, before it is done, what is to let a release through a gate.
func (s *story) claim(ctx context.Context, v *version, gate *v1alpha1.Gate, actor, what string) error {
	revision, err := s.revision(ctx)
	if err != nil {
		return fmt.Errorf("confirm batch %d of %s: %w", gate.Spec.Step+1, v, err)
	}
	s.claims.confirmations = append(s.claims.confirmations, confirmation{
		revision: revision, commit: v.commit, step: int(gate.Spec.Step), actor: actor, what: what,
	})
	return nil
}

// revision returns the cluster's current revision; every later change has a greater one.
func (s *story) revision(ctx context.Context) (uint64, error) {
	var gates v1alpha1.GateList
	if err := s.cluster.List(ctx, &gates, client.InNamespace(s.namespace), client.Limit(1)); err != nil {
		return 0, fmt.Errorf("list gates: %w", err)
	}
	revision, err := strconv.ParseUint(gates.ResourceVersion, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read revision of the cluster: %w", err)
	}
	return revision, nil
}

// listStatuses prints what the forge lists of a version's commit, newest first.
func (s *story) listStatuses(ctx context.Context, v *version) error {
	statuses, err := s.forge.Statuses(ctx, s.people[developer], v.commit)
	if err != nil {
		return err
	}
	s.screen.print(statusTable(statuses))
	return nil
}
