package turns

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// script is a shell with plans given beforehand. It notes what it is told to do, and fails as it is
// told.
type script struct {
	plans []plan.Plan
	fails map[string]error
	done  []string
}

func (s *script) do(what string) error {
	s.done = append(s.done, what)
	return s.fails[what]
}

func (s *script) Plan() plan.Plan {
	next := s.plans[0]
	if len(s.plans) > 1 {
		s.plans = s.plans[1:]
	}
	return next
}

func (s *script) Act(_ context.Context, actions []plan.Action) error {
	for _, action := range actions {
		if err := s.do(action.String()); err != nil {
			return err
		}
	}
	return nil
}

func (s *script) Satisfy(context.Context, plan.Needs) error { return s.do("read") }

func (s *script) WriteStatus(context.Context, *v1alpha1.BatchReleaseStatus) error {
	return s.do("status")
}

func (s *script) Intend(*v1alpha1.BatchReleaseStatus) {}

func (s *script) Tell(events []plan.Event) {
	for _, event := range events {
		s.done = append(s.done, "tell "+event.Reason)
	}
}

func (s *script) Settle(_ context.Context, _ plan.Plan, told []plan.Event) ([]plan.Wake, error) {
	s.Tell(told)
	return []plan.Wake{{After: time.Minute, Why: plan.WakeDeadline}}, s.do("settle")
}

func (s *script) Keep(context.Context, []plan.Event) error { return s.do("keep") }

func TestPass(t *testing.T) {
	t.Parallel()
	var (
		act      = plan.Plan{Actions: []plan.Action{plan.CloseGate{Name: "a"}}, Events: []plan.Event{{Reason: "Acted"}}}
		read     = plan.Plan{Needs: plan.Needs{Reads: plan.ReadGates}, Events: []plan.Event{{Reason: "Read"}}}
		first    = plan.Plan{StatusFirst: true, Records: []plan.Action{plan.PruneRevision{Name: "r"}}, Events: []plan.Event{{Reason: "First"}}}
		rest     = plan.Plan{Events: []plan.Event{{Reason: "Rested"}}}
		conflict = errors.New("conflict")
	)
	tests := map[string]struct {
		plans []plan.Plan
		fails map[string]error
		want  []string
		err   error
	}{
		"nothing is told of a plan that only reads":           {[]plan.Plan{read, rest}, nil, []string{"read", "tell Rested", "settle"}, nil},
		"what is done is told with the status":                {[]plan.Plan{act, rest}, nil, []string{"close gate a", "tell Acted", "tell Rested", "settle"}, nil},
		"records come before a status that is to be first":    {[]plan.Plan{first, rest}, nil, []string{"forget template r", "status", "tell First", "tell Rested", "settle"}, nil},
		"an action that fails leaves the status reached":      {[]plan.Plan{act}, map[string]error{"close gate a": conflict}, []string{"close gate a", "keep"}, conflict},
		"one that is refused is planned for":                  {[]plan.Plan{act, rest}, map[string]error{"close gate a": ErrRefused}, []string{"close gate a", "tell Rested", "settle"}, nil},
		"a record that is outdated is decided on again":       {[]plan.Plan{first}, map[string]error{"forget template r": conflict}, []string{"forget template r"}, conflict},
		"one that a failing server takes or not holds nobody": {[]plan.Plan{first, rest}, map[string]error{"forget template r": ErrUnanswered}, []string{"forget template r", "status", "tell First", "tell Rested", "settle"}, nil},
		"a plan that never ends is an error":                  {[]plan.Plan{read}, nil, slices.Repeat([]string{"read"}, most), ErrEndless},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{plans: test.plans, fails: test.fails}
			wakes, err := Run(t.Context(), s)
			if !errors.Is(err, test.err) || (err == nil) != (plan.First(wakes).After == time.Minute) {
				t.Errorf("wakes after %v with error %v, want error %v", wakes, err, test.err)
			}
			if !slices.Equal(s.done, test.want) {
				t.Errorf("done: %q, want %q", s.done, test.want)
			}
		})
	}
}
