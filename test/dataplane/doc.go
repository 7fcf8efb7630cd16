// Package dataplane runs a real data plane of Gateway API on this machine, for tests: Traefik, from
// hack/dataplane.
//
//	requests ──► 127.0.0.1:P ──► Traefik ──► pods
//	                                ▲ │ status of GatewayClass, Gateway, routes
//	      GatewayClass, Gateway, ── │ ▼
//	      routes, EndpointSlices    API server
//
// What Traefik 3.6 does with a route, as its source has it (pkg/provider/kubernetes/gateway) and as
// test/cluster has measured it, on two cores under 1,500 requests a second:
//
//   - It writes the status of a route first (observedGeneration, Accepted, ResolvedRefs; 5 to 150
//     ms after the write), and puts the change into effect after that: at once (25 to 130 ms), or
//     if there was a change of any object in the two seconds before, at their end (1.97 s;
//     providersThrottleDuration). So the status says that a change was read, never that it is in
//     effect, and nothing says that. More than two seconds have to pass after it.
//   - Endpoints are followed at the same pace. A pod that is to go gets requests for up to 1.97 s
//     more, though its endpoint is not ready any more after 0.13 s; it has to answer for longer
//     than that after SIGTERM. Only the condition ready counts: a terminating endpoint is gone,
//     whether it serves or not.
//   - A change holds for the next request of each connection, kept or new.
//   - A backend of weight 0 gets nothing, like one that is left out. But it still counts for
//     ResolvedRefs, which is False if its Service does not exist: leave it out.
//   - The share of a Service without ready endpoints is answered by 503; that of one that does not
//     exist, or has no EndpointSlice yet, by 500, with ResolvedRefs False. No other backend takes
//     it over. Without any backend, or all with weight 0: 503.
//   - A route that names a Service which was made at the same moment fails for two seconds, in two
//     of five cases; none of five did once the Service had endpoints.
//   - Weights are exact from each change of the configuration on, whoever changed it: of 90 and 10,
//     every tenth request. A change begins a new round, each with the heavier backend, so with
//     fewer than 100 requests from one change to the next a weight of 1 may get none.
//   - Rules go in the order of Gateway API: the longest path, then the method, the number of
//     headers, that of query parameters, then the order in the route.
//   - Session persistence is ignored. The standard channel of the API does not have it.
//   - Annotations of a Service (traefik.io/service.nativelb) and BackendTLSPolicies, which name a
//     Service, are for that Service alone: another one of the same pods has none of them.
//   - Instances share the status of a route, as they have one controller name: the one that has
//     read it first speaks for all.
//   - One that has just started answers 404 until it has read everything (0.4 s).
package dataplane
