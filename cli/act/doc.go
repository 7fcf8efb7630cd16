// Package act writes what a person requests of a release, as that person.
//
//	release ──► decide (cli/verb) ──► Writer: a guarded patch for each change ──► Await
//	   ▲                                 │
//	   └────── conflict: read again ◄────┘
//
// The command line and the dashboard share it. What must hold:
//
//   - a write applies only to the version of the object that it was decided on, and to no other
//     object of that name;
//   - if the object has changed meanwhile, it is decided again for the new version;
//   - it needs no rights except those of the person whose client it uses.
package act
