package counters

import (
	"fmt"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/judge"
)

// TestPhases: a server that reads pods less often than it is asked gives increments of one version
// alone. They wait for the other version's, and none is lost or counts twice.
func TestPhases(t *testing.T) {
	t.Parallel()
	w, pods := &Watch{}, []Pod{pod("a", true), pod("b", false)}
	var fresh, before judge.Count
	looks := 0
	for i := range 41 { // each pod is read each fourth time, b two readings after a
		of := func(phase int) judge.Count {
			times := float64((i + 4 - phase) / 4)
			return judge.Count{Requests: 100 * times, Errors: times}
		}
		look, gaps := w.Look(Reading{at(15 * i), map[string]judge.Count{"a": of(0), "b": of(2)}}, pods)
		if (look.New.Requests == 0) != (old(look).Requests == 0) {
			t.Fatalf("reading %d: a look has requests of one version alone: %+v", i, look)
		}
		if look.New.Requests > 0 {
			looks++
			if gaps.Held || look.NewPods != 1 || old(look).Pods != 1 {
				t.Errorf("reading %d: got %+v with gaps %+v, want one pod of each version", i, look, gaps)
			}
		}
		fresh.Requests, fresh.Errors = fresh.Requests+look.New.Requests, fresh.Errors+look.New.Errors
		before.Requests, before.Errors = before.Requests+old(look).Requests, before.Errors+old(look).Errors
	}
	if want := (judge.Count{Requests: 1000, Errors: 10}); looks != 10 || before != want || fresh.Requests < 900 {
		t.Errorf("%d looks have %v and %v, want 10 with %v", looks, fresh, before, want)
	}
}

// TestHeldForLong: increments of one version are dropped that have waited for minutes, as its rate
// of errors may have been another one then.
func TestHeldForLong(t *testing.T) {
	t.Parallel()
	w, pods := &Watch{}, []Pod{pod("a", true), pod("b", false)}
	look := func(seconds int, a, b float64) (judge.Look, Gaps) {
		return w.Look(Reading{at(seconds), map[string]judge.Count{"a": {Requests: a}, "b": {Requests: b}}}, pods)
	}
	look(0, 0, 0)
	if _, gaps := look(15, 0, 50); !gaps.Held {
		t.Errorf("got gaps %+v, want that increments are held", gaps)
	}
	if got, _ := look(15+int(mostHeld/time.Second)+15, 7, 51); got.New.Requests != 7 || old(got).Requests != 1 {
		t.Errorf("got %+v, want 7 requests and 1", got)
	}
}

// TestIdlePods: a pod that has never served a request is none of a version's pods: a verdict about
// the one that serves is about one pod.
func TestIdlePods(t *testing.T) {
	t.Parallel()
	w := &Watch{}
	var pods []Pod
	for i := range 8 {
		pods = append(pods, pod(fmt.Sprint("pod-", i), i%2 == 0))
	}
	var look judge.Look
	for i := range 3 {
		counts := map[string]judge.Count{}
		for j, p := range pods {
			if j < 2 {
				counts[p.Name] = judge.Count{Requests: float64(10 * i)}
			} else {
				counts[p.Name] = judge.Count{}
			}
		}
		look, _ = w.Look(Reading{at(15 * i), counts}, pods)
	}
	if look.NewPods != 1 || old(look).Pods != 1 || look.New.Requests != 10 {
		t.Errorf("got %d new and %d old pods, want the one of each that serves", look.NewPods, old(look).Pods)
	}
}

// TestServerLagsForLong: a replica of the server that is minutes behind, for minutes, counts
// nothing again that another one has counted.
func TestServerLagsForLong(t *testing.T) {
	t.Parallel()
	w, pods := &Watch{}, []Pod{pod("a", true), pod("b", false)}
	served := func(i int) float64 { return 5000 + 100*float64(i) }
	counted := 0.0
	const readings = 60
	for i := range readings {
		read := i
		if i >= 20 && i < 40 {
			read -= 12
		}
		both := map[string]judge.Count{"a": {Requests: served(read)}, "b": {Requests: served(read)}}
		look, _ := w.Look(Reading{at(15 * i), both}, pods)
		counted += look.New.Requests
	}
	if most := served(readings-1) - served(0); counted > most || counted < most-500 {
		t.Errorf("counted %v requests of %v", counted, most)
	}
}
