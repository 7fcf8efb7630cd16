package counters

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/judge"
)

var start = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// at returns a time some seconds after the start.
func at(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }

func pod(name string, isNew bool) Pod {
	return Pod{Name: name, UID: "uid-" + name, New: isNew, Since: start.Add(-time.Hour)}
}

// beside returns the look at pods beside one of the other version, which serves a request a second:
// a look needs both versions.
func beside(w *Watch, r Reading, pods []Pod) (judge.Look, Gaps) {
	other := pod("zz", !pods[0].New)
	r.Pods = maps.Clone(r.Pods)
	r.Pods[other.Name] = judge.Count{Requests: r.At.Sub(start.Add(-time.Hour)).Seconds()}
	return w.Look(r, append(slices.Clone(pods), other))
}

// old sums up the parts of a look.
func old(look judge.Look) (sum judge.Part) {
	for _, p := range look.Old {
		sum.Requests += p.Requests
		sum.Errors += p.Errors
		sum.Pods += p.Pods
	}
	return sum
}

func TestLook(t *testing.T) {
	pods := []Pod{pod("a", true), pod("b", false), pod("c", false)}
	type reading map[string]judge.Count
	for name, tc := range map[string]struct {
		first, second reading
		new, old      judge.Count
		newPods       int
		says          func(Gaps) bool
	}{
		"increments": {
			first: reading{"a": {Requests: 100, Errors: 1}, "b": {Requests: 1000, Errors: 10}, "c": {Requests: 2000, Errors: 20}}, second: reading{"a": {Requests: 150, Errors: 2}, "b": {Requests: 1100, Errors: 11}, "c": {Requests: 2100, Errors: 23}},
			new: judge.Count{Requests: 50, Errors: 1}, old: judge.Count{Requests: 200, Errors: 4}, newPods: 1,
			says: func(g Gaps) bool { return len(g.Missing)+len(g.Back)+g.Young == 0 && !g.Stale },
		},
		"a server lags": {
			first: reading{"a": {Requests: 100, Errors: 1}, "b": {Requests: 1000, Errors: 10}, "c": {Requests: 2000, Errors: 20}}, second: reading{"a": {Requests: 90, Errors: 1}, "b": {Requests: 1100, Errors: 10}, "c": {Requests: 2000, Errors: 20}},
			says: func(g Gaps) bool { return slices.Equal(g.Back, []string{"a"}) && g.Held },
		},
		"errors without requests": {
			first: reading{"a": {Requests: 100, Errors: 1}}, second: reading{"a": {Requests: 101, Errors: 9}},
			says: func(g Gaps) bool {
				return slices.Equal(g.Back, []string{"a"}) && slices.Equal(g.Missing, []string{"b", "c"})
			},
		},
		"no data":      {first: reading{}, second: reading{}, says: func(g Gaps) bool { return len(g.Missing) == 3 }},
		"another's":    {first: reading{"z": {Requests: 1, Errors: 1}}, second: reading{"z": {Requests: 9, Errors: 9}}, says: func(g Gaps) bool { return len(g.Missing) == 3 }},
		"a pod is met": {first: reading{}, second: reading{"a": {Requests: 500, Errors: 500}}, says: func(g Gaps) bool { return len(g.Missing) == 2 }},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Watch{Young: time.Minute}
			w.Look(Reading{at(0), tc.first}, pods)
			look, gaps := w.Look(Reading{at(15), tc.second}, pods)
			if look.New != tc.new || old(look).Count != tc.old || look.NewPods != tc.newPods {
				t.Errorf("got %v of %d new pods and %v, want %v of %d and %v", look.New, look.NewPods, old(look).Count, tc.new, tc.newPods, tc.old)
			}
			if !tc.says(gaps) {
				t.Errorf("got gaps %+v", gaps)
			}
			if again, gaps := w.Look(Reading{at(15), tc.second}, pods); !gaps.Stale || again.New.Requests != 0 {
				t.Errorf("a reading that is no later gives %+v, %+v; want that it is stale", again, gaps)
			}
		})
	}
}

