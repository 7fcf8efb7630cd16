package wire

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sluice-dev/sluice/forge"
)

const (
	// leastPause is the pause that GitHub asks for after an answer without a time. It doubles with
	// each such answer in a row, up to mostPause.
	leastPause = time.Minute
	mostPause  = time.Hour
	// longestLimit bounds what a broken server can make us wait.
	longestLimit = 24 * time.Hour
)

// limitPrefixes begin the names of headers that tell a limit: GitHub's, and GitLab's. They are read
// here and nowhere else: go-github would draw its own conclusions.
var limitPrefixes = []string{"X-Ratelimit-", "Ratelimit-"}

var limitHeaders = []string{"Limit", "Remaining", "Reset", "Used", "Resource"}

// limitHeader returns what an answer says of its limit; empty for nothing.
func limitHeader(resp *http.Response, name string) string {
	for _, prefix := range limitPrefixes {
		if value := resp.Header.Get(prefix + name); value != "" {
			return value
		}
	}
	return ""
}

// limiter sends no request while the forge limits us, and learns from each answer whether it does.
type limiter struct {
	next  http.RoundTripper
	limit *Limit
	// requests that were sent, and those of them that were answered "not modified".
	requests, unchanged atomic.Int64
}

// RoundTrip implements http.RoundTripper. A limit, known or new, is a *forge.LimitedError.
func (l *limiter) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := l.limit.admit(req); err != nil {
		return nil, err
	}
	l.requests.Add(1)
	unanswered.Add(1)
	defer unanswered.Add(-1)
	resp, err := l.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotModified {
		l.unchanged.Add(1)
	}
	if err := l.limit.learn(resp); err != nil {
		return nil, err
	}
	for _, name := range limitHeaders {
		for _, prefix := range limitPrefixes {
			resp.Header.Del(prefix + name)
		}
	}
	return resp, nil
}

// Limit counts the requests that clients share, and those that the forge still takes.
type Limit struct {
	now func() time.Time

	mu     sync.Mutex
	budget forge.Budget
	writes writes
	// strikes counts the limits in a row that did not say how long.
	strikes int
}

// NewLimit returns the limit of a forge that has refused nothing yet. A number of writes an hour of
// 0 is any number.
func NewLimit(now func() time.Time, writesPerHour int) *Limit {
	return &Limit{now: now, writes: writes{perHour: writesPerHour}}
}

// admit refuses a request that the forge does not want now, or that has to wait for others.
func (l *Limit) admit(req *http.Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	if now.Before(l.budget.LimitedUntil) {
		return &forge.LimitedError{Until: l.budget.LimitedUntil}
	}
	return l.spare(req, now)
}

func (l *Limit) snapshot() forge.Budget {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.budget
}

// learn records what an answer says about limits.
func (l *Limit) learn(resp *http.Response) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	used := l.count(resp, now)
	if !refusesForLimit(resp) {
		l.strikes = 0
		if used { // the next would be refused, and sending it all the same would count against us
			l.extend(l.budget.Reset)
		}
		return nil
	}
	l.extend(now.Add(l.pause(resp, used, now)))
	return &forge.LimitedError{Until: l.budget.LimitedUntil}
}

// count notes the budget that is left and reports whether it is used up.
func (l *Limit) count(resp *http.Response, now time.Time) (used bool) {
	limit, errLimit := strconv.Atoi(limitHeader(resp, "Limit"))
	remaining, errRemaining := strconv.Atoi(limitHeader(resp, "Remaining"))
	reset, errReset := strconv.ParseInt(limitHeader(resp, "Reset"), 10, 64)
	if errLimit != nil || errRemaining != nil || errReset != nil {
		return false
	}
	// The server's clock and ours may differ: what counts is how long it is from its now.
	left := bounded(time.Unix(reset, 0).Sub(serverTime(resp, now)))
	l.budget.Limit, l.budget.Remaining, l.budget.Reset = limit, remaining, now.Add(left)
	return remaining <= 0
}

// pause returns how long nothing is to be sent after a refusal.
func (l *Limit) pause(resp *http.Response, used bool, now time.Time) time.Duration {
	if after, ok := retryAfter(resp, now); ok {
		return max(bounded(after), time.Second)
	}
	if used {
		return max(l.budget.Reset.Sub(now), time.Second)
	}
	pause := min(leastPause<<min(l.strikes, 10), mostPause)
	l.strikes++
	return pause
}

// extend moves the end of the limit, never to an earlier time.
func (l *Limit) extend(until time.Time) {
	if until.After(l.budget.LimitedUntil) {
		l.budget.LimitedUntil = until
	}
}

// refusesForLimit tells a limit from a lack of rights: GitHub answers both with 403.
func refusesForLimit(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusTooManyRequests:
		return true
	case http.StatusForbidden:
		return resp.Header.Get("Retry-After") != "" ||
			limitHeader(resp, "Remaining") == "0" || speaksOfLimit(resp)
	}
	return false
}

// speaksOfLimit looks into the body of a refusal, and leaves it as it was.
func speaksOfLimit(resp *http.Response) bool {
	body, err := io.ReadAll(resp.Body)
	resp.Body = io.NopCloser(bytes.NewReader(body))
	var refusal struct {
		Message       string `json:"message"`
		Documentation string `json:"documentation_url"`
	}
	if err != nil || json.Unmarshal(body, &refusal) != nil {
		return false
	}
	message, page := strings.ToLower(refusal.Message), strings.ToLower(refusal.Documentation)
	return strings.Contains(message, "rate limit") || strings.Contains(message, "abuse detection") ||
		strings.Contains(page, "rate-limit")
}

// retryAfter reads the header in both of its forms: seconds, and a time.
func retryAfter(resp *http.Response, now time.Time) (time.Duration, bool) {
	value := resp.Header.Get("Retry-After")
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		return time.Duration(seconds) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return at.Sub(serverTime(resp, now)), true
	}
	return 0, false
}

func serverTime(resp *http.Response, now time.Time) time.Time {
	if at, err := http.ParseTime(resp.Header.Get("Date")); err == nil {
		return at
	}
	return now
}

func bounded(d time.Duration) time.Duration { return min(max(d, 0), longestLimit) }
