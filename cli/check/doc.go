// Package check finds what is missing in a cluster, a source, a release, a repository or a forge,
// each with what to do about it.
//
//	API server, as the user ──► Cluster ─┐
//	ReleaseSource ──► Source ────────────┼──► Findings, each with what to do about it
//	BatchRelease ──► Release ────────────┤
//	Git, from here ──► Repository ───────┤
//	GitHub, from here ──► Forge ─────────┘
//
// It changes nothing. What the user may not read is a warning: nothing is known of it. Of a source
// it says what the controller has found, by its network and its credentials, which are those that
// matter. A repository and a forge are asked themselves, before there is a source, or to find out
// what ails one.
package check

// Grade says how well something is.
type Grade string

// The grades.
const (
	OK      Grade = "ok"
	Warning Grade = "warning"
	Failed  Grade = "failed"
)

// Finding is the result of one check.
type Finding struct {
	Grade Grade
	// Subject is the thing that was checked.
	Subject string
	// Text is a sentence for people.
	Text string
	// Remedy is the advice; empty if nothing is to be done.
	Remedy string
}

// Unfit reports whether anything has failed.
func Unfit(findings []Finding) bool {
	for _, finding := range findings {
		if finding.Grade == Failed {
			return true
		}
	}
	return false
}
