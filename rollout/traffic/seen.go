package traffic

import (
	"fmt"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Seen holds the snapshot of a release's traffic.
type Seen struct {
	// Off holds the problem because of which no route can be read or written at all; nil if there is
	// none.
	Off *v1alpha1.TrafficProblem
	// Stable and Canary are the two sides. Where the routes name several Services, each is all of its
	// Services together.
	Stable, Canary Side
	// Routes of the spec, in its order, and then further routes that this release still holds.
	Routes []Route
	// Services says that there is a Service of either side that belongs to this release.
	Services bool
	// Stage tells a deletion, a rollback or an end from what was before it (StageOf). Each begins the
	// wait again.
	Stage string
	// InEffect is for how long this process has watched all routes to be in effect as they are now,
	// with the sides as they are.
	InEffect time.Duration
	// Observed is for how long it has watched the status of all routes to be about them as they are
	// now, whatever it says.
	Observed time.Duration
	// Unchanged is for how long it has watched them share requests as they do now in this stage,
	// whatever their status says.
	Unchanged time.Duration
}

// StageOf returns the stage of a release, by its status or by what a pass has made of it.
func StageOf(release *v1alpha1.BatchRelease, status *v1alpha1.BatchReleaseStatus) string {
	ends := status.Traffic != nil && status.Traffic.Ending != nil
	return fmt.Sprint(status.Attempt, release.DeletionTimestamp != nil, release.Spec.Strategy.Traffic == nil, ends)
}

// Side holds the Services by which one version gets requests.
type Side struct {
	// Made says that all Services of the side exist and belong to this release.
	Made bool
	// Problem because of which they can't be made or used; nil if there is none.
	Problem *v1alpha1.TrafficProblem
	// Revision is the pod-template-hash that all of them select; empty if they differ.
	Revision string
	// Ready is how many pods of that revision all of them have as ready endpoints: the fewest of any.
	// It is 0 while the EndpointSlices are not about what the Services select now.
	Ready int32
	// Outdated says that one of them is not as a write of Revision makes it: a user has changed it, or
	// the user's Service that it copies. If it may lead elsewhere, Ready is 0.
	Outdated bool
	// Fewest is the Service that has no more than that, the first of several.
	Fewest string
	// Empty says that the EndpointSlices are about what the Services select now, and that there is no
	// endpoint that serves.
	Empty bool
	// Steady is for how long this process has watched Ready without a rise.
	Steady time.Duration
}

// left reports whether a side that gets no requests has no endpoint that serves. One that somebody
// has deleted, or changed so that nobody can say what it selects, has none that would count.
func (s *Side) left() bool { return s.Empty || !s.Made || s.Revision == "" }

// Route is a route as it is.
type Route struct {
	v1alpha1.TrafficRoute

	// Named says that the spec names it. One that it does not is held from before.
	Named bool
	// Problem because of which it can't be shared; nil if there is none.
	Problem *v1alpha1.TrafficProblem
	// Held says that this release holds it: it may refer to the sides.
	Held bool
	// Ungranted says that it is in another namespace than the release, and that a ReferenceGrant is
	// missing: the release may take requests from the canary side that it has given it, and give the
	// route back. Anyone who may write to the route can say that the release holds it.
	Ungranted bool
	// Strays says that it refers to the sides though nobody can tell for whom: its annotation was taken
	// away, or can't be read.
	Strays bool
	// Generation rises with each change of the route's spec.
	Generation int64
	// Share of requests by the route. It counts for a route that is held.
	Share Share
	// Whole says that the route is exactly as a write of Share makes it, without a later change.
	Whole bool
	// Observed says that the route's status is about the route as it is now, wherever it has one,
	// whether or not somebody accepts it. So is that of one that is Accepted.
	Observed bool
	// Accepted says that the route's status is about the route as it is now, wherever it has one, and
	// that somebody accepts it.
	Accepted bool
	// Pending are those who don't say so, for people. There are none of a route that is Accepted.
	Pending []string
	// Refused holds the problem that the status reports for the route as it is now; nil if there is
	// none.
	Refused *v1alpha1.TrafficProblem
}

// Share is how requests are shared.
type Share struct {
	// Weight is the percentage that the canary side gets.
	Weight int32
	// Matches are requests that it gets whatever the weight.
	Matches []v1alpha1.RequestMatch
}