// TestYoungPods: a pod counts from the first increment after it has come of age, and what it served
// before never does, though the server reads it seldom.
func TestYoungPods(t *testing.T) {
	w := &Watch{Young: time.Minute}
	young := Pod{Name: "a", UID: "1", New: true, Since: at(0)}
	for _, tc := range []struct {
		seconds  int
		requests float64
		want     float64
	}{{30, 1000, 0}, {60, 1000, 0}, {75, 1000, 0}, {90, 1500, 0}, {105, 1510, 10}} {
		look, gaps := beside(w, Reading{at(tc.seconds), map[string]judge.Count{"a": {Requests: tc.requests, Errors: 0}}}, []Pod{young})
		if look.New.Requests != tc.want || (tc.seconds < 60) != (gaps.Young == 1) {
			t.Errorf("after %d s: got %v requests and %d young pods, want %v requests", tc.seconds, look.New.Requests, gaps.Young, tc.want)
		}
	}
	later := young
	later.UID = "2"
	if look, _ := beside(w, Reading{at(120), map[string]judge.Count{"a": {Requests: 1600, Errors: 0}}}, []Pod{later}); look.New.Requests != 0 {
		t.Errorf("a later pod of the name has %v requests of the one before", look.New.Requests)
	}
}

// TestReadyAgain: requests never count that a pod serves while it is not ready, or young again.
func TestReadyAgain(t *testing.T) {
	w := &Watch{Young: time.Minute}
	p := pod("a", true)
	for _, tc := range []struct{ seconds, since, requests, want float64 }{
		{0, -3600, 100, 0}, {15, -3600, 110, 10}, {45, 40, 500, 0}, {105, 40, 900, 0}, {120, 40, 905, 0}, {135, 40, 912, 7},
	} {
		p.Since = at(int(tc.since))
		look, _ := beside(w, Reading{at(int(tc.seconds)), map[string]judge.Count{"a": {Requests: tc.requests}}}, []Pod{p})
		if look.New.Requests != tc.want {
			t.Errorf("after %v s: got %v requests, want %v", tc.seconds, look.New.Requests, tc.want)
		}
	}
}

// TestCountersOfNoNumber: a pod may export anything. It spoils neither the look nor its own looks
// to come.
func TestCountersOfNoNumber(t *testing.T) {
	for _, odd := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, first := range []bool{true, false} {
			w := &Watch{}
			pods := []Pod{pod("a", true), pod("b", false)}
			for i := 0.0; i < 4; i++ {
				a := judge.Count{Requests: 10 * i, Errors: i}
				if (i == 0) == first && i < 2 {
					a.Errors = odd
				}
				look, gaps := w.Look(Reading{at(int(i)), map[string]judge.Count{"a": a, "b": {Requests: 20 * i}}}, pods)
				if _, err := judge.New().Add(look); err != nil {
					t.Errorf("%v, reading %v: %v", odd, i, err)
				}
				if isOdd := math.IsNaN(a.Errors) || math.IsInf(a.Errors, 0); isOdd != (len(gaps.Back) > 0) {
					t.Errorf("%v, reading %v: got gaps %+v", odd, i, gaps)
				}
				if i == 3 && look.New != (judge.Count{Requests: 10, Errors: 1}) {
					t.Errorf("%v: the last look has %v of the pod", odd, look.New)
				}
			}
		}
	}
}

// TestListedTwice: a pod that a list has twice counts once.
func TestListedTwice(t *testing.T) {
	w := &Watch{}
	pods := []Pod{pod("a", true), pod("a", true)}
	beside(w, Reading{at(0), map[string]judge.Count{"a": {}}}, pods)
	if look, _ := beside(w, Reading{at(15), map[string]judge.Count{"a": {Requests: 10}}}, pods); look.New.Requests != 10 || look.NewPods != 1 {
		t.Errorf("got %v requests of %d pods, want 10 of 1", look.New.Requests, look.NewPods)
	}
}

