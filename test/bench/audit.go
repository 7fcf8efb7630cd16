package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// requests reads from the audit log what reached the API server from a time on.
func (l *lab) requests(from time.Time) ([]controlplane.Request, error) {
	for {
		var found []controlplane.Request
		counts, err := l.plane.CountRequests(func(r controlplane.Request) bool {
			if r.Received.Before(from) {
				return false
			}
			found = append(found, r)
			return true
		})
		if err != nil {
			return nil, fmt.Errorf("read requests: %w", err)
		}
		if total(counts) == len(found) { // else a file was read twice, because the log was rotated meanwhile
			return found, nil
		}
	}
}

func total(counts map[string]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}

// sentBy returns whether a request is of one of some programs, and not about its lease.
func sentBy(programs ...string) func(controlplane.Request) bool {
	return func(r controlplane.Request) bool {
		program, _, _ := strings.Cut(r.UserAgent, "/")
		return slices.Contains(programs, program) && r.Resource != "leases"
	}
}

var (
	fromSluice = sentBy("sluice")
	fromArgo   = sentBy("rollouts-controller")
	// fromControllers is true of all that moves pods: KWOK, which plays kubelets, is none of it.
	fromControllers = sentBy("sluice", "rollouts-controller", "kube-controller-manager", "kube-scheduler")
)

func changesSomething(r controlplane.Request) bool {
	switch r.Verb {
	case "get", "list", "watch":
		return false
	default:
		return true
	}
}

// byVerb counts the requests that match.
func byVerb(requests []controlplane.Request, match func(controlplane.Request) bool) map[string]int {
	counts := map[string]int{}
	for _, r := range requests {
		if match(r) {
			counts[r.Verb]++
		}
	}
	return counts
}

// clock puts changes in the watch log at the time at which the API server received the request
// that made them: one clock for both ends of a hand-over, which no watcher's delay gets into.
type clock struct {
	// received are the times of successful writes, by resource and name.
	received map[string][]time.Time
}

// newClock returns the clock of requests, of which sent matches what scales ReplicaSets in steps.
func newClock(requests []controlplane.Request, sent func(controlplane.Request) bool) *clock {
	c := &clock{received: map[string][]time.Time{}}
	for _, r := range requests {
		ready := r.Resource == "pods/status"
		scaled := r.Resource == "replicasets" && sent(r)
		replaced := r.Resource == "pods" && r.Verb == "delete" && !strings.HasPrefix(r.UserAgent, "kwok")
		if (ready || scaled || replaced) && changesSomething(r) && r.Code < http.StatusMultipleChoices {
			key := r.Resource + "/" + r.Name
			c.received[key] = append(c.received[key], r.Received)
		}
	}
	return c
}

// timeOf returns when the last such write came in before the watch told of it; the watch's own time
// if there is none.
func (c *clock) timeOf(resource string, told change) time.Time {
	var last time.Time
	for _, at := range c.received[resource+"/"+told.object.GetName()] {
		if !at.After(told.at) && at.After(last) {
			last = at
		}
	}
	if last.IsZero() {
		return told.at
	}
	return last
}

// duration returns the duration of a hand-over.
func (c *clock) duration(h handOver) time.Duration {
	resource := "replicasets"
	if _, ok := h.next.object.(*corev1.Pod); ok {
		resource = "pods"
	}
	return c.timeOf(resource, h.next).Sub(c.timeOf("pods/status", h.pod))
}
