// Package act writes what a person asks of a release, as that person.
//
//	release as it was read ──► decide (rollout/steer) ──► Writer: one guarded patch for each change ──► Await: the controller has acted
//	        ▲                                                 │
//	        └──────────────── conflict: read again ◄──────────┘
//
// The command line and the dashboard share it. What must hold:
//
//   - a write counts for the version of the object that was decided on, and for no other object of that name;
//   - where the object has changed meanwhile, it is decided again on what it is now;
//   - it needs no rights but those of the person whose client it is given.
package act
