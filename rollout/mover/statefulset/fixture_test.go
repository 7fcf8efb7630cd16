package statefulset

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// The tests tell of a StatefulSet that goes from v1 to v2, or back. One pod may be unavailable, and
// the step is one of one pod.
type scene struct {
	Mover
	mover.Task

	keeps bool
}

// In a rollback v2 is the version to go back to.

// held returns a StatefulSet whose pods are told by the revision of each, from the lowest to the
// highest: 1 and 2 are available pods of v1 and v2; a and b are pods of them that are not
// available; t and u such that are terminating; - is none.
func held(pods string) *scene {
	s := &scene{
		Mover: Mover{
			RollingUpdate: true, Partition: inplace.Held, Window: inplace.Held, Current: "v1",
			Workload: inplace.Workload{
				Observed: true, Replicas: int32(len(pods)), Digest: "digest-v2", Update: "v2", Listed: true, Live: true,
			},
		},
		Task: mover.Task{
			Digest: "digest-v2", Replicas: int32(len(pods)), Bounds: mover.Bounds{Unavailable: 1}, Target: 1, Stable: "v1",
		},
	}
	for i, told := range pods {
		if told != '-' {
			s.Pods = append(s.Pods, pod(int32(i), told))
		}
	}
	return s
}

func pod(index int32, told rune) inplace.Pod {
	p := inplace.Pod{
		Name: fmt.Sprintf("db-%d", index), UID: types.UID(fmt.Sprintf("pod-%d", index)), Index: index, Revision: "v1",
		Ready: told == '1' || told == '2', Available: told == '1' || told == '2', Terminating: told == 't' || told == 'u',
	}
	if told == '2' || told == 'b' || told == 'u' {
		p.Revision = "v2"
	}
	return p
}

func (s *scene) but(change func(*scene)) *scene {
	change(s)
	return s
}

// open says that the partition is open down to an ordinal.
func (s *scene) open(partition int32) *scene {
	s.Partition, s.Window = partition, partition
	return s
}

func (s *scene) target(pods int32) *scene {
	s.Target, s.Reach = pods, pods
	return s
}

func (s *scene) unavailable(pods int32) *scene {
	s.Unavailable = pods
	return s
}

// scaledTo says that spec.replicas is another number than there are pods.
func (s *scene) scaledTo(replicas int32) *scene {
	s.Rescaling, s.Grown = true, replicas > s.Mover.Replicas
	s.Mover.Replicas, s.Task.Replicas = replicas, replicas
	return s
}

// stands says that the release does not go on.
func (s *scene) stands() *scene {
	s.keeps = true
	return s
}

func ordered(s *scene) { s.OrderedReady = true }

func blocked(s *scene) { s.Blocked = true }

func steppingBack(s *scene) { s.SteppingBack = true }

func rollback(s *scene) { s.Rollback = true }

// sameRevision says that the template is that of the current revision.
func sameRevision(s *scene) { s.Current = s.Update }

func (s *scene) moves() mover.Moves {
	if s.keeps {
		return s.Mover.Keep(s.Task)
	}
	return s.Move(s.Task)
}

// script returns the writes of a pass.
func (s *scene) script() []string {
	var lines []string
	moves := s.moves()
	for _, w := range moves.Grow {
		lines = append(lines, w.String())
	}
	for _, w := range moves.Shrink {
		lines = append(lines, w.String()+": back")
	}
	return lines
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
				t.Errorf("what becomes of the pods (-want +got):\n%s", diff)
			}
		})
	}
}
