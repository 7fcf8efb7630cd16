// Package prometheus runs a real Prometheus on this machine, for tests, from hack/prometheus. It
// scrapes the pods of a namespace each second, and asks for a password.
//
//	queries ──► Prometheus ──► /metrics of the pods, at their addresses
//	                │
//	                └──► API server: which pods there are
//
// New pods are scraped one to six seconds after they have got their address: it looks for changes
// every five seconds. Samples survive a kill.
package prometheus
