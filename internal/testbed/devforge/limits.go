package devforge

import (
	"net/http"
	"strconv"
	"sync"
	"time"
)

// defaultBudget is how many requests GitHub grants a user or an installation in an hour.
const defaultBudget = 5000

// limiter is the primary rate limit: so many requests an hour for each account.
type limiter struct {
	mu      sync.Mutex
	budget  int
	windows map[string]*window
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

func newLimiter() *limiter { return &limiter{budget: defaultBudget, windows: map[string]*window{}} }

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
		w = &window{reset: now.Add(time.Hour)}
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
