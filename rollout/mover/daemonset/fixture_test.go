package daemonset

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// The tests tell of a DaemonSet that goes from v1 to v2, one pod at a time. Its pods are agent-1 on
// node-1, and so on.

const (
	digest  = "digest-v2"
	nowhere = "nowhere"
)

// held returns a DaemonSet with the new template, and these pods on as many nodes.
func held(pods ...inplace.Pod) Mover {
	nodes := map[string]bool{}
	for i := range pods {
		n := i + 1
		pods[i].Name, pods[i].UID = fmt.Sprintf("agent-%d", n), types.UID(fmt.Sprintf("pod-%d", n))
		switch pods[i].Node {
		case "":
			pods[i].Node = fmt.Sprintf("node-%d", n)
		case nowhere:
			pods[i].Node = ""
		}
		if !pods[i].Lost {
			nodes[pods[i].Node] = true
		}
	}
	return Mover{
		OnDelete: true, Workload: inplace.Workload{
			Observed: true, Digest: digest, Update: "v2", Listed: true, Live: true, Replicas: int32(len(nodes)), Pods: pods,
		},
	}
}

func (m Mover) but(change func(*Mover)) Mover {
	change(&m)
	return m
}

// pod returns an available pod.
func pod(revision string, changes ...func(*inplace.Pod)) inplace.Pod {
	p := inplace.Pod{Revision: revision, Ready: true, Available: true}
	for _, change := range changes {
		change(&p)
	}
	return p
}

func pods(n int, revision string) []inplace.Pod {
	var all []inplace.Pod
	for range n {
		all = append(all, pod(revision))
	}
	return all
}

func unready(p *inplace.Pod) { p.Ready, p.Available = false, false }

func warming(p *inplace.Pod) { p.Available = false }

func terminating(p *inplace.Pod) { p.Ready, p.Available, p.Terminating = false, false, true }

func lost(p *inplace.Pod) { p.Ready, p.Available, p.Lost = false, false, true }

func on(node string) func(*inplace.Pod) { return func(p *inplace.Pod) { p.Node = node } }

// to returns a task with a target, and one pod that may be unavailable.
func to(target int32) mover.Task {
	return mover.Task{Digest: digest, Target: target, Bounds: mover.Bounds{Unavailable: 1}}
}

func within(unavailable, target int32) mover.Task {
	t := to(target)
	t.Unavailable = unavailable
	return t
}

// move returns the writes of Move for a task.
func (m Mover) move(t mover.Task) []string {
	t.Replicas = m.Replicas
	moves := m.Move(t)
	var lines []string
	for _, write := range append(moves.Grow, moves.Shrink...) {
		lines = append(lines, write.String())
	}
	return lines
}

// moved is a case of a table. Its name is the rule that it shows.
type moved struct {
	mover Mover
	task  mover.Task
	want  []string
}

func checkMoves(t *testing.T, tests map[string]moved) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, test.mover.move(test.task)); diff != "" {
				t.Errorf("what is written (-want +got):\n%s", diff)
			}
		})
	}
}
