package plan

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// watcher is a process that looks at one release again and again, at the times that it is told.
type watcher struct {
	*scene

	// pods is the result of a check of pods.
	pods Trouble
	// looks and writes count.
	looks, writes int
	events        []string
}

// after goes on to the time of the next look, at least so much later, and returns what is told
// then.
func (w *watcher) after(t *testing.T, d time.Duration) string {
	t.Helper()
	w.Now = w.Now.Add(d)
	w.Trouble, w.Live = nil, w.Live&^ReadTrouble
	p := next(t, w.scene)
	if p.Needs.Has(ReadTrouble) {
		w.looks++
		w.Live |= ReadTrouble
		w.Trouble = new(w.pods)
		p = next(t, w.scene)
	}
	if Urgent(&w.Release.Status, &p.Status) {
		w.writes++
	}
	for _, event := range p.Events {
		w.events = append(w.events, event.Reason+": "+event.Message)
	}
	w.Release.Status, w.PodLooks = p.Status, p.PodLooks
	if p.Status.PodTrouble == nil {
		return ""
	}
	return p.Status.PodTrouble.Words(p.Status.TargetReplicas)
}

var crash = Trouble{Reason: v1alpha1.PodsCrash, Pods: 2, Message: "CrashLoopBackOff: exit code 1 (container web)"}

const crashes = "2 of 5 pods crash: CrashLoopBackOff: exit code 1 (container web)"

// lacking returns a release in its second step, of whose five updated pods so many are available.
func lacking(there int32) *watcher {
	s := held(10).at(1, 5).sets(set("v1", 5), set("v2", 5, available(there)))
	s.PodLook = 5 * time.Second
	return &watcher{scene: s, pods: crash}
}

func (w *watcher) available(n int32) { w.sets(set("v1", 5), set("v2", 5, available(n))) }

// wantTold goes on in steps of a second and wants what is told to change at these seconds only.
func (w *watcher) wantTold(t *testing.T, seconds int, want ...string) {
	t.Helper()
	var got []string
	last := ""
	for second := range seconds {
		told := w.after(t, time.Second*time.Duration(min(second, 1)))
		if told != last {
			got = append(got, fmt.Sprintf("%d: %s", second, told))
		}
		last = told
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is told of the pods, by second (-want +got):\n%s", diff)
	}
}

