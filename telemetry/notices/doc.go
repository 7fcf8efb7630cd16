// Package notices sends news of releases to the people and programs that the operator of the
// controller names: as CloudEvents over HTTP, signed, and to Slack.
//
//	releases, gates ──watch──► story.Since ──► Notices ──► a queue for each receiver ──► HTTP
//	                               ▲ │                          │
//	                               │ └───────► the record ◄─────┘  one ConfigMap, a write a second
//	                  at a start ──┘
//
// What must hold:
//
//   - no release waits for a receiver: notices go into a bounded queue, and a goroutine of its own
//     sends them;
//   - only the process that holds the Lease sends;
//   - a notice is in the record until it is delivered, or given up: the next process sends it. One
//     that was delivered when its process was killed before the record was written is sent twice,
//     with the same ID;
//   - only the operator of the controller decides where requests go. What others write into Git or
//     the cluster is text in them;
//   - the address of a receiver and the keys are secrets: they are in no log, error, metric or
//     record.
package notices
