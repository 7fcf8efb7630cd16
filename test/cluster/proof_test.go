package cluster

import (
	"flag"
	"net/http"
	"strings"
	"testing"
)

// everyScenario makes TestTrafficLosesNoRequest go on after its first scenario, and
// TestDataPlaneFollowsRoutes run.
var everyScenario = flag.Bool("every-scenario", false, "run each scenario of a release that moves requests")

// perPush limits the scenarios unless there is -every-scenario.
const perPush = 1

// enough is how many requests all scenarios send at least, none of which may fail.
const enough = 200_000

// How the service is released. Every step has a gate that a person opens, so that it stands for as
// long as it is measured.
const (
	canarySteps = `
    steps:
    - {replicas: 25%, traffic: 0%, matches: [{headers: [{name: Canary, value: "yes"}]}], gates: [{manual: {}}]}
    - {replicas: 25%, traffic: 1%, gates: [{manual: {}}]}
    - {replicas: 25%, traffic: 10%, gates: [{manual: {}}]}
    - {replicas: 50%, traffic: 50%, gates: [{manual: {}}]}
    - {replicas: 100%, gates: [{manual: {}}]}
    traffic: {routes: [{kind: HTTPRoute, name: web, service: web}]}`
	blueGreenSteps = `
    steps:
    - {replicas: 100%, traffic: 0%, gates: [{manual: {}}]}
    - {replicas: 100%, traffic: 50%, gates: [{manual: {}}]}
    - {replicas: 100%, traffic: 100%, gates: [{manual: {}}]}
    traffic: {routes: [{kind: HTTPRoute, name: web, service: web}], keepOldPods: true}`
	halfSteps = `
    steps:
    - {replicas: 50%, traffic: 10%, gates: [{manual: {}}]}
    - {replicas: 50%, traffic: 50%, gates: [{manual: {}}]}
    - {replicas: 100%}
    traffic: {routes: [{kind: HTTPRoute, name: web, service: web}]}`
)

// TestTrafficLosesNoRequest: a service is released behind a real data plane, under load from
// clients that keep their connection and clients that don't, in every way that requests can be
// shared, while what shares them is killed. No request fails, each version gets what its step says,
// and none while it is to get none. By default there is a blue-green release that is rolled back;
// -every-scenario has all. The demo that make test-node runs has a canary.
func TestTrafficLosesNoRequest(t *testing.T) {
	c := open(t)
	c.needDataPlane()
	sluice := c.prepare()
	r := c.startRouted(sluice)
	scenarios := []struct {
		name    string
		happens func(*routed)
	}{
		{"blue-green, rolled back", (*routed).rollBackBlueGreen},
		{"canary 0, 1, 10, 50, 100", (*routed).releaseCanary},
		{"blue-green, scaled by an HPA", (*routed).scaleBlueGreen},
		{"... and V3 halfway", (*routed).supersedeBlueGreen},
		{"a jump back", (*routed).jumpBack},
		{"git revert", (*routed).rollBackByGit},
		{"the controller killed twice", (*routed).surviveController},
		{"both Traefiks killed", (*routed).surviveDataPlane},
	}
	if !*everyScenario {
		scenarios = scenarios[:perPush]
	}
	for _, s := range scenarios {
		if !r.scenario(s.name, s.happens) {
			break // the next one goes on where this one ends
		}
	}
	if *everyScenario && !t.Failed() && r.proof.sent() < enough {
		r.scenario("at rest", (*routed).rest)
	}
	t.Logf("\n%s", r.proof)
}

// scenario runs a part of the test, in which no request fails.
func (r *routed) scenario(name string, happens func(*routed)) bool {
	return r.Run(name, func(t *testing.T) {
		r.proof.scenarios = append(r.proof.scenarios, scenario{name: name})
		before := r.load.Counts()
		defer func(c *cluster) { r.cluster = c }(r.cluster)
		r.cluster = r.as(t)
		happens(r)
		now := r.load.Counts().Since(before)
		r.proof.add(now)
		if now.Failed > 0 {
			said, err := r.plane.Said("Bad Gateway")
			t.Errorf("want no request to fail, %d of %d did, the first of them:\n%v\nthe Gateway says %v:\n%s",
				now.Failed, now.Sent, now.Failures, err, strings.Join(said[:min(len(said), 20)], "\n"))
		}
	})
}

// rollBackBlueGreen gives v2 all requests and takes them back. The pods of v1 are still from before
// Sluice had the workload, so that the native controller takes it for complete once the workload
// has its template again, and would empty v2.
func (r *routed) rollBackBlueGreen() {
	r.push("v2", blueGreenSteps)
	for step, weight := range []int32{0, 50, 100} {
		r.standsAt(int32(step), weight)
		r.wantShare("v2", float64(weight))
		if weight < 100 {
			r.approve()
		}
	}
	r.revert()
	weightless := r.gives(0)
	r.has("v2", r.size) // until they have had no requests for a while
	r.ends("v1")
	r.wantLeft("v2", weightless)
	r.wantShare("v2", 0)
}

