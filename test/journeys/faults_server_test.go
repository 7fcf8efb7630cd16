package journeys

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"
)

// badServers are the ways in which the API server fails to answer, and how many writes meet each.
var badServers = map[string]struct {
	badAnswer
	times int
}{
	"Throttled":       {badAnswer{code: http.StatusTooManyRequests, retryAfter: "1"}, 2},
	"ThrottledAtWill": {badAnswer{code: http.StatusTooManyRequests}, 3},
	"InternalError":   {badAnswer{code: http.StatusInternalServerError}, 2},
	"Unavailable":     {badAnswer{code: http.StatusServiceUnavailable, any: true}, 5},
	"TimeoutAfterAll": {badAnswer{code: http.StatusGatewayTimeout, done: true}, 1},
	"CutAfterAll":     {badAnswer{cut: true, done: true}, 1},
	"Cut":             {badAnswer{cut: true}, 2},
}

// TestServerFailsAtAnyMoment: F08, the API server throttles, fails, or carries a write out and does
// not answer, at any moment: the release ends as without.
func TestServerFailsAtAnyMoment(t *testing.T) {
	names := slices.Sorted(maps.Keys(badServers))
	if *everyMoment {
		for _, name := range names {
			t.Run(name, func(t *testing.T) { failingServer([]string{name}).sweep(t) })
		}
		return
	}
	failingServer(names).sweep(t) // one kind at each moment
}

func failingServer(kinds []string) *scenario {
	return &scenario{
		proxied: true,
		happens: func(w *world) {
			kind := kinds[int(w.moment/3)%len(kinds)]
			w.Logf("the API server is %s", kind)
			w.proxy.meet(badServers[kind].badAnswer, badServers[kind].times)
		},
		extra: resent,
	}
}

// resent is how many writes beyond slack it may take where some fail: each is sent again, and one
// that was carried out all the same is found out by a conflict, or by a look. In all 8 at most were
// measured, of 5 that failed.
const resent = 2

// TestWatchesFallSilentAtAnyMoment: F05, watches stay open, send nothing, and then end. Their
// objects are listed again, and the release ends as without.
func TestWatchesFallSilentAtAnyMoment(t *testing.T) {
	const silence = 2 * time.Second // the fault itself
	s := scenario{
		proxied: true, blind: true,
		happens: func(w *world) { w.proxy.silence() },
		later: func(w *world) {
			select {
			case <-time.After(silence):
			case <-w.Context().Done():
			}
			w.proxy.endWatches()
		},
	}
	s.sweep(t)
}
