package gate

import (
	"testing"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestWindowAroundClockChanges looks through windows of one hour while the clocks are set.
func TestWindowAroundClockChanges(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason         string
		schedule, zone string
		now            string // RFC 3339
		open           bool
	}{
		"SpringBefore":   {"the last hour before the clocks go forward", "0 1 * * *", "Europe/Berlin", "2026-03-29T01:59:59+01:00", true},
		"SpringSkipped":  {"2:30 is not shown on this day, so no window opens", "30 2 * * *", "Europe/Berlin", "2026-03-29T03:30:00+02:00", false},
		"SpringDayAfter": {"but on the next day it is", "30 2 * * *", "Europe/Berlin", "2026-03-30T02:30:00+02:00", true},
		"SpringOver":     {"an hour is an hour: from 1:30 it goes on until 3:30 on this day", "30 1 * * *", "Europe/Berlin", "2026-03-29T03:29:59+02:00", true},
		"SpringOverEnd":  {"and no longer", "30 1 * * *", "Europe/Berlin", "2026-03-29T03:30:00+02:00", false},
		"AutumnFirst":    {"2:30 is shown twice: the first time", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:30:00+02:00", true},
		"AutumnSecond":   {"and the second time", "30 2 * * *", "Europe/Berlin", "2026-10-25T03:29:59+01:00", true},
		"AutumnEnd":      {"after which it is over", "30 2 * * *", "Europe/Berlin", "2026-10-25T03:30:00+01:00", false},
		"AutumnEarly":    {"nor does it open early", "30 2 * * *", "Europe/Berlin", "2026-10-25T02:29:59+02:00", false},
		"NewYork":        {"the zone is the policy's, not the machine's", "0 9-17 * * 1-5", "America/New_York", "2026-03-09T13:00:00Z", true},
		"NewYorkWinter":  {"9:00 in New York is 14:00 UTC in winter", "0 9-17 * * 1-5", "America/New_York", "2026-03-06T13:59:59Z", false},
		"Midnight":       {"where clocks go forward at midnight, Sunday is not taken for Saturday", "10 1 * * 6", "America/Santiago", "2018-08-12T01:10:00-03:00", false},
		"HalfHour":       {"where they go back by half an hour, no day is left out", "0 3 * * *", "Australia/Lord_Howe", "2018-04-01T03:00:00+10:30", true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now, err := time.Parse(time.RFC3339, tc.now)
			if err != nil {
				t.Fatalf("parse now: %v", err)
			}
			g := newGate(windowPolicy(tc.schedule, tc.zone))
			got := Evaluate(g, Facts{Release: blockedOn(g)}, now)
			if open := got.Status.Decision == v1alpha1.DecisionPassed; open != tc.open {
				t.Errorf("%s: %q in %s at %s: want open %t, got %s (%s)",
					tc.reason, tc.schedule, tc.zone, tc.now, tc.open, got.Status.Decision, got.Status.Message)
			}
		})
	}
}

func TestScheduleNext(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, schedule, zone, after, want string
	}{
		"Strictly":   {"a match is not its own next", "0 12 * * *", "", "2026-10-05T12:00:00Z", "2026-10-06T12:00:00Z"},
		"WithinHour": {"seconds are cut off", "*/15 * * * *", "", "2026-10-05T12:14:59.9Z", "2026-10-05T12:15:00Z"},
		"EitherDay":  {"of two day fields one is enough, as in cron", "0 0 13 * 5", "", "2026-10-05T00:00:00Z", "2026-10-09T00:00:00Z"},
		"BothDays":   {"but * does not make every day match", "0 0 13 * *", "", "2026-10-05T00:00:00Z", "2026-10-13T00:00:00Z"},
		"LeapDay":    {"2100 has no leap day", "0 0 29 2 *", "", "2097-01-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		"OddBound":   {"a zone's data may end between two minutes", "0 0 1 * *", "Asia/Kathmandu", "2038-01-19T08:59:06+05:45", "2038-02-01T00:00:00+05:45"},
		"Never":      {"there is no 30th of February", "0 0 30 2 *", "", "2026-10-05T00:00:00Z", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := parseSchedule(tc.schedule, tc.zone)
			if err != nil {
				t.Fatalf("parse schedule: %v", err)
			}
			after, err := time.Parse(time.RFC3339, tc.after)
			if err != nil {
				t.Fatalf("parse after: %v", err)
			}
			got := ""
			if next, found := s.next(after); found {
				got = next.Format(time.RFC3339)
			}
			if got != tc.want {
				t.Errorf("%s: next of %q after %s: want %q, got %q", tc.reason, tc.schedule, tc.after, tc.want, got)
			}
		})
	}
}
