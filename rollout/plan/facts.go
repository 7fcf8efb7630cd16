package plan

import (
	"cmp"

	"github.com/sluice-dev/sluice/rollout/order"
	"github.com/sluice-dev/sluice/rollout/preflight"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// Facts are what a shell passes on as it has read them. To observe something new takes a field here and, in each shell,
// the function that reads it: what is read live in a pass is one of Reads, what is an answer to a question is one of Needs.
type Facts struct {
	// Live says what was read live, or answered to a write, in this pass.
	Live Reads
	// Siblings are the other releases that name the workload, except those that are being deleted.
	Siblings []Sibling
	// Kept are the templates that are kept to roll back to.
	Kept []Kept
	// Pods are the workload's that are not going away; none before ReadPods.
	Pods []order.Pod
	// Failing is what is wrong with the updated pods; empty before ReadFailing.
	Failing string
	// Trouble is what is wrong with updated pods; nil before ReadTrouble, and where that could not be read.
	Trouble *Trouble
	// Traffic is what there is of the release's traffic; nil if it has none.
	Traffic *traffic.Seen
	// Resolved is the answer to Needs.Resolve, Drift to Needs.Drift and Preflight to Needs.Preflight; nil if it was not requested.
	Resolved  *Resolved
	Drift     *Drift
	Preflight *preflight.Findings
}

// Reads is a set of what can be read live, past the caches.
type Reads uint16

// The reads.
const (
	// ReadRelease and ReadWorkload read the objects themselves.
	ReadRelease Reads = 1 << iota
	ReadWorkload
	// ReadCounts counts the pods of the workload by version, of all versions that there are.
	ReadCounts
	// ReadPods lists the pods one by one.
	ReadPods
	ReadGates
	ReadKept
	// ReadFailing finds out what is wrong with the updated pods.
	ReadFailing
	// ReadTrouble is as ReadFailing, for people alone: it may find out nothing.
	ReadTrouble
)

// Has reports whether all of some reads are in the set.
func (r Reads) Has(all Reads) bool { return r&all == all }

// Needs is what to observe before asking again.
type Needs struct {
	Reads
	// Resolve asks what the API server makes of a template.
	Resolve *Template
	// Drift asks how the workload's template differs from this one.
	Drift *Template
	// Preflight asks what in the namespace conflicts with a release.
	Preflight *Shape
}

// Any reports whether anything is needed.
func (n Needs) Any() bool { return n != Needs{} }

// and returns the needs of both.
func (n Needs) and(more Needs) Needs {
	return Needs{
		Reads: n.Reads | more.Reads, Resolve: cmp.Or(n.Resolve, more.Resolve), Drift: cmp.Or(n.Drift, more.Drift),
		Preflight: cmp.Or(n.Preflight, more.Preflight),
	}
}
