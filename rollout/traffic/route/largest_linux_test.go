package route

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// TestLargestRouteTakesNoLongTime: a route and a release are as large as the API accepts: 128
// matches and 8 of the step, each with 16 headers and 16 parameters whose names are long and
// alike, and none of which takes a request. Every match is compared with every other, in each
// pass.
func TestLargestRouteTakesNoLongTime(t *testing.T) {
	t.Parallel()
	path := object{"type": byPrefix, "value": defaultPath}
	var before, own []any
	for i := range mostMatches - 1 {
		before = append(before, object{"path": path, "headers": compared(100, 16), "queryParams": append(compared(200, 15), compared(300+i, 1)...)})
		own = append(own, object{"path": path, "headers": compared(0, 8), "queryParams": compared(0, 8)})
	}
	before = append(before, object{"path": path, "headers": append(compared(0, 8), compared(50, 1)...)})
	route := routed(t, "[]")
	route.Object["spec"].(object)["rules"] = []any{
		object{"matches": before, "backendRefs": []any{object{"name": "api", "weight": int64(1)}}},
		object{"matches": own, "backendRefs": []any{object{"name": "web", "weight": int64(1)}}},
	}
	var step []v1alpha1.RequestMatch
	for i := range 8 {
		var match v1alpha1.RequestMatch
		for j := range 8 {
			value := "v"
			if j > 0 {
				value = fmt.Sprint(i)
			}
			match.Headers = append(match.Headers, v1alpha1.ValueMatch{Name: alike(50 + j), Value: value})
			match.QueryParams = append(match.QueryParams, v1alpha1.ValueMatch{Name: alike(50 + j), Value: value})
		}
		step = append(step, match)
	}
	runtime.LockOSThread() // so that nobody else's work counts, whatever else the machine does
	defer runtime.UnlockOSThread()
	began := worked(t)
	_, problem := KindOf(v1alpha1.RouteHTTP).Share(route, web, traffic.Share{Weight: 10, Matches: step})
	if problem == nil || !strings.Contains(problem.Message, "another rule takes the requests") {
		t.Errorf("want all requests to be another rule's, got %+v", problem)
	}
	if took := worked(t) - began; took > 1500*time.Millisecond { // it was 4s, and is 0.2s
		t.Errorf("it took %s of a processor", took)
	}
}

// worked returns the time that a processor has spent on this thread.
func worked(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_THREAD, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
