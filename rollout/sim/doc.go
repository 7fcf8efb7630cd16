// Package sim simulates whole releases, for the tests of
// rollout/plan.
//
// A World is all that is outside the controller's process: objects as the API server has
// them, the controllers of ReplicaSets and Deployments with the habits that a taken-over
// Deployment meets (T1 to T6 in docs/architecture.md, except the annotations, which do not matter to
// our writes), pods, people, autoscalers, and what the caches have not seen yet: ours, and
// the native controller's of the Deployment. A Process is one run of our controller: it asks
// plan.Next and carries the plans out as the shell in package rollout does.
//
//	Event ──► World ◄── writes ── Process ──► plan.Next
//	            │ lagging caches     ▲
//	            └────────────────────┘
//
// Worlds and processes are values: Clone is cheap and nothing that they point to is ever
// changed, so that Explore can try every order of events. Every write of the process is checked
// against the laws of laws.go.
package sim
