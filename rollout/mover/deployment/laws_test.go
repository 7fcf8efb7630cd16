package deployment

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// drawTask returns a Deployment in any state: nothing says that it was our doing.
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
			s.Noted = rapid.Bool().Draw(t, "noted")
		}))
	}
	yes := func(name string) bool { return rapid.Bool().Draw(t, name) }
	task.Mode = mover.Mode{Rollback: yes("rollback"), Rescaling: yes("rescaling"), Blocked: yes("blocked")}
	task.SteppingBack = !task.Rollback && task.Target < task.Replicas && yes("stepping back") // the last step is never jumped back to
	task.Grown = task.Rescaling && yes("grown")
	if task.Rollback { // what is missing is made up for with pods of the version to go back to
		task.Target = max(task.Target, task.Replicas-task.now().Pods())
	}
	if yes("requests are shared") {
		share(t, &task)
	}
	return task
}

// share has versions serve requests, on any of its pods and on some that it does not have yet.
func share(t *rapid.T, task *task) {
	upTo := func(most int32, name string) int32 { return rapid.Int32Range(0, most).Draw(t, name) }
	task.Keep, task.Grow = map[string]int32{}, map[string]int32{}
	for i := range task.sets {
		s := &task.sets[i]
		if rapid.Bool().Draw(t, "keeps "+s.Revision) {
			task.Keep[s.Revision] = upTo(task.Replicas, "kept")
		}
		if s.Digest != task.Digest && rapid.Bool().Draw(t, "grows "+s.Revision) {
			task.Grow[s.Revision] = upTo(task.Replicas, "grown")
		}
	}
	task.Most = upTo(40, "most")
}

// limit returns the largest number of pods.
func limit(task task) int32 { return max(task.Replicas+task.Surge, task.Most) }

// asked returns the desired number of pods of other versions: the rest of the target, and the pods
// that requests go to.
func asked(task task, sets []Set) int32 {
	var serving int32
	for i := range sets {
		if s := &sets[i]; s.Digest != task.Digest {
			serving += max(task.Grow[s.Revision], min(task.Keep[s.Revision], s.Replicas))
		}
	}
	return max(task.Replicas-task.Target, serving)
}

// lacking returns the number of pods that other versions still have to grow by.
func lacking(task task, sets []Set) int32 {
	var pods int32
	for i := range sets {
		if s := &sets[i]; s.Digest != task.Digest {
			pods += max(task.Grow[s.Revision]-s.Replicas, 0)
		}
	}
	return pods
}

// inOrder returns the changes in the order in which they are written.
func inOrder(s Sizes) []Scale {
	grow, shrink := s.Changes()
	if s.GrowsFirst() {
		return slices.Concat(grow, shrink)
	}
	return slices.Concat(shrink, grow)
}

// scale fails if the set has another size by then: the write would be refused.
func scale(t *rapid.T, sets []Set, change Scale) {
	i := slices.IndexFunc(sets, func(s Set) bool { return s.UID == change.Set.UID })
	if sets[i].Replicas != change.From {
		t.Fatalf("%s: it has %d pods", words(change), sets[i].Replicas)
	}
	sets[i].Replicas, sets[i].Noted = change.To, false
}

// seen returns the largest number of pods at once, by the statuses, until the ReplicaSets have
// their sizes.
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

func updatedOf(sets []Set, task task) int32 { return updated(sets, task.Digest).Replicas }