// TestParts: each pod of the old version stays in its part while others come and go.
func TestParts(t *testing.T) {
	w := &Watch{}
	var pods []Pod
	reading := Reading{at(0), map[string]judge.Count{}}
	for i := range 12 {
		pods = append(pods, pod(fmt.Sprintf("pod-%02d", i), false))
		reading.Pods[pods[i].Name] = judge.Count{}
	}
	beside(w, reading, pods)
	reading.At = at(15)
	for i := range pods {
		reading.Pods[pods[i].Name] = judge.Count{Requests: float64(i + 1)}
	}
	look, _ := beside(w, reading, pods[3:])
	for i := range look.Old {
		want := 0.0
		for j := i; j < len(pods); j += judge.Parts {
			if j >= 3 {
				want += float64(j + 1)
			}
		}
		if look.Old[i].Requests != want {
			t.Errorf("part %d has %v requests, want %v", i, look.Old[i].Requests, want)
		}
	}
}

// TestRestarts: a restarted container is a new one. A process that begins again without its
// container is behind for some readings, and counts from then on.
func TestRestarts(t *testing.T) {
	for name, tc := range map[string]struct {
		restarts int32
		want     []float64
	}{
		"container": {1, []float64{0, 10, 10, 10, 10, 10, 10}},
		"process":   {0, []float64{0, 0, 0, 0, 0, 10, 10}},
	} {
		t.Run(name, func(t *testing.T) {
			w := &Watch{}
			p := pod("a", true)
			for i, requests := range []float64{900, 1000} {
				beside(w, Reading{at(i), map[string]judge.Count{"a": {Requests: requests}}}, []Pod{p})
			}
			p.Restarts = tc.restarts
			for i, want := range tc.want {
				look, _ := beside(w, Reading{at(2 + i), map[string]judge.Count{"a": {Requests: float64(10 * i)}}}, []Pod{p})
				if look.New.Requests != want {
					t.Errorf("reading %d: got %v requests, want %v", i, look.New.Requests, want)
				}
			}
		})
	}
}

// TestCountedOnce: however containers restart, servers lag by up to the age of young pods and
// readings fail, a pod never counts more than it has served, and a judge takes each look.
func TestCountedOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const lag = 3
		w := &Watch{Young: (lag + 1) * time.Second}
		p := pod("a", true)
		var now, served, counted judge.Count
		var history []judge.Count
		for second := range rapid.IntRange(2, 60).Draw(t, "readings") {
			if rapid.IntRange(0, 9).Draw(t, "restarts") == 0 {
				now = judge.Count{}
				p.Restarts, p.Since = p.Restarts+1, at(second)
			}
			requests := float64(rapid.IntRange(0, 100).Draw(t, "requests"))
			errors := float64(rapid.IntRange(0, int(requests)).Draw(t, "errors"))
			now.Requests, now.Errors = now.Requests+requests, now.Errors+errors
			served.Requests, served.Errors = served.Requests+requests, served.Errors+errors
			history = append(history, now)
			if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				continue
			}
			read := history[max(0, second-rapid.IntRange(0, lag).Draw(t, "lag"))]
			look, _ := beside(w, Reading{at(second), map[string]judge.Count{"a": read}}, []Pod{p})
			if _, err := judge.New().Add(look); err != nil {
				t.Fatal(err)
			}
			counted.Requests += look.New.Requests
			counted.Errors += look.New.Errors
		}
		if counted.Requests > served.Requests || counted.Errors > served.Errors {
			t.Fatalf("counted %v, served %v", counted, served)
		}
	})
}

// TestServerComesBack: a server that lags for long and then comes back counts nothing again that
// was counted before.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	w, pods := &Watch{}, []Pod{pod("a", true), pod("b", false)}
	total := 0.0
	look := func(second int, requests float64) {
		both := map[string]judge.Count{"a": {Requests: requests}, "b": {Requests: requests}}
		l, _ := w.Look(Reading{At: at(second), Pods: both}, pods)
		total += l.New.Requests
	}
	look(0, 1000)
	look(1, 1100)
	for second := range 10 { // another replica, an hour behind
		look(2+second, 500+float64(second))
	}
	look(20, 1200)
	look(21, 1250)
	if want := 100.0 + 50 + 5; total > want { // and what the replica has counted once it is believed
		t.Errorf("counted %v requests, want at most %v", total, want)
	}
}
