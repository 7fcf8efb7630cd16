package judge

import (
	"errors"
	"fmt"
	"math"
)

// mostCount is the most requests of a look: sums of many looks stay far from the end of numbers.
const mostCount = 1e15

// least is the smallest share of the requests, and the smallest number of errors, that speaks for
// anything: below are remains of sums of fractions.
const least = 1e-9

// Count counts the requests that pods have served between two looks.
type Count struct {
	Requests float64 // at least 0, at most 1e15
	Errors   float64 // of these, those that failed
}

func (c Count) plus(other Count) Count {
	return Count{c.Requests + other.Requests, c.Errors + other.Errors}
}

func (c Count) check() error {
	switch {
	case math.IsNaN(c.Requests) || math.IsInf(c.Requests, 0) || math.IsNaN(c.Errors) || math.IsInf(c.Errors, 0):
		return errors.New("a count is not a finite number")
	case c.Requests < 0 || c.Errors < 0:
		return errors.New("a count is below 0: it must be an increment")
	case c.Errors > c.Requests:
		return fmt.Errorf("%v errors are more than the %v requests", c.Errors, c.Requests)
	case c.Requests > mostCount:
		return fmt.Errorf("%v requests are more than %v", c.Requests, mostCount)
	}
	return nil
}

// Part counts the requests of some pods of the old version.
type Part struct {
	Count
	Pods int
}

// Look counts the requests of both versions since the last look. Looks must not overlap.
type Look struct {
	New     Count
	NewPods int // 0 if nobody knows
	// Old has at most Parts parts. A pod stays in its part.
	Old []Part
}

func (l Look) old() (sum Part) {
	for _, p := range l.Old {
		sum.Count = sum.plus(p.Count)
		sum.Pods += p.Pods
	}
	return sum
}

func (l Look) check() error {
	if len(l.Old) > Parts {
		return fmt.Errorf("%d parts of the old version are more than %d", len(l.Old), Parts)
	}
	if err := l.New.check(); err != nil {
		return fmt.Errorf("new version: %w", err)
	}
	if l.NewPods < 0 {
		return fmt.Errorf("new version: there are no %d pods", l.NewPods)
	}
	for i, p := range l.Old {
		if p.Pods < 0 {
			return fmt.Errorf("part %d of the old version: there are no %d pods", i, p.Pods)
		}
		if err := p.check(); err != nil {
			return fmt.Errorf("part %d of the old version: %w", i, err)
		}
	}
	return nil
}

// Evidence sums up all looks. The zero value is not valid, see New.
type Evidence struct {
	Looks    int // that brought requests of both versions
	New, Old Count
	// Pods that the last look had.
	NewPods, OldPods int

	claims [len(ratios)]claim
	spread spread
	single single
}

// New returns evidence of no looks.
func New() Evidence {
	return Evidence{claims: newClaims(), spread: newSpread()}
}

// Add returns the evidence with another look. A look without requests of both versions, or without
// errors, speaks neither way. An error says what is wrong with the counts; the evidence is then
// what it was.
func (e Evidence) Add(look Look) (Evidence, error) {
	if err := look.check(); err != nil {
		return e, err
	}
	old := look.old()
	if look.New.Requests == 0 || old.Requests == 0 {
		return e, nil
	}
	e.Looks++
	e.New, e.Old = e.New.plus(look.New), e.Old.plus(old.Count)
	e.NewPods, e.OldPods = look.NewPods, old.Pods
	e.spread.add(look.Old)
	had, q := look.New.Errors+old.Errors, look.New.Requests/(look.New.Requests+old.Requests)
	if had < least || q < least || q > 1-least {
		return e, nil
	}
	e.single.add(had*q, had*(1-q), look.NewPods, old.Pods)
	for i, ratio := range ratios {
		e.claims[i].add(ratio, look.New.Errors, old.Errors, q)
	}
	return e, nil
}
