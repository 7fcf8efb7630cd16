package deployment

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// The tests tell of a Deployment that goes from v1 to v2, or back: one pod of surge and none
// unavailable, and a step of one pod.
type scene struct {
	task

	keeps bool
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

const (
	more  = ": more replicas"
	fewer = ": fewer replicas"
	back  = ": back to the target"
)

func held(replicas int32) *scene {
	return &scene{task: task{Task: mover.Task{
		Digest: "digest-v2", Replicas: replicas, Bounds: mover.Bounds{Surge: 1}, Target: 1, Stable: "v1",
	}}}
}

// goingBack returns the way back to v1 after v2 had been released.
func goingBack(replicas int32) *scene {
	s := held(replicas)
	s.Digest, s.Stable, s.Rollback = "digest-v1", "v2", true
	return s
}

func (s *scene) but(change func(*task)) *scene {
	change(&s.task)
	return s
}

func (s *scene) bounds(surge, unavailable int32) *scene {
	s.Bounds = mover.Bounds{Surge: surge, Unavailable: unavailable}
	return s
}

func (s *scene) target(pods int32) *scene {
	s.Target = pods
	return s
}

func (s *scene) reach(pods int32) *scene {
	s.Reach = pods
	return s
}

func (s *scene) having(sets ...Set) *scene {
	s.sets = sets
	return s
}

// scaledFrom says that spec.replicas was another number when the step was entered.
func (s *scene) scaledFrom(replicas int32) *scene {
	s.Rescaling, s.Grown = true, s.Replicas > replicas
	return s
}

// stands says that the release does not go on.
func (s *scene) stands() *scene {
	s.keeps = true
	return s
}

// script returns the writes of a pass.
func (s *scene) script() []string {
	if updated(s.sets, s.Digest) == nil {
		return []string{fmt.Sprintf("made with %d", s.first())}
	}
	sizes := s.move()
	if s.keeps {
		sizes = s.keep()
	}
	grow, shrink := sizes.Changes()
	all := slices.Concat(shrink, grow)
	if sizes.GrowsFirst() {
		all = slices.Concat(grow, shrink)
	}
	var lines []string
	for _, scale := range all {
		lines = append(lines, words(scale))
	}
	return lines
}

func words(s Scale) string {
	why := map[mover.Why]string{mover.FewerReplicas: fewer, mover.MoreReplicas: more, mover.BackToTarget: back, mover.KeepOthers: ": takes the note off"}[s.Why]
	return fmt.Sprintf("%s %d -> %d%s", s.Set.Revision, s.From, s.To, why)
}

// set returns a ReplicaSet whose pods are all available.
func set(revision string, replicas int32, changes ...func(*Set)) Set {
	s := Set{
		Name: "web-" + revision, UID: types.UID("set-" + revision), Observed: true,
		Digest: "digest-" + revision, Revision: revision,
		Created:  noon.Add(time.Duration(revision[len(revision)-1]) * time.Minute),
		Replicas: replicas, Current: replicas, Ready: replicas, Available: replicas,
	}
	for _, change := range changes {
		change(&s)
	}
	return s
}

func available(n int32) func(*Set) { return func(s *Set) { s.Ready, s.Available = n, n } }

// warming makes n pods ready, and not available yet.
func warming(n int32) func(*Set) { return func(s *Set) { s.Available -= n } }

func current(n int32) func(*Set) { return func(s *Set) { s.Current = n } }

// terminating sets the number of terminating pods.
func terminating(n int32) func(*Set) { return func(s *Set) { s.Terminating = &n } }

func unobserved(s *Set) { s.Observed = false }

func stuck(s *Set) {
	s.Failure = &mover.Failure{Reason: "FailedCreate", Message: "exceeded quota", Since: noon}
}

// moved is a case of a table. Its name is the rule that it shows.
type moved struct {
	scene *scene
	want  []string
}

func checkMoves(t *testing.T, tests map[string]moved) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.scene.script()); diff != "" {
				t.Errorf("what the ReplicaSets become (-want +got):\n%s", diff)
			}
		})
	}
}
