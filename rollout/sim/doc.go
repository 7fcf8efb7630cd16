// Package sim simulates whole releases, for the tests of rollout/plan.
//
// A World is all that is outside the controller's process: objects as the API server has them, the
// native controllers with the habits that a workload meets that is taken over, pods, people,
// autoscalers, and what the caches have not seen yet: ours, and the native controller's of the
// workload. A Process is one run of our controller: it asks plan.Next and carries the plans out as
// the shell in package rollout does.
//
//	Event ──► World ◄── writes ── Process ──► plan.Next
//	            │ lagging caches     ▲
//	            └────────────────────┘
//
// The workload is of one of three kinds (kind.go). A Deployment has its pods in ReplicaSets, and
// controllers with the traps T1 to T6 of docs/architecture.md, except the annotations, which do not
// matter to our writes. The pods of a StatefulSet and of a DaemonSet have places of their own;
// their native controllers are those of Kubernetes 1.36, with the traps that the packages
// rollout/mover/statefulset and rollout/mover/daemonset tell of.
//
// Worlds and processes are values: Clone is cheap and nothing that they point to is ever changed,
// so that Explore can try every order of events. Every write of the process is checked against the
// laws of laws.go and placelaws.go.
package sim
