package counters

import (
	"time"

	"github.com/sluice-dev/sluice/judge"
)

// mostHeld bounds the time for which increments of one version wait for the other one. Servers
// drop a pod that they could not read for as long.
const mostHeld = 5 * time.Minute

// held holds the increments that are in no look yet.
type held struct {
	since time.Time // of the first increment
	at    time.Time // of this reading
	look  judge.Look
	pods  map[string]bool // by UID; all of them have served requests
}

// expire begins a reading. It drops increments that have waited for too long: rates of errors may
// have changed since.
func (h *held) expire(now time.Time) {
	if len(h.pods) > 0 && now.Sub(h.since) > mostHeld {
		*h = held{}
	}
	h.at = now
}

// add adds the increment of a pod, which may be 0.
func (h *held) add(pod Pod, part int, served judge.Count) {
	if len(h.pods) == 0 {
		h.since, h.pods = h.at, map[string]bool{}
		h.look = judge.Look{Old: make([]judge.Part, judge.Parts)}
	}
	to, pods := &h.look.New, &h.look.NewPods
	if !pod.New {
		to, pods = &h.look.Old[part].Count, &h.look.Old[part].Pods
	}
	if !h.pods[pod.UID] {
		h.pods[pod.UID] = true
		*pods++
	}
	to.Requests += served.Requests
	to.Errors += served.Errors
}

// take returns the look and begins the next one, if both versions have requests. Else it returns a
// look of nothing, and reports whether one of them waits.
func (h *held) take() (look judge.Look, waits bool) {
	old := 0.0
	for _, p := range h.look.Old {
		old += p.Requests
	}
	if old == 0 || h.look.New.Requests == 0 {
		return judge.Look{Old: make([]judge.Part, judge.Parts)}, old+h.look.New.Requests > 0
	}
	look = h.look
	*h = held{at: h.at}
	return look, false
}
