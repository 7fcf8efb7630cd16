// Package access lets people in to the dashboard, and says what they may do.
//
//	request ─► Secure ─► same origin ─► Door ─► who it is ─► form token ─► handlers
//	                                     │                                    │
//	         /login /logout ◄────────────┘      Viewer.Client, Rights ◄───────┘
//
// Local is the door of one person on their own machine, Cluster that of many. What holds:
//   - handlers only see requests of people, except for assets and health;
//   - a handler reads and writes with the viewer's client, so that the API server authorizes and
//     records it under the viewer's name;
//   - no person acts as a part of Kubernetes: names and groups that begin with "system:" are
//     refused at login and at each request, except service accounts, which are themselves;
//   - a request that changes something is a POST of the same origin with the token of that session;
//   - tokens and cookies are in no log and in no message.
package access
