package notices

import (
	"slices"
	"time"
)

// Limits of a queue.
const (
	// maxQueue is how many notices wait for one receiver.
	maxQueue = 1000
	// giveUp is how long a notice is retried after its first failure.
	giveUp = time.Hour
	// firstPause doubles with each failure, up to longestPause.
	firstPause   = time.Second
	longestPause = time.Minute
	// longestRetryAfter bounds the pause that a receiver can request.
	longestRetryAfter = 15 * time.Minute
)

// queued is a notice on its way to one receiver.
type queued struct {
	*pending

	failures int
	// failed is when it first failed; next is when it is tried again.
	failed, next time.Time
}

// queue has the notices that wait for one receiver, the oldest first. Only the oldest of each
// release is sent, so that their order holds, and a notice that the receiver can't take delays
// those of its release alone. Namespaces take turns, so that one with many notices delays others by
// one request each, and drops its own alone.
type queue struct {
	waiting []*queued
	// turns are when namespaces were last sent something, as a count of what was sent.
	turns   map[string]int
	turn    int
	sending *queued
	// paused is until when the receiver asked to wait.
	paused   time.Time
	failures int
}

// add appends a notice. If the queue is full, it drops and returns the oldest notice of the
// namespace that has the most.
func (q *queue) add(p *pending) (dropped *pending) {
	if len(q.waiting) >= maxQueue {
		i := q.excess()
		dropped = q.waiting[i].pending
		q.waiting = slices.Delete(q.waiting, i, i+1)
	}
	q.waiting = append(q.waiting, &queued{pending: p})
	return dropped
}

// excess returns the oldest notice of the namespace that has the most.
func (q *queue) excess() int {
	counts, most := map[string]int{}, ""
	for _, one := range q.waiting {
		namespace := one.Notice.Namespace
		if counts[namespace]++; counts[namespace] > counts[most] {
			most = namespace
		}
	}
	return slices.IndexFunc(q.waiting, func(one *queued) bool { return one.Notice.Namespace == most })
}

// take returns the notice to send now; or else, how long to wait for one. A negative wait is for
// something that is added.
func (q *queue) take(now time.Time) (next *queued, wait time.Duration) {
	if len(q.waiting) == 0 {
		q.turns, q.turn = nil, 0
		return nil, -1
	}
	if left := q.paused.Sub(now); left > 0 {
		return nil, left
	}
	best, wait := -1, longestPause
	first := map[string]bool{}
	for i, one := range q.waiting {
		if release := one.release(); first[release] {
			continue
		} else {
			first[release] = true
		}
		if left := one.next.Sub(now); left > 0 {
			wait = min(wait, left)
		} else if best < 0 || q.turns[one.Notice.Namespace] < q.turns[q.waiting[best].Notice.Namespace] {
			best = i
		}
	}
	if best < 0 {
		return nil, wait
	}
	q.sending = q.waiting[best]
	q.waiting = slices.Delete(q.waiting, best, best+1)
	if q.turns == nil {
		q.turns = map[string]int{}
	}
	q.turn++
	q.turns[q.sending.Notice.Namespace] = q.turn
	return q.sending, 0
}

// done forgets what was being sent: it was delivered, or never will be. The receiver has answered.
func (q *queue) done() {
	q.sending, q.failures, q.paused = nil, 0, time.Time{}
}

// retry puts the notice being sent back into its place, unless it was tried for too long; then it
// is dropped, and gaveUp is true. Jitter is from 0 to 1. After is the delay that the receiver
// requested, or 0.
func (q *queue) retry(now time.Time, after time.Duration, jitter float64) (gaveUp bool) {
	one := q.sending
	q.sending = nil
	q.failures++
	one.failures++
	if one.failed.IsZero() {
		one.failed = now
	}
	q.paused = now.Add(max(pause(q.failures, jitter), min(after, longestRetryAfter)))
	one.next = now.Add(max(pause(one.failures, jitter), min(after, longestRetryAfter)))
	if now.Sub(one.failed) >= giveUp {
		return true
	}
	q.waiting = slices.Insert(q.waiting, 0, one)
	return false
}

// pause returns how long to wait after so many failures: twice as long each time, with up to a
// quarter more or less, so that many senders do not come at once.
func pause(failures int, jitter float64) time.Duration {
	length := longestPause
	if failures < 7 {
		length = min(length, firstPause<<(failures-1))
	}
	return time.Duration(float64(length) * (0.75 + jitter/2))
}

// all returns the notices that wait for the receiver, the oldest first.
func (q *queue) all() []*pending {
	var all []*pending
	if q.sending != nil {
		all = append(all, q.sending.pending)
	}
	for _, one := range q.waiting {
		all = append(all, one.pending)
	}
	return all
}

// size returns how many that are.
func (q *queue) size() int {
	if q.sending != nil {
		return len(q.waiting) + 1
	}
	return len(q.waiting)
}
