// Package act writes what a person requests of a release, as that person.
//
//	release as it was read ──► decide (cli/verb) ──► Writer: one guarded patch for each change ──► Await: the controller has acted
//	        ▲                                                 │
//	        └──────────────── conflict: read again ◄──────────┘
//
// The command line and the dashboard share it. What must hold:
//
//   - a write applies only to the version of the object that it was decided on, and never to another object of that name;
//   - if the object has changed meanwhile, it is decided again for the new version;
//   - it needs no rights except those of the person whose client it uses.
package act
