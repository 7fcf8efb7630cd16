package proof

import "fmt"

// Outcome of a check.
type Outcome int

// The outcomes, the better ones first.
const (
	// Proven: all that was asked for holds.
	Proven Outcome = iota
	// NotEnough: something is missing, so nothing can be said.
	NotEnough
	// Refuted: something contradicts what was asked for.
	Refuted
)

// String returns the name of an outcome.
func (o Outcome) String() string {
	return map[Outcome]string{Proven: "Proven", NotEnough: "NotEnough", Refuted: "Refuted"}[o]
}

// MarshalText implements encoding.TextMarshaler.
func (o Outcome) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Finding is the outcome of one check.
type Finding struct {
	Outcome Outcome `json:"outcome"`
	// About names what was checked.
	About Subject `json:"about"`
	// Detail is a human readable sentence.
	Detail string `json:"detail"`
}

// Subject names the thing that a check is about.
type Subject string

// The subjects.
const (
	Image    Subject = "Image"
	Pod      Subject = "Pod"
	Template Subject = "Template"
	Commit   Subject = "Commit"
	Gates    Subject = "Gates"
)

// Verdict holds what all checks found.
type Verdict struct {
	Outcome  Outcome   `json:"outcome"`
	Findings []Finding `json:"findings"`
}

func (v *Verdict) add(outcome Outcome, about Subject, format string, args ...any) {
	v.Findings = append(v.Findings, Finding{outcome, about, fmt.Sprintf(format, args...)})
	v.Outcome = max(v.Outcome, outcome)
}

// Exception is something that a check would not let pass by itself.
type Exception string

// The exceptions.
const (
	// MovingTags: images that no digest pins.
	MovingTags Exception = "moving-tags"
	// UnsignedCommits: commits whose signature nobody checks.
	UnsignedCommits Exception = "unsigned-commits"
	// ForcedGates: gates that somebody has passed despite their policy.
	ForcedGates Exception = "forced-gates"
)

// Exceptions returns all exceptions.
func Exceptions() []Exception { return []Exception{MovingTags, UnsignedCommits, ForcedGates} }
