package devforge

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// defaultBudget is how many requests GitHub grants a user or an installation in an hour.
const defaultBudget = 5000

// limiter is the primary rate limit, so many requests an hour for each account, and the secondary
// one: so many requests that change something.
type limiter struct {
	mu      sync.Mutex
	budget  int
	length  time.Duration
	windows map[string]*window
	// writes is the most in a window of its own; 0 for any number.
	writes       int
	writesLength time.Duration
	written      map[string]*window
}

// window is an account's hour.
type window struct {
	used  int
	reset time.Time
}

// allowance is the rate limit left to an account, for the headers and for GET /rate_limit.
type allowance struct {
	limit, used int
	reset       time.Time
}

func newLimiter() *limiter {
	return &limiter{budget: defaultBudget, length: time.Hour, windows: map[string]*window{}, written: map[string]*window{}}
}

// Limits are the limits of a forge for each account, as GitHub has them or in a shorter time.
type Limits struct {
	// Requests in a Window. With none an account is at its limit with the first request.
	Requests int
	Window   time.Duration
	// Writes in a WritesWindow; 0 for any number. GitHub answers more with its secondary limit.
	Writes       int
	WritesWindow time.Duration
}

// SetLimits has the forge enforce limits from now on, and starts to count again.
func (f *Forge) SetLimits(to Limits) {
	l := f.limits
	l.mu.Lock()
	defer l.mu.Unlock()
	l.budget, l.length, l.windows = max(0, to.Requests), to.Window, map[string]*window{}
	l.writes, l.writesLength, l.written = to.Writes, to.WritesWindow, map[string]*window{}
}

// takeWrite counts a request that changes something. It returns how long to wait where there are
// too many.
func (l *limiter) takeWrite(who string, now time.Time) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.writes == 0 {
		return 0
	}
	w := l.written[who]
	if w == nil || !now.Before(w.reset) {
		w = &window{reset: now.Add(l.writesLength)}
		l.written[who] = w
	}
	if w.used >= l.writes {
		return w.reset.Sub(now)
	}
	w.used++
	return 0
}

// SetRateLimit grants every account so many requests an hour from now on, and starts to count
// again. Below one it is at its limit with the first request.
func (f *Forge) SetRateLimit(requests int) {
	f.limits.mu.Lock()
	defer f.limits.mu.Unlock()
	f.limits.budget = max(0, requests)
	f.limits.windows = map[string]*window{}
}

// take counts a request, and reports whether it is within the limit.
func (l *limiter) take(who string, now time.Time) (allowance, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.window(who, now)
	if w.used >= l.budget {
		return allowance{l.budget, w.used, w.reset}, false
	}
	w.used++
	return allowance{l.budget, w.used, w.reset}, true
}

// look counts nothing.
func (l *limiter) look(who string, now time.Time) allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.window(who, now)
	return allowance{l.budget, w.used, w.reset}
}

// giveBack undoes take for a request that costs nothing.
func (l *limiter) giveBack(who string, now time.Time) allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.window(who, now)
	w.used = max(0, w.used-1)
	return allowance{l.budget, w.used, w.reset}
}

func (l *limiter) window(who string, now time.Time) *window {
	w := l.windows[who]
	if w == nil || !now.Before(w.reset) {
		w = &window{reset: now.Add(l.length)}
		l.windows[who] = w
	}
	return w
}

func (a allowance) remaining() int { return max(0, a.limit-a.used) }

func (a allowance) writeTo(header http.Header) {
	header.Set("X-Ratelimit-Limit", strconv.Itoa(a.limit))
	header.Set("X-Ratelimit-Remaining", strconv.Itoa(a.remaining()))
	header.Set("X-Ratelimit-Used", strconv.Itoa(a.used))
	header.Set("X-Ratelimit-Reset", strconv.FormatInt(a.reset.Unix(), 10))
	header.Set("X-Ratelimit-Resource", "core")
}

func (a allowance) object() object {
	return object{"limit": a.limit, "remaining": a.remaining(), "used": a.used, "reset": a.reset.Unix()}
}

func (c *call) getRateLimit() (answer, error) {
	core := c.spent.object()
	return ok(object{"resources": object{"core": core, "search": core}, "rate": core})
}

// budgetName says whose budget a request counts for.
func (a actor) budgetName() string {
	if a.anonymous {
		return ""
	}
	return a.account.login
}
