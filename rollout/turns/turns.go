// Package turns runs one pass of a release: turn after turn it asks for a plan and has a shell
// carry it out, until there is nothing left to do now.
//
//	Shell.Plan ──► status first? ──► WriteStatus ──┐
//	    ▲      ├─► actions?      ──► Act ──────────┤
//	    │      ├─► needs?        ──► Satisfy ──────┤
//	    │      └─► none          ──► Settle: done  │
//	    └──────────────────────────────────────────┘
//
// The controller and the simulated world run the same turns, each with a shell of its own.
package turns

import (
	"context"
	"errors"
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// most bounds how many turns a pass has. A release needs about four.
const most = 30

var (
	// ErrRefused is the error of a shell whose write was refused for its content. The shell knows that
	// from now on, and the plan is asked what happens to the release without the write.
	ErrRefused = errors.New("the API server refuses the write")
	// ErrUnanswered is the error of a shell whose write may or may not be done: the API server failed.
	ErrUnanswered = errors.New("the API server failed")
	// ErrUnasked is the error of a failed write while the API server answers reads: a dependency of
	// writes, such as an admission webhook, does not answer.
	ErrUnasked = fmt.Errorf("it answers reads: %w", ErrUnanswered)
	// ErrEndless says that a plan does not come to an end.
	ErrEndless = errors.New("the plan does not come to an end")
)

// Shell observes a release and writes what is decided.
type Shell interface {
	// Plan returns what to do by what is observed so far.
	Plan() plan.Plan
	// Act carries out actions in their order, up to the first that fails.
	Act(ctx context.Context, actions []plan.Action) error
	// Satisfy observes what a plan needs to know.
	Satisfy(ctx context.Context, needs plan.Needs) error
	// WriteStatus writes a status at once.
	WriteStatus(ctx context.Context, status *v1alpha1.BatchReleaseStatus) error
	// Intend takes over a status: the next plan starts from it.
	Intend(status *v1alpha1.BatchReleaseStatus)
	// Tell publishes events of a status that is written.
	Tell(events []plan.Event)
	// Settle writes the status of a pass that has nothing left to do, and then publishes its events. It
	// returns when to decide again though nothing has changed.
	Settle(ctx context.Context, last plan.Plan, told []plan.Event) ([]plan.Wake, error)
	// Keep writes the status that a pass had reached before an action failed. Without it the next pass
	// would not know that a step was entered, and would take its pods for a mistake.
	Keep(ctx context.Context, told []plan.Event) error
}

// Run runs a pass. It returns when to decide again though nothing has changed.
func Run(ctx context.Context, s Shell) ([]plan.Wake, error) {
	var told []plan.Event
	for range most {
		next := s.Plan()
		again, err := turn(ctx, s, &next)
		switch {
		case errors.Is(err, ErrRefused):
			continue
		case errors.Is(err, ErrUnasked): // the caches may not show yet whether it was done
			return []plan.Wake{{After: plan.AgainSoon, Why: plan.WakeUnanswered}}, s.Keep(ctx, told)
		case err != nil && len(next.Actions) > 0:
			return nil, errors.Join(err, s.Keep(ctx, told))
		case err != nil:
			return nil, err
		case again && len(next.Actions) == 0 && !next.StatusFirst:
			continue // only more was observed: the plan starts from the same status
		}
		told = append(told, next.Events...)
		s.Intend(&next.Status)
		if !again {
			return s.Settle(ctx, next, told)
		}
		if next.StatusFirst { // it is written, whatever becomes of the rest of the pass
			s.Tell(told)
			told = nil
		}
	}
	return nil, ErrEndless
}

// turn carries out one plan. It reports whether to ask again.
func turn(ctx context.Context, s Shell, next *plan.Plan) (bool, error) {
	switch {
	case next.StatusFirst:
		// A server that fails for the records alone must not hold up a rollback. It records them again in
		// the end.
		if err := s.Act(ctx, next.Records); err != nil && !errors.Is(err, ErrUnanswered) {
			return true, err
		}
		return true, s.WriteStatus(ctx, &next.Status)
	case len(next.Actions) > 0:
		return true, s.Act(ctx, next.Actions)
	case next.Needs.Any():
		return true, s.Satisfy(ctx, next.Needs)
	default:
		return false, nil
	}
}
