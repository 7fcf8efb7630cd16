package statefulset

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// world is a StatefulSet that is held, its native controller, and a release that moves its pods.
type world struct {
	*rapid.T
	native

	release  mover.Task
	percent  int32 // of replicas that are to be updated
	recorded int32 // replicas that the step was entered with
	stands   bool
	broken   string // pods of this revision never become available
	window   int32  // what the hold says
	// excused says that pods were lost, or replicas changed, since Sluice has last had nothing to
	// change at the partition.
	excused bool
	// free are the pods that were not available when Sluice last decided.
	free map[types.UID]bool
	// let says that somebody scaled the StatefulSet up while a window was open.
	let bool
}

func (w *world) upTo(most int, name string) int { return rapid.IntRange(0, most).Draw(w.T, name) }

func (w *world) yes(name string) bool { return rapid.Bool().Draw(w.T, name) }

// drawWorld returns one in any state: nothing says that it was our doing.
func drawWorld(t *rapid.T) *world {
	w := &world{T: t, window: inplace.Held, free: map[types.UID]bool{}}
	w.spec = spec{1, int32(w.upTo(8, "replicas")), inplace.Held, "v2"}
	w.current, w.update, w.ordered = "v1", "v2", w.yes("ordered")
	w.atOnce = int32(w.upTo(3, "atOnce"))
	if w.yes("one of the versions is broken") {
		w.broken = rapid.SampledFrom([]string{"v0", "v1", "v2"}).Draw(t, "broken")
	}
	w.seen, w.observed = w.spec, 1
	for i := range w.spec.replicas {
		revision := rapid.SampledFrom([]string{"v0", "v1", "v1", "v1", "v2"}).Draw(t, "revision")
		w.create(i, revision)
		pod := w.at(i)
		pod.Available = revision != w.broken && w.yes("available")
		pod.Ready = pod.Available
	}
	w.percent, w.recorded = int32(w.upTo(10, "tenths")*10), w.spec.replicas
	w.release.Unavailable = 1 + int32(w.upTo(3, "unavailable"))
	w.release.SteppingBack = w.percent < 100 && w.yes("stepping back")
	w.deletes = func(pod inplace.Pod) { w.deleted("the native controller", pod) }
	w.creates = w.created
	return w
}

// task returns the current task: the step's share of the replicas.
func (w *world) task() mover.Task {
	t := w.release
	t.Digest, t.Replicas = w.spec.template, w.spec.replicas
	t.Unavailable = min(t.Unavailable, t.Replicas)
	t.Target = (w.percent*t.Replicas + 99) / 100
	t.Reach = t.Target
	counts := w.mover().Count(t.Digest)
	if !counts.Others.Known || t.Rollback { // follow's only
		t.Target = max(t.Target, t.Replicas-counts.Others.Wanted)
	}
	if counts.Updated.Wanted <= t.Target && counts.Others.Wanted >= t.Replicas-t.Target {
		w.recorded = t.Replicas
	}
	t.Rescaling, t.Grown = w.recorded != t.Replicas, w.recorded < t.Replicas
	return t
}

func (w *world) mover() Mover {
	return Mover{
		RollingUpdate: w.spec.partition != inplace.Anywhere, Partition: max(w.spec.partition, 0), Window: w.window,
		OrderedReady: w.ordered, Current: w.current,
		Workload: inplace.Workload{
			Observed: w.observed == w.spec.generation, Replicas: w.spec.replicas, Digest: w.spec.template, Update: w.update,
			Listed: true, Live: true, Pods: slices.Clone(w.pods),
		},
	}
}

// available counts the pods that serve.
func (w *world) available() int32 {
	n := int32(0)
	for i := range w.spec.replicas {
		if !unavailable(w.at(i)) {
			n++
		}
	}
	return n
}

// updated counts the pods of the update revision.
func (w *world) updated() int32 {
	n := int32(0)
	for i := range w.spec.replicas {
		if pod := w.at(i); pod != nil && !pod.Terminating && pod.Revision == w.spec.template {
			n++
		}
	}
	return n
}