// worst returns the number of available pods if the unready pods of each set go first, and then
// any.
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
	most := limit(task)
	joins := change.From == 0 && change.To == 1 && active(before) <= 2
	if joins || active(after) == 1 && change.To == task.Replicas {
		most = max(most, task.Replicas+1) // T1
	}
	if first := change.From == 0 && change.To == 1; first && task.Keep != nil && (updatedOf(before, task) == 0 || totalOf(before) == updatedOf(before, task)+1) {
		joins, most = true, most+1 // T1: an old one can't go before
	}
	if was := lone(before); joins && !updated && was != nil && was.Digest == task.Digest {
		most = max(most, seen(before)+1) // T1: the native controller would scale the lone one up, and does not wait for pods that go
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
	case shrinks && change.To < min(task.Keep[change.Set.Revision], change.From):
		return fmt.Sprintf("requests go to %d of its pods", task.Keep[change.Set.Revision])
	case grows && updated && !joins && seen(after)+lacking(task, after) > most && lacking(task, after) > 0:
		return fmt.Sprintf("no room is left for %d pods that requests wait for", lacking(task, after))
	case grows && !updated && task.Rollback && change.To > task.Grow[change.Set.Revision]:
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
			scale(t, sets, change)
			if how := broken(task, before, sets, change); how != "" {
				t.Fatalf("%s: %s", words(change), how)
			}
		}
	})
}

// TestNoNoteStaysBesideOldPodsThatServe: T2, no set keeps the note while old pods serve, which may
// take hours.
func TestNoNoteStaysBesideOldPodsThatServe(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := drawTask(t)
		share(t, &task)
		updated(task.sets, task.Digest).Noted = true
		sizes := task.move()
		if rapid.Bool().Draw(t, "stands") {
			sizes = task.keep()
		}
		sets, noted := slices.Clone(task.sets), true
		for _, change := range inOrder(sizes) {
			fromOld := change.To < change.From && change.Set.Digest != task.Digest
			if fromOld && noted && min(task.Keep[change.Set.Revision], change.To) > 0 && updatedOf(sets, task) == task.Replicas {
				t.Fatalf("%s is written before the note goes", words(change)) // and may be the last that is written
			}
			noted = noted && change.Set.Digest != task.Digest
			scale(t, sets, change)
		}
		for i := range sets {
			s := &sets[i]
			serve := min(max(task.Keep[s.Revision], task.Grow[s.Revision]), s.Replicas)
			if noted && s.Digest != task.Digest && serve > 0 {
				t.Fatalf("the note stays beside %d pods of %s that serve", serve, s.Revision)
			}
		}
	})
}

func TestMoveReachesItsTarget(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		task := drawTask(t)
		task.sets = slices.Clone(task.sets)
		u := updated(task.sets, task.Digest)
		u.Replicas = min(u.Replicas, max(task.Target, rapid.Int32Range(0, 12).Draw(t, "updated pods that stay")))
		if u.Replicas > task.Target || task.now().Pods() == 0 {
			task.Rescaling = true // whatever is too many, or was alone, may go
		}
		kept := max(task.Target, task.Keep[u.Revision])
		stays := int32(0)
		if task.Grow != nil && task.Target == 0 {
			stays = 1 // without an updated pod the steadiest version keeps one, whatever serves (T1)
		}
		serving := int32(0)
		for i := range task.sets {
			if s := &task.sets[i]; s.Digest != task.Digest {
				serving += max(task.Keep[s.Revision], task.Grow[s.Revision])
			}
		}
		takes := kept + stays + max(task.Replicas-task.Target, serving)
		if task.Keep != nil && rapid.Bool().Draw(t, "as many as it takes") {
			task.Most = takes
		}
		enough := limit(task) >= takes
		for round := range 60 {
			changes := inOrder(task.move())
			for _, change := range changes {
				scale(t, task.sets, change)
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
		pods := updated(task.sets, task.Digest).Replicas
		old, want := totalOf(task.sets)-pods, asked(task, task.sets)
		switch {
		case len(inOrder(task.move())) > 0:
			t.Fatalf("it never ends: %v", task.sets)
		case !enough:
		case pods < task.Target || pods > kept:
			t.Errorf("%d updated pods, want %d, or up to %d that requests go to", pods, task.Target, kept)
		case lacking(task, task.sets) > 0:
			t.Errorf("%d pods are missing that requests wait for: %v", lacking(task, task.sets), task.sets)
		case old > want+stays, !task.Rollback && old < want:
			t.Errorf("%d other pods, want %d: %v", old, want, task.sets)
		}
	})
}
