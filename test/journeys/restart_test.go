package journeys

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// nth is when the nth request of a kind is sent.
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

// Killed at any point, the next controller goes on to the same end.
func TestKilledAndRestarted(t *testing.T) {
	cases := map[string]killAt{
		"BeforeTakeOver":  nth(1, before, http.MethodPatch, "deployments"),
		"AfterTakeOver":   nth(1, after, http.MethodPatch, "deployments"),
		"AfterCreate":     nth(1, after, http.MethodPost, "replicasets"),
		"BeforeScale":     nth(2, before, http.MethodPatch, "replicasets"),
		"AfterScale":      nth(2, after, http.MethodPatch, "replicasets"),
		"AfterGate":       nth(1, after, http.MethodPost, "gates"),
		"BeforeHandBack":  nth(2, before, http.MethodPatch, "deployments"),
		"AfterHandBack":   nth(2, after, http.MethodPatch, "deployments"),
		"AfterKeepStable": nth(2, after, http.MethodPost, "controllerrevisions"),
		"BeforeAnnotate":  nth(2, before, http.MethodPatch, "batchreleases"),
		"AfterAnnotate":   nth(2, after, http.MethodPatch, "batchreleases"),
	}
	for name, kill := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.deployed(deployment(6))
			w.create(releaseOf(podTemplate("web:2", delayed), step("50%"), step("100%")))
			first := w.startControllerUntil(kill)
			w.awaitConfirming(first.died)
			first.kill()
			w.startController()
			w.awaitConfirming(all(web.completed, web.serves("web:2", 6)))
			w.wantStops("3 of 6")
		})
	}
}

// A controller that starts while nothing is to do writes nothing.
func TestRestartAtRest(t *testing.T) {
	w := newWorld(t)
	first := w.startController()
	w.deployed(deployment(3))
	w.create(release("web:2", step(1), step("100%")))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 3)))
	first.rest() // its status counts all pods
	first.kill()

	second := w.startController()
	// The change of the spec is what shows that the controller has been here.
	w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`)
	w.await(web.observed)
	if diff := cmp.Diff(map[string]int{"patch batchreleases/status": 1}, second.writes()); diff != "" {
		t.Errorf("writes of a controller that starts at rest (-want +got):\n%s", diff)
	}
}

// The same in the middle of a release, at a gate.
func TestRestartAtGate(t *testing.T) {
	w := newWorld(t)
	first := w.startController()
	w.deployed(deployment(3))
	w.create(release("web:2", step(1), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 1})))
	w.wantGate(0, v1alpha1.GateManual, v1alpha1.DecisionWaiting)
	first.rest()
	first.kill()

	second := w.startController()
	w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`)
	w.await(all(web.blocksAt(0)))
	if diff := cmp.Diff(map[string]int{"patch batchreleases/status": 1}, second.writes()); diff != "" {
		t.Errorf("writes of a controller that starts at a gate (-want +got):\n%s", diff)
	}
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 3)))
}
