// Package github is the client for one repository on GitHub; it alone imports go-github.
//
// It opens, reads and closes approvals, reads statuses and checks, and posts statuses and
// deployments. Values of package forge go in and come out; it knows no Kubernetes.
//
//	Client ─► go-github ─► deadline ─► conditional ─► limiter ─► authorised ─► bodies ─► network
//	                                   ETags, 304     waits for   token or     whole,
//	                                   cost nothing   nobody      App          capped, JSON
//
// What must hold:
//
//   - whatever is done twice exists once: each write can lose its answer and be done again;
//   - a list is read whole or not at all, and an answer that is not JSON is an error, so that
//     nothing that speaks against an approval is overlooked;
//   - while the forge limits us no request is sent and nothing sleeps: a *forge.LimitedError
//     comes back at once;
//   - credentials go to no other host, and appear in no error;
//   - each error is of a forge.Kind, or that of the caller's context.
//
// Clients makes all clients of a process: the same for who asks for the same, and with one rate
// limit for all that a forge counts together.
//
// App tokens are made here, from go-github's own calls and a JWT library: the libraries that offer
// it read the wall clock, and hide a rate limit from the caller.
package github