// deleted checks a pod that is about to be deleted to be replaced.
func (w *world) deleted(by string, pod inplace.Pod) {
	least := w.spec.replicas - w.task().Unavailable
	excused := by != "Sluice" && (w.excused || w.free[pod.UID])
	if pod.Available && w.available()-1 < least && pod.Index < w.spec.replicas && !excused {
		w.Fatalf("%s deletes %s: %d pods are available then, at least %d", by, pod.Name, w.available()-1, least)
	}
}

// comesBack says that the native controller makes a pod again that serves: in order it waits for
// each other one.
func (w *world) comesBack(pod inplace.Pod, going []inplace.Pod) {
	for i := range w.spec.replicas {
		other := w.at(i)
		goes := other != nil && slices.ContainsFunc(going, func(p inplace.Pod) bool { return p.UID == other.UID })
		if w.ordered && pod.Available && unavailable(other) && !goes {
			w.Fatalf("%s is deleted while db-%d is not available", pod.Name, i)
		}
	}
}

// created checks a pod that the native controller has created.
func (w *world) created(pod inplace.Pod) {
	if pod.Revision != w.spec.template || w.current == w.update || w.let || w.release.Rollback || pod.Index >= w.spec.replicas {
		return
	}
	if most := w.task().Target; w.updated() > most {
		w.Fatalf("%s is made of %s: %d pods are, at most %d", pod.Name, pod.Revision, w.updated(), most)
	}
}

// pass plays a pass of Sluice with at most the given deletions. It reports whether it wrote
// anything.
func (w *world) pass(deletions int) bool {
	m, t := w.mover(), w.task()
	moves := m.Move(t)
	if w.stands {
		moves = m.Keep(t)
	}
	if m.Observed {
		w.decides(slices.ContainsFunc(moves.Grow, isWindow))
	}
	writes := slices.Concat(moves.Grow, moves.Shrink)
	for _, write := range writes {
		switch write := write.(inplace.Write).(type) {
		case inplace.Window:
			w.write(func(s *spec) { s.partition = write.Partition })
			w.window = write.Partition
		case inplace.Replace:
			w.replace(t, write, deletions)
		}
	}
	return len(writes) > 0
}

func isWindow(write mover.Write) bool {
	_, is := write.(inplace.Window)
	return is
}

// decides says what Sluice knew when it decided. Until the native controller has seen a partition
// it goes by what was decided before.
func (w *world) decides(onPartition bool) {
	if !onPartition {
		w.free, w.excused = map[types.UID]bool{}, false
	}
	for _, pod := range w.pods {
		w.free[pod.UID] = w.free[pod.UID] || !pod.Available
	}
}

func (w *world) replace(t mover.Task, write inplace.Replace, deletions int) {
	mayGoBack := !t.Rollback && (t.Rescaling || t.Blocked || t.SteppingBack && !w.stands)
	for _, pod := range write.Pods[:min(deletions, len(write.Pods))] {
		if isUpdated := pod.Revision == w.spec.template; isUpdated != write.Updated || isUpdated && (!mayGoBack || w.spec.partition != inplace.Held) {
			w.Fatalf("%s of %s is deleted, with updated: %t, mode %+v, partition %d", pod.Name, pod.Revision, write.Updated, t.Mode, w.spec.partition)
		}
		if w.stands && !write.Updated {
			w.Fatalf("%s is updated, but the release stands", pod.Name)
		}
		w.deleted("Sluice", pod)
		w.comesBack(pod, write.Pods)
		found := w.at(pod.Index)
		found.Terminating, found.Available = true, false
	}
}