// TestTroubleIsTold: pods that crash are told of within seconds, once, in the status and by an
// event, and nothing else is decided by that.
func TestTroubleIsTold(t *testing.T) {
	t.Parallel()
	w := lacking(3)
	w.wantTold(t, 60, "5: "+crashes)
	if got, want := w.Release.Status.Message, "batch 2/3: updating to 5 pods of 10; "+crashes; got != want {
		t.Errorf("want the message %q, got %q", want, got)
	}
	if diff := cmp.Diff([]string{v1alpha1.ReasonPodTrouble + ": batch 2/3: " + crashes}, w.events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	if w.looks != 3 { // after 5, 15 and 35 seconds
		t.Errorf("want 3 looks in a minute, got %d", w.looks)
	}
	if standing(&w.Release.Status) != "RollingUpdate 2/3 Upgrade StepUpgrading" {
		t.Errorf("the release stands at %s", standing(&w.Release.Status))
	}
}

// TestTroubleIsHeldWhilePodsFlip: a container that crashes runs in between, and its pod may even be
// ready: that is one trouble, and few writes.
func TestTroubleIsHeldWhilePodsFlip(t *testing.T) {
	t.Parallel()
	w := lacking(3)
	for second := range 600 {
		w.pods = crash
		if second%7 < 3 {
			w.pods = Trouble{} // it runs
		}
		w.after(t, time.Second)
	}
	if w.writes != 2 || len(w.events) != 1 { // the first pass, and the trouble
		t.Errorf("want 2 writes and one event, got %d and %v", w.writes, w.events)
	}
	if w.looks > 8 {
		t.Errorf("want at most 8 looks in ten minutes, got %d", w.looks)
	}
	ready := lacking(3)
	for second := range 3600 {
		ready.available(5)
		if second%20 > 10 {
			ready.available(3)
		}
		ready.Release.Status.CurrentStepState = v1alpha1.StepBlocking
		ready.gates(gate(1, 1, 0))
		ready.after(t, time.Second)
	}
	if begun := strings.Count(strings.Join(ready.events, "\n"), v1alpha1.ReasonPodTrouble); begun > 4 {
		t.Errorf("pods that are ready in between are told of %d times in an hour, want at most 4", begun)
	}
}

// TestTroubleEnds: Trouble is over with the pods that had it.
func TestTroubleEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		pods Trouble
		then func(*watcher)
		want []string
	}{
		"all pods are available":          {crash, func(w *watcher) { w.available(5) }, []string{"0: "}},
		"more are, and the rest is well":  {crash, func(w *watcher) { w.available(4); w.pods = Trouble{} }, []string{"9: "}},
		"a crash that is not seen is not": {crash, func(w *watcher) { w.pods = Trouble{} }, nil},
		"an image is there": {
			Trouble{v1alpha1.PodsLackImage, 2, "ErrImagePull"}, func(w *watcher) { w.pods = Trouble{} }, []string{"9: "},
		},
		"another one": {crash, func(w *watcher) { w.pods = Trouble{v1alpha1.PodsUnschedulable, 1, "no node"} }, []string{
			"9: 1 of 5 pods can't be scheduled: no node",
		}},
		"of more pods":     {crash, func(w *watcher) { w.pods.Pods = 3 }, []string{"9: 3" + crashes[1:]}},
		"of fewer pods":    {crash, func(w *watcher) { w.pods.Pods = 1 }, nil},
		"another revision": {crash, func(w *watcher) { w.Release.Status.PodTrouble.Revision = "v0" }, []string{"0: ", "9: " + crashes}},
		"nobody can look":  {crash, func(w *watcher) { w.PodLook = 0 }, nil},
		"it is completed":  {crash, func(w *watcher) { w.Release.Status.Phase = v1alpha1.PhaseCompleted }, []string{"0: "}},
		"it fails":         {crash, func(w *watcher) { w.Release.Status.Phase = v1alpha1.PhaseFailed }, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := lacking(3)
			w.pods = test.pods
			w.after(t, 0)
			last := w.after(t, 5*time.Second)
			w.Now = w.Now.Add(time.Second)
			test.then(w)
			var got []string
			for second := range 15 {
				if told := w.after(t, time.Second*time.Duration(min(second, 1))); told != last {
					got, last = append(got, fmt.Sprintf("%d: %s", second, told)), told
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("what is told, by second (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPodsThatComeAreNotLookedAt: where pods come, however slowly, nobody looks at them; and where
// many releases are in progress, later.
func TestPodsThatComeAreNotLookedAt(t *testing.T) {
	t.Parallel()
	w := lacking(0)
	for i := range int32(5) {
		w.available(i)
		w.after(t, 4*time.Second)
	}
	if w.looks != 0 {
		t.Errorf("pods that come every 4 seconds are looked at %d times", w.looks)
	}
	busy := lacking(3)
	busy.PodLook = time.Minute
	busy.wantTold(t, 70, "30: "+crashes)
	slow := lacking(0)
	for i := range int32(10) { // one of ten comes every 4 s: slow after 20 s, and again after 10
		slow.at(2, 10).sets(set("v1", 0), set("v2", 10, available(i)))
		slow.after(t, 4*time.Second)
	}
	if slow.looks != 2 {
		t.Errorf("pods that take 36 seconds are looked at %d times, want twice", slow.looks)
	}
}

// TestACrashAfterALongStartIsToldSoon: an image may take minutes to come, and what runs it crashes
// then: that is told within seconds as well, whatever the looks before have found.
func TestACrashAfterALongStartIsToldSoon(t *testing.T) {
	t.Parallel()
	for _, starts := range []int{10, 60, 200, 500} {
		w := lacking(3)
		w.pods = Trouble{}
		told := ""
		for second := range starts + 25 {
			if second >= starts {
				w.pods = crash
			}
			if told = w.after(t, time.Second*time.Duration(min(second, 1))); told != "" {
				break
			}
		}
		if told != crashes {
			t.Errorf("a crash after %d seconds is not told 25 seconds later: %q", starts, told)
		}
		if most := starts/20 + 4; w.looks > most {
			t.Errorf("want at most %d looks in %d seconds, got %d", most, starts, w.looks)
		}
	}
}

// TestLateTroubleIsLookedAtAgainSoon: trouble that begins late is checked again as soon as early
// trouble, so that its report is not outdated.
func TestLateTroubleIsLookedAtAgainSoon(t *testing.T) {
	t.Parallel()
	w := lacking(3)
	w.pods = Trouble{}
	for second := range 500 {
		w.after(t, time.Second*time.Duration(min(second, 1)))
	}
	w.pods = Trouble{Reason: v1alpha1.PodsLackImage, Pods: 2, Message: "ErrImagePull"}
	for range 20 {
		w.after(t, time.Second)
	}
	if w.Release.Status.PodTrouble == nil {
		t.Fatal("want the trouble told within 20 seconds")
	}
	w.pods = Trouble{}
	for range 10 {
		w.after(t, time.Second)
	}
	if told := w.Release.Status.PodTrouble; told != nil {
		t.Errorf("want trouble that is over to be over 10 seconds later, got %+v", told)
	}
}

// TestTroubleThatComesAndGoesIsLookedAtRarely: Trouble that comes and goes is looked at ever more
// rarely.
func TestTroubleThatComesAndGoesIsLookedAtRarely(t *testing.T) {
	t.Parallel()
	w := lacking(3)
	w.pods.Reason = v1alpha1.PodsLackImage
	for second := range 3600 {
		looks := w.looks
		if w.after(t, time.Second*time.Duration(min(second, 1))); w.looks > looks { // the next look finds the opposite
			w.pods.Pods = 2 - w.pods.Pods
		}
	}
	if w.looks > 40 {
		t.Errorf("want at most 40 looks in an hour, got %d", w.looks)
	}
}

// TestLooksOfManyReleasesAreBounded: However many releases are in progress, all of them together
// read pods at most four times in a second after their first looks, and they find trouble for the
// first time within half a minute. The interval is that of the status writes that only count pods.
func TestLooksOfManyReleasesAreBounded(t *testing.T) {
	t.Parallel()
	const most = 4.0
	for _, releases := range []int{1, 20, 120, 300, 1200, 10_000} {
		for name, pods := range map[string]Trouble{"in trouble": crash, "slow": {}} {
			w := lacking(3)
			w.PodLook, w.pods = max(5*time.Second, time.Duration(releases)*time.Second/4), pods
			w.after(t, 0)
			if told := w.after(t, min(w.PodLook, 30*time.Second)); w.looks != 1 || told == "" && pods == crash {
				t.Errorf("%d releases, %s: want a look after half a minute at the latest, got %d", releases, name, w.looks)
			}
			span := max(20*w.PodLook, 20*time.Minute)
			for end := w.Now.Add(span); w.Now.Before(end); {
				w.after(t, min(w.PodLook, 30*time.Second))
			}
			if rate := float64(w.looks-1) * float64(releases) / span.Seconds(); rate > most {
				t.Errorf("%d releases, %s: want at most %.0f looks in a second, got %.1f", releases, name, most, rate)
			}
		}
	}
}

// TestPodsThatCrashAfterTheyWereReady: pods that are ready for a moment and crash again, in the
// last batch as in any other, are told of within seconds each time that they have been well for
// longer, and nobody is told twice of one that flaps.
func TestPodsThatCrashAfterTheyWereReady(t *testing.T) {
	t.Parallel()
	w := lacking(5)
	w.Release.Status.CurrentStepState = v1alpha1.StepBlocking
	w.gates(gate(1, 1, 0))
	w.after(t, 0)
	w.after(t, time.Minute)
	w.available(3)
	w.wantTold(t, 30, "5: "+crashes)
	w.available(5)
	w.pods = Trouble{}
	w.wantTold(t, 3600)
	w.available(3)
	w.pods = crash
	w.wantTold(t, 30, "0: "+crashes)
}

// TestTroubleIsOfNoMorePodsThanThereAreToBe: a node that refuses pods leaves one behind each time:
// no more are in trouble than there are to be.
func TestTroubleIsOfNoMorePodsThanThereAreToBe(t *testing.T) {
	t.Parallel()
	w := lacking(3)
	w.pods = Trouble{Reason: v1alpha1.PodsCannotStart, Pods: 400, Message: "OutOfcpu"}
	w.wantTold(t, 10, "5: 5 of 5 pods can't start: OutOfcpu")
}

// TestTroubleOfAnyText: the text of a kubelet or a scheduler steers nothing, and is bounded.
func TestTroubleOfAnyText(t *testing.T) {
	t.Parallel()
	w := lacking(3)
	w.pods.Message = "\x1b[2J\n" + strings.Repeat("é", 5000)
	w.after(t, 0)
	w.after(t, 5*time.Second)
	if got := w.Release.Status.PodTrouble.Message; len([]rune(got)) > maxTrouble || strings.ContainsAny(got, "\x1b\n") {
		t.Errorf("want a line of at most %d characters, got %q", maxTrouble, got)
	}
}

// TestTroubleAfterRestart: a process that starts goes on with what the one before it has told.
func TestTroubleAfterRestart(t *testing.T) {
	t.Parallel()
	w := lacking(3)
	w.after(t, 0)
	w.after(t, 5*time.Second)
	w.PodLooks, w.pods = PodLooks{}, Trouble{}
	if told := w.after(t, time.Second); told != crashes {
		t.Errorf("want it told still, got %q", told)
	}
	w.available(5)
	if told := w.after(t, time.Second); told != "" {
		t.Errorf("want it over with the last pod, got %q", told)
	}
}