// releaseCanary releases v2 by weight. Before it has any, requests with a header reach it, and no
// others.
func (r *routed) releaseCanary() {
	before := r.load.Counts()
	r.push("v2", canarySteps)
	r.standsAt(0, 0)
	matched := r.clients(4, http.Header{"Canary": {"yes"}})
	with := r.answered(matched, 200)
	r.Logf("requests with the header: %d, %d failed, answered by %v", with.Sent, with.Failed, with.Versions)
	if with.Failed > 0 || with.Share("v2") != 100 {
		r.Errorf("requests with the header: %+v, want all of them answered by v2", with)
	}
	r.wantShare("v2", 0)
	r.wantNoneOf("v2", before)
	r.approve()
	r.standsAt(1, 1)
	matched.Stop() // from here on they are shared as all others are
	if all := matched.Counts(); all.Failed > 0 {
		r.Errorf("%d of %d requests with the header have failed, the first of them:\n%v", all.Failed, all.Sent, all.Failures)
	}
	r.wantShare("v2", 1)
	for step, weight := range []int32{10, 50, 100} {
		r.approve()
		r.standsAt(int32(step+2), weight)
		r.wantShare("v2", float64(weight))
	}
	r.approve()
	r.ends("v2")
}

// scaleBlueGreen has v3 beside v2, each with all pods, while an HPA scales them, and gives it half
// of the requests.
func (r *routed) scaleBlueGreen() {
	before := r.load.Counts()
	r.push("v3", blueGreenSteps)
	r.standsAt(0, 0)
	r.wantShare("v3", 0)
	r.wantNoneOf("v3", before)
	r.scale(6)
	r.has("v3", 6)
	r.has("v2", 6)
	r.approve()
	r.standsAt(1, 50)
	r.wantShare("v3", 50)
}

// supersedeBlueGreen releases v4 in the middle of that.
func (r *routed) supersedeBlueGreen() {
	before := r.load.Counts()
	r.push("v4", blueGreenSteps)
	weightless := r.gives(0)
	r.standsAt(0, 0)
	r.wantLeft("v3", weightless)
	r.wantShare("v4", 0)
	r.wantNoneOf("v4", before)
	r.approve()
	r.standsAt(1, 50)
	r.wantShare("v4", 50)
	r.scale(4)
	r.has("v4", 4)
	r.has("v2", 4)
	r.approve()
	r.standsAt(2, 100)
	r.wantShare("v4", 100)
	r.approve()
	r.ends("v4")
}

// jumpBack goes from half of the requests to none, and the pods stay.
func (r *routed) jumpBack() {
	r.push("v5", blueGreenSteps)
	r.standsAt(0, 0)
	r.approve()
	r.standsAt(1, 50)
	r.wantShare("v5", 50)
	r.jump(0)
	weightless := r.gives(0)
	r.standsAt(0, 0)
	r.has("v5", r.size)
	r.wantShare("v5", 0)
	r.wantLeft("v5", weightless)
	r.approve()
	r.standsAt(1, 50)
	r.wantShare("v5", 50)
}

// rollBackByGit reverts the commit of that release.
func (r *routed) rollBackByGit() {
	r.revert()
	weightless := r.gives(0)
	r.ends("v4")
	r.wantLeft("v5", weightless)
	r.wantShare("v5", 0)
}

// surviveController kills the controller before requests move and after they have moved.
func (r *routed) surviveController() {
	r.push("v5", halfSteps)
	r.has("v5", 2)
	r.killLeader()
	r.standsAt(0, 10)
	r.wantShare("v5", 10)
	r.approve()
	r.gives(50)
	r.killLeader()
	r.standsAt(1, 50)
	r.wantShare("v5", 50)
}

// surviveDataPlane kills each of two instances in the midst of the release. It first moves the
// clients, as a load balancer does, because open requests of a killed instance end with it. The
// release continues, the other instance follows the route, and so does one that restarts.
func (r *routed) surviveDataPlane() {
	second, err := r.plane.Start(r.Context())
	if err != nil {
		r.Fatal(err)
	}
	first := r.instance
	r.load.To(second.URL)
	first.Kill()
	r.wantShare("v5", 50)
	r.approve()
	r.gives(100)
	if err := first.Start(r.Context()); err != nil {
		r.Fatal(err)
	}
	r.load.To(first.URL)
	second.Kill()
	r.ends("v5")
	r.wantShare("v5", 100)
}

// rest waits, without a release, for enough requests.
func (r *routed) rest() { r.answered(r.load, enough-r.proof.sent()) }
