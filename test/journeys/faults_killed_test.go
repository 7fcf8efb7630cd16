package journeys

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// nth returns when the nth request of a kind is sent.
func nth(n int, when moment, method, resource string) killAt {
	var sent atomic.Int64 // several are sent at once
	return func(r *http.Request) moment {
		parts := strings.Split(r.URL.Path, "/")
		if r.Method != method || !strings.Contains(r.URL.Path, "/"+resource) || strings.Contains(r.URL.RawQuery, "dryRun") ||
			parts[len(parts)-1] == "status" {
			return goOn
		}
		if sent.Add(1) != int64(n) {
			return goOn
		}
		return when
	}
}

// TestRestartAtRest: a controller that starts at a gate, or at rest, writes nothing but that it was
// there.
func TestRestartAtRest(t *testing.T) {
	w := newWorld(t)
	first := w.startController()
	w.deployed(deployment(3))
	w.create(release("web:2", step(1), step("100%")))
	for _, at := range []check{
		all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 1})), all(web.completed, web.serves("web:2", 3)),
	} {
		w.await(at)
		first.rest() // its status counts all pods
		first.kill()
		second := w.startController()
		w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`)
		w.await(all(web.observed, at))
		if diff := cmp.Diff(map[string]int{"patch batchreleases/status": 1}, second.writes()); diff != "" {
			t.Errorf("writes of a controller that starts (-want +got):\n%s", diff)
		}
		if first = second; web.completed(w.now()) != nil {
			w.confirm("web")
		}
	}
}
