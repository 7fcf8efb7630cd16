// Package notices sends news of releases to the people and programs that the operator of the controller names: as CloudEvents
// over HTTP, signed, and to Slack.
//
//	releases, gates ──watch──► story.Since ──► Notices ──► a queue for each receiver ──► HTTP
//	                               ▲ │                          │
//	                               │ └───────► the record ◄─────┘  one ConfigMap, at most one write a second
//	                  at a start ──┘
//
// What must hold:
//
//   - no release waits for a receiver: what is new goes into a queue that is bounded, and is sent by a goroutine of its own;
//   - only the process that holds the Lease sends;
//   - a notice is in the record until it is delivered, or given up: the next process sends it. One that was delivered when its process was
//     killed before the record was written is sent twice, with the same ID;
//   - only who starts the controller says where requests go. What others write into Git or the cluster is text in them;
//   - the address of a receiver and the keys are secrets: they are in no log, error, metric or record.
package notices
