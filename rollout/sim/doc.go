// Package sim simulates whole releases, for the tests of
// rollout/plan.
//
// A World is all that is outside the controller's process: objects as the API server has
// them, the native controllers with the habits that a workload meets that is taken over, pods, people, autoscalers, and what
// the caches have not seen yet: ours, and the native controller's of the workload. A Process is one run of our controller: it asks
// plan.Next and carries the plans out as the shell in package rollout does.
//
//	Event ──► World ◄── writes ── Process ──► plan.Next
//	            │ lagging caches     ▲
//	            └────────────────────┘
//
// The workload is of one of three kinds (kind.go). A Deployment has its pods in ReplicaSets, and controllers with the traps T1 to T6
// of docs/architecture.md, except the annotations, which do not matter to our writes. The pods of a StatefulSet and of a DaemonSet
// have places of their own; their native controllers are those of Kubernetes 1.36, with the traps that the packages
// rollout/mover/statefulset and rollout/mover/daemonset tell of.
//
// A world may have routes (traffic.go), with the Services of the two sides, their EndpointSlices, and the data planes that forward
// requests: such a one goes by what a route, or a Service, had before until the route's status has told of the new one for as long as the
// release waits. Of every write the laws of trafficlaws.go say:
//
//	T1 no requests are given to a side without ready endpoints
//	T2 no pods go that the share of their version needs
//	T3 the new version gets what the steps allow, and no pods of it come that requests reach past the routes
//	T4 a side that gets requests selects what it did, and its Services stay
//	T5 a workload is handed back, and a release goes, when no route is held
//	T6 old pods are kept until the end where they are to be
//	T7 what is stopped gives the new version no more
//	T8 requests go back at once in a rollback
//
// I1 allows for the pods that requests need, and I7 and I11 for the end: the routes are what they were, and the Services are gone.
//
// Worlds and processes are values: Clone is cheap and nothing that they point to is ever
// changed, so that Explore can try every order of events. Every write of the process is checked
// against the laws of laws.go, placelaws.go and trafficlaws.go.
package sim
