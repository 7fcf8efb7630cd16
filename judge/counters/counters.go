// Package counters makes looks for a judge out of counters that pods export; pure.
//
//	counters of pods at one time, pods ──► Watch.Look ──► judge.Look, Gaps
//
// What must hold:
//
//   - looks never overlap: each increment of a counter is in one look at most;
//   - a look has requests of both versions, or of none;
//   - a pod without requests is none of a look's pods;
//   - no pod counts before it is as old as Watch.Young, nor what it served before that;
//   - a pod whose container has restarted begins anew. A counter that goes down otherwise is of a
//     server that lags behind: nothing is counted twice.
package counters

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/judge"
)

// Reading holds the counters of pods at one time.
type Reading struct {
	At time.Time
	// Pods are the counters by the names of their pods: of all requests, and of errors, since each
	// pod has started.
	Pods map[string]judge.Count
}

// Pod describes a pod that serves.
type Pod struct {
	Name string
	// UID tells a pod from a later one of its name.
	UID string
	New bool
	// Restarts counts those of its containers: each begins its counters again.
	Restarts int32
	// Since is the time from which it was ready.
	Since time.Time
}

// Watch keeps the last counters of each pod. A caller that starts again begins with another Watch,
// and misses what is served between two readings: judges take any gap.
type Watch struct {
	// Young is the age below which a pod is left out: caches are cold.
	Young time.Duration

	at    time.Time
	known map[string]known // by UID
	parts int
	held  held
}

// known holds what is known of a pod.
type known struct {
	highest judge.Count
	// lowest holds the requests from which on all up to highest have counted.
	lowest float64
	// left holds the counters before they fell and stayed low.
	left     judge.Count
	seen     bool
	served   bool // it has ever had an increment of requests
	fresh    bool // its next increment may be of the time when it was young
	restarts int32
	back     int // readings in a row that were behind
	part     int
}

// Gaps says why a reading has less than could be expected.
type Gaps struct {
	// Stale says that the reading is no later than the last one.
	Stale bool
	// Missing are the names of pods that are old enough and that the reading does not have.
	Missing []string
	// Young counts the pods that are too young.
	Young int
	// Back are the names of pods whose counters lag behind, contradict each other, or are no numbers.
	Back []string
	// Held says that increments wait for requests of the other version.
	Held bool
}

// Look returns the increments since the last look with requests of both versions: a server reads
// their pods at different times, so that a reading may have increments of one version alone. The
// first reading of a pod has none.
func (w *Watch) Look(r Reading, pods []Pod) (judge.Look, Gaps) {
	var gaps Gaps
	if !r.At.After(w.at) {
		gaps.Stale = true
		return judge.Look{}, gaps
	}
	w.at = r.At
	w.held.expire(r.At)
	next := make(map[string]known, len(pods))
	for _, pod := range slices.SortedFunc(slices.Values(pods), func(a, b Pod) int { return strings.Compare(a.Name, b.Name) }) {
		if _, twice := next[pod.UID]; twice {
			continue
		}
		after := w.recall(pod, r.At)
		if now, has := r.Pods[pod.Name]; r.At.Sub(pod.Since) < w.Young {
			gaps.Young++
			after.seen = false // it was not ready, or begins
		} else if !has {
			gaps.Missing = append(gaps.Missing, pod.Name)
		} else if served, counts := after.take(now, pod.Name, &gaps); counts && !after.first(served) {
			after.served = after.served || served.Requests > 0
			if after.served {
				w.held.add(pod, after.part, served)
			}
		}
		next[pod.UID] = after
	}
	w.known = next
	var look judge.Look
	look, gaps.Held = w.held.take()
	return look, gaps
}

// recall returns what is known of a pod, which begins anew if its container has restarted. A pod of
// the old version that is new here gets the next part.
func (w *Watch) recall(pod Pod, now time.Time) known {
	k, met := w.known[pod.UID]
	if !met {
		k.part = w.parts % judge.Parts
		if !pod.New {
			w.parts++
		}
	}
	k.seen = k.seen && k.restarts == pod.Restarts
	k.restarts = pod.Restarts
	k.fresh = k.fresh || !k.seen && w.Young > 0 && now.Sub(pod.Since) < w.Young+mostHeld
	return k
}

// mostBack is the number of readings in a row that may be behind: then a process has begun again
// that is not the container's own.
const mostBack = 4

// take returns the increment of a pod's counters, and whether it has one.
func (k *known) take(now judge.Count, name string, gaps *Gaps) (served judge.Count, counts bool) {
	if sum := now.Requests + now.Errors; math.IsNaN(sum) || math.IsInf(sum, 0) {
		gaps.Back = append(gaps.Back, name)
		return judge.Count{}, false
	}
	if !k.seen {
		k.highest, k.lowest, k.seen = now, now.Requests, true
		return judge.Count{}, false
	}
	if was := k.left.Requests; k.highest.Requests < was && now.Requests >= was { // the server that lagged has come back
		k.highest, k.back = now, 0
		return judge.Count{}, false
	}
	served = judge.Count{Requests: now.Requests - k.highest.Requests, Errors: now.Errors - k.highest.Errors}
	if served.Requests < 0 || served.Errors < 0 || served.Errors > served.Requests {
		gaps.Back = append(gaps.Back, name)
		if k.back++; k.back > mostBack && !k.lags(now) {
			k.left, k.highest, k.lowest, k.back = k.highest, now, now.Requests, 0
		}
		return judge.Count{}, false
	}
	k.highest, k.back = now, 0
	return served, true
}

// first reports whether an increment is the first one of a pod that was young: the server may have
// read its first counters before it came of age.
func (k *known) first(served judge.Count) bool {
	is := k.fresh && served.Requests > 0
	k.fresh = k.fresh && !is
	return is
}

// lags reports whether a server that is behind has read the counters, which have fallen: it would
// count again what has counted. A process that begins again has below half, or soon has more.
func (k *known) lags(now judge.Count) bool {
	return now.Requests < k.highest.Requests && now.Requests >= max(k.lowest, k.highest.Requests/2)
}
