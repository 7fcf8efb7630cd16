package judge

import (
	"fmt"
	"slices"
)

// Rules say when a verdict is given.
type Rules struct {
	// Alpha is the chance to ever reject a version that is no worse.
	Alpha float64
	// Beta is the chance to ever pass a version that is Worse times as bad.
	Beta float64
	// Worse is the ratio of the rates of errors, new to old, that must not pass: 1.25, 1.5, 2, 3, 5
	// or 10.
	Worse float64
	// Floor is a share of errors that is fine whatever the old version has, for services with few of
	// them: in [0, 1). Default 0: there is none.
	Floor float64
}

// Among returns the rules for one of several metrics of a release, any of which may reject it: the
// chance that one of them is wrong stays the same.
func (r Rules) Among(metrics int) Rules {
	r.Alpha /= float64(max(1, metrics))
	return r
}

// Default returns the rules that need no thought: 1 % of good versions are rejected, 5 % of those
// twice as bad pass.
func Default() Rules {
	return Rules{Alpha: 0.01, Beta: 0.05, Worse: 2}
}

// Check returns what is wrong with the rules.
func (r Rules) Check() error {
	switch {
	case !(r.Alpha > 0 && r.Alpha < 1) || !(r.Beta > 0 && r.Beta < 1):
		return fmt.Errorf("chances of %v and %v must be above 0 and below 1", r.Alpha, r.Beta)
	case !(r.Floor >= 0 && r.Floor < 1):
		return fmt.Errorf("a floor of %v must be at least 0 and below 1", r.Floor)
	case slices.Index(ratios[:], r.Worse) <= even:
		return fmt.Errorf("a ratio of %v must be one of %v", r.Worse, ratios[even+1:])
	}
	return nil
}

// Outcome is a verdict in a word.
type Outcome string

// Outcomes.
const (
	NotYet Outcome = "NotYet" // more looks are needed
	Worse  Outcome = "Worse"  // the new version has more errors than the old one
	Fine   Outcome = "Fine"   // it is not Rules.Worse times as bad, or below Rules.Floor
	Unfit  Outcome = "Unfit"  // pods of the old version differ too much to tell
)

// Verdict is the outcome of evidence by rules.
type Verdict struct {
	Outcome Outcome
	// Low and High bound the ratio of the rates of errors, new to old, at 95 % whenever looked at;
	// 0 where nothing is known. Pods of another release may differ by Spread more.
	Low, High float64
	// Spread is the ratio that pods alone account for, in 98 % of releases; at least 1.
	Spread float64
}

const (
	// boundLevel is the level of either bound: 95 % for both.
	boundLevel = 0.025
	// podsReject is the chance of luck and pods, at one look, below which a version is rejected. It
	// is far below Alpha because a release is looked at many times.
	podsReject = 0.0005
	// podsPass is the same for a version that passes.
	podsPass = 0.02
)

// Verdict returns what the evidence says by rules; NotYet by rules that Check refuses. A version
// below the floor is fine; else Worse comes before Fine, which comes before Unfit.
func (e Evidence) Verdict(rules Rules) Verdict {
	v := Verdict{Outcome: NotYet, Spread: e.spread.between(e.NewPods, e.OldPods)}
	v.Low, v.High = e.bounds(boundLevel)
	if rules.Check() != nil {
		return v
	}
	equal, worse := &e.claims[even], &e.claims[slices.Index(ratios[:], rules.Worse)]
	switch {
	case e.isBelow(rules):
		v.Outcome = Fine
	case equal.AtMost.wealth() >= 1/rules.Alpha && e.beyondPods() && e.isAbove(rules):
		v.Outcome = Worse
	case worse.AtLeast.wealth() >= 1/rules.Beta && e.chance(worse, -1) <= podsPass:
		v.Outcome = Fine
	case v.Spread*v.Spread >= rules.Worse && e.spread.differ(rules.Alpha):
		v.Outcome = Unfit
	}
	return v
}

// isBelow reports whether the new version has fewer errors than the floor.
func (e Evidence) isBelow(rules Rules) bool {
	return rules.Floor > 0 && wealthAgainst(rules.Floor, e.New, e.spread.dispersion(), belowFloor[:]) >= 1/rules.Beta
}

// isAbove reports whether the new version has more errors than the floor, or there is none.
func (e Evidence) isAbove(rules Rules) bool {
	return rules.Floor == 0 || wealthAgainst(rules.Floor, e.New, e.spread.dispersion(), aboveFloor[:]) >= 1/rules.Alpha
}