// happens plays one event.
func (w *world) happens() {
	var pod *inplace.Pod
	if len(w.pods) > 0 {
		pod = &w.pods[w.upTo(len(w.pods)-1, "pod")]
	}
	event := rapid.SampledFrom([]string{
		"pass", "pass", "pass", "sees", "syncs", "syncs", "ends", "ends", "starts", "starts", "starts", "breaks", "is deleted", "scales", "stands", "waits", "turns",
	}).Draw(w.T, "event")
	switch event {
	case "pass":
		w.pass(w.upTo(4, "deletions"))
	case "sees":
		w.seen = w.spec
	case "syncs":
		w.sync()
	case "scales":
		w.scale(int32(w.upTo(8, "replicas")))
	case "stands":
		w.stands = w.yes("stands")
	case "waits":
		w.release.Blocked = w.percent < 100 && !w.release.Rollback && w.yes("blocked")
	case "turns":
		w.turn(w.upTo(5, "turn"))
	default:
		if pod != nil {
			w.befalls(pod, event)
		}
	}
}

// befalls plays an event of a pod.
func (w *world) befalls(pod *inplace.Pod, event string) {
	switch event {
	case "ends":
		w.finish(pod.UID)
	case "starts":
		pod.Available = !pod.Terminating && pod.Revision != w.broken
		pod.Ready = pod.Available
	case "breaks":
		pod.Available, pod.Ready, w.excused = false, false, true
	case "is deleted":
		pod.Terminating, pod.Available, w.excused = true, false, true
	}
}

func (w *world) scale(replicas int32) {
	open := w.spec.partition < inplace.Held || w.seen.partition < inplace.Held
	w.let = w.let || open && replicas > min(w.spec.replicas, w.seen.replicas)
	w.write(func(s *spec) { s.replicas = replicas })
	w.excused = true
}

// turn begins a rollback, in mid-release or to the version before, or the release of another
// version.
func (w *world) turn(to int) {
	if to < 2 {
		w.release.Rollback, w.release.SteppingBack, w.release.Blocked = true, false, false
	}
	switch {
	case to == 0:
		w.hold("v1")
	case to == 1:
		w.hold("v0")
	case to == 2 && !w.release.Rollback:
		w.hold("v3")
	}
}

// hold writes another template, as a take-over does.
func (w *world) hold(template string) {
	w.write(func(s *spec) { s.template, s.partition = template, inplace.Held })
	w.window, w.excused = inplace.Held, true
}

// rests lets everything come to its end, with Sluice or without.
func (w *world) rests(sluice bool) {
	for range 400 {
		pods, spec, observed, made := slices.Clone(w.pods), w.spec, w.observed, w.made
		w.seen = w.spec
		w.sync()
		if sluice {
			w.pass(8)
		}
		for _, pod := range slices.Clone(w.pods) {
			w.finish(pod.UID)
		}
		for i := range w.pods {
			w.befalls(&w.pods[i], "starts")
		}
		if spec == w.spec && observed == w.observed && made == w.made && slices.Equal(pods, w.pods) {
			return
		}
	}
	w.Fatalf("it does not come to an end: %+v", w.native)
}

// checkEnd says what must be true when nothing happens any more.
func (w *world) checkEnd() {
	t := w.task()
	cured := w.broken == "" || w.broken != w.spec.template && (w.current == w.update || t.Rollback || t.Target >= t.Replicas)
	if !cured || w.stands {
		return
	}
	if w.spec.partition != inplace.Held {
		w.Errorf("the partition rests at %d", w.spec.partition)
	}
	want := t.Target
	if w.current == w.update {
		want = max(want, w.updated())
	}
	goesBack := !t.Rollback && (t.Rescaling || t.Blocked || t.SteppingBack)
	if got := w.updated(); got < want || got > want && goesBack {
		w.Errorf("%d pods are updated, want %d", got, want)
	}
}

func TestWhateverHappensTheLawsHold(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range w.upTo(60, "events") {
			w.happens()
		}
		sluice := w.yes("Sluice runs on")
		w.rests(sluice)
		if sluice {
			w.checkEnd()
		}
	})
}
