// Package journeys has the journeys of users, as tests against a real control plane: what they do
// with kubectl and with the API, and what they then find in the cluster.
//
// Each journey has a namespace and a controller of its own. A journal records every revision of
// every object in the namespace; in the end the journal is replayed in the order of the cluster's
// revisions, and the laws are held against each of them:
//
//	kubectl, API ──► control plane ◄── controller (can be killed at a request)
//	                      │ watches
//	                      ▼
//	                   journal ──► replay ──► laws (I1, I2, I3, I5, I6, I8)
package journeys
