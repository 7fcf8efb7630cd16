// Package devforge is a Git forge on loopback, over real bare repositories.
//
// It serves Git's smart HTTP protocol, clone and push, and the part of GitHub's REST API
// (version 2022-11-28, as GitHub Enterprise Server serves it below /api/v3/) that a release tool
// uses, so that a demo or a test works on what a real forge would hold: a push, a branch, a
// commit and each kind of merge are Git objects, whichever way they were made.
//
//	git client ───► smart HTTP ──► git receive-pack ─┐
//	API client ───► route ──► handler ──► git objects ┼──► sync: refs that moved ──► pulls, events
//	browser ──────► pages ────────┘                  ─┘                                   │
//	hook receiver ◄── deliveries, in order per hook, never repeated ◄─────────────────────┘
//
// In front of it all stand, from the outside in: the request log, the faults that a test has
// switched on, Options.Middleware, and for the API the rate limit.
//
// What holds:
//
//   - it listens on 127.0.0.1 only, or on the one address that it is given;
//   - a request reaches a repository by a checked name, never by a path;
//   - requests on one repository are served one after another, and each sees every push that has
//     ended;
//   - what is not Git (pulls, reviews, statuses, checks, hooks, accounts) is in memory and ends
//     with the forge;
//   - with no accounts everybody may do everything; with one, what is private answers 404 to
//     others;
//   - hooks are on this machine, too: nothing is sent out;
//   - at most Options.MaxProcesses git processes run at a time, further requests wait;
//   - after Close no process of the forge is left, and nothing is delivered.
//
// It starts Git's two services itself rather than through "git http-backend" and net/http/cgi:
// those refuse chunked bodies, which is how git pushes more than a megabyte, and leave no way to
// end a service together with its own children.
//
// It is for demos and tests: passwords and keys are kept as they are given, in memory.
package devforge
