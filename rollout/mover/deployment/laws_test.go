package deployment

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// drawTask is a Deployment in any state: nothing says that it was our doing.
func drawTask(t *rapid.T) task {
	upTo := func(most int32, name string) int32 { return rapid.Int32Range(0, most).Draw(t, name) }
	task := task{Task: mover.Task{Digest: "digest-v2", Stable: "v1", Replicas: 1 + upTo(11, "replicas")}}
	task.Bounds = mover.Bounds{Surge: upTo(4, "surge"), Unavailable: min(upTo(4, "unavailable"), task.Replicas)}
	if task.Surge+task.Unavailable == 0 {
		task.Unavailable = 1
	}
	task.Target = upTo(task.Replicas, "target")
	task.Reach = task.Target
	for _, revision := range []string{"v0", "v1", "v2", "v3"} {
		if revision != "v2" && revision != "v1" && !rapid.Bool().Draw(t, "has "+revision) {
			continue
		}
		size := upTo(12, revision)
		made := upTo(14, "made")
		ready := upTo(made, "ready")
		all := upTo(ready, "available")
		task.sets = append(task.sets, set(revision, size, func(s *Set) {
			s.Current, s.Ready, s.Available, s.Observed = made, ready, all, rapid.Bool().Draw(t, "observed")
		}))
	}
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	task.Mode = mover.Mode{Rollback: yes("rollback"), Rescaling: yes("rescaling"), Blocked: yes("blocked")}
	task.SteppingBack = !task.Rollback && task.Target < task.Replicas && yes("stepping back") // the last step is never jumped back to
	task.Grown = task.Rescaling && yes("grown")
	if task.Rollback { // what is missing is made up for with pods of the version to go back to
		task.Target = max(task.Target, task.Replicas-task.now().Pods())
	}
	return task
}

// inOrder are the changes in the order in which they are written.
func inOrder(s Sizes) []Scale {
	grow, shrink := s.Changes()
	if s.GrowsFirst() {
		return slices.Concat(grow, shrink)
	}
	return slices.Concat(shrink, grow)
}

func scale(sets []Set, change Scale) {
	i := slices.IndexFunc(sets, func(s Set) bool { return s.UID == change.Set.UID })
	sets[i].Replicas = change.To
}

// seen is how many pods there may be at once, by what the statuses tell, until the ReplicaSets have their sizes.
func seen(sets []Set) int32 {
	var pods int32
	for i := range sets {
		pods += max(sets[i].Replicas, sets[i].Current)
	}
	return pods
}

func totalOf(sets []Set) int32 {
	var total int32
	for i := range sets {
		total += sets[i].Replicas
	}
	return total
}

// worst is how many pods are available if of each set those that are not ready go first, and then any.
func worst(sets []Set) int32 {
	var available int32
	for _, s := range sets {
		available += max(s.Available-max(s.Ready-s.Replicas, 0), 0)
	}
	return available
}

// broken says which law a write breaks; empty if none.
func broken(task task, before, after []Set, change Scale) string {
	updated := change.Set.Digest == task.Digest
	grows, shrinks := change.To > change.From, change.To < change.From
	was, is := worst(before), worst(after)
	most := task.Replicas + task.Surge
	joins := change.From == 0 && change.To == 1 && active(before) <= 2
	if joins || active(after) == 1 && change.To == task.Replicas {
		most = max(most, task.Replicas+1) // T1
	}
	single := lone(after)
	switch {
	case grows && seen(after) > most:
		return fmt.Sprintf("I1: %d pods, at most %d", seen(after), most)
	case shrinks && is < was && is < task.Replicas-task.Unavailable:
		return fmt.Sprintf("I2: %d -> %d available, at least %d", was, is, task.Replicas-task.Unavailable)
	case grows && updated && change.To > task.Target:
		return fmt.Sprintf("I3: %d updated pods, at most %d", change.To, task.Target)
	case shrinks && updated && !task.Rescaling && !task.Blocked && !task.SteppingBack:
		return "I5: nothing says that updated pods may go"
	case grows && !updated && task.Rollback:
		return "I6: what is left behind by a rollback grows"
	case shrinks && lone(before) == nil && single != nil && single.Digest == task.Digest && task.Target < task.Replicas && !task.Rollback:
		return "T1: the new ReplicaSet is left alone, short of all pods"
	default:
		return ""
	}
}

func TestNoWriteBreaksALaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := drawTask(t)
		sizes := task.move()
		if rapid.Bool().Draw(t, "stands") {
			sizes = task.keep()
		}
		sets := slices.Clone(task.sets)
		for _, change := range inOrder(sizes) {
			before := slices.Clone(sets)
			scale(sets, change)
			if how := broken(task, before, sets, change); how != "" {
				t.Fatalf("%s: %s", words(change), how)
			}
		}
	})
}

func TestMoveReachesItsTarget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := drawTask(t)
		task.Rescaling = true // whatever is too many may go
		task.sets = slices.Clone(task.sets)
		for round := range 60 {
			changes := inOrder(task.move())
			for _, change := range changes {
				scale(task.sets, change)
			}
			if single := lone(task.sets); single != nil { // T1
				single.Replicas = task.Replicas
			}
			for i := range task.sets {
				s := &task.sets[i]
				s.Current, s.Ready, s.Available, s.Observed = s.Replicas, s.Replicas, s.Replicas, true
			}
			if round > 0 && len(changes) == 0 {
				break
			}
		}
		updated := updated(task.sets, task.Digest).Replicas
		old := totalOf(task.sets) - updated
		switch {
		case len(inOrder(task.move())) > 0:
			t.Fatalf("it never ends: %v", task.sets)
		case updated != task.Target:
			t.Errorf("%d updated pods, want %d", updated, task.Target)
		case task.Rollback && old > task.Replicas-updated, !task.Rollback && old != task.Replicas-updated:
			t.Errorf("%d other pods, want %d", old, task.Replicas-updated)
		}
	})
}
