// Package sim simulates whole releases, for sluice simulate and for the tests of rollout/plan.
//
// A World holds everything outside the controller's process: the objects in the API server, the
// native controllers, the pods, people and autoscalers, and what the caches of our controller and
// of the native one do not show yet. A Process is one run of our controller: it calls plan.Next and
// carries the plans out as the shell in package rollout does. An Event changes a world.
//
//	Event ──► World ◄── writes ── Process ──► plan.Next
//	            │ lagging caches     ▲
//	            └────────────────────┘
//
// The workload is of one of three kinds (kind.go). A Deployment has its pods in ReplicaSets, and
// controllers with the traps T1 to T6 of docs/develop/architecture.md, except the annotations,
// which do not matter to our writes. The pods of a StatefulSet and of a DaemonSet have places of
// their own; their native controllers are those of Kubernetes 1.36, with the traps that the
// packages rollout/mover/statefulset and rollout/mover/daemonset list.
//
// Worlds and processes are values: Clone is cheap, and nothing that they point to ever changes. The
// tests put an observer into a world (observer.go), which checks every write of the process against
// the laws (laws_test.go, placelaws_test.go), and explore every order of events.
package sim
