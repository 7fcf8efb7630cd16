// Package journeys has the journeys of users, as tests against a real control plane: what they do
// with kubectl and with the API, and what they then find in the cluster.
//
// Each journey has a namespace and a controller of its own. A journal records every revision of
// every object in the namespace; in the end the journal is replayed in the order of the cluster's
// revisions, and each of them is checked against the laws:
//
//	kubectl, API ──► control plane ◄── controller (can be killed at a request)
//	                      │ watches
//	                      ▼
//	                   journal ──► replay ──► laws (I1, I2, I3, I5, I6, I8)
//
// # Faults
//
// A scenario is a release in which something happens, at each of its moments in turn:
//
//	s := scenario{happens: func(w *world) { ... }}
//	s.sweep(t)
//
// The journey Calm shows how many writes the controller needs if nothing happens. Each of the
// others halts it before one of these writes (halt_test.go), does what happens, and lets it go on:
// the write that was decided on before is sent then, as in the worst of races. Because writes are
// counted, no time is, a moment is the same one in each run. In the last run all is over when it
// happens. In the end:
//
//   - the journal is checked against the laws, as in any journey;
//   - the end that is wanted is reached (I11), and is that of Calm, object by object (I7): in Calm
//     people have said before the release what they wish for by what happens (scenario.wished);
//   - the controller is at rest, and has written little more than in Calm (I9).
//
// What happens must not wait for the controller, and is done best through the API rather than with
// kubectl. By default it happens before one write in 15; the flag -every-moment makes that each.
// With -v the scenario prints its runs, its violations and its writes: "make reliability" shows
// them.
package journeys
