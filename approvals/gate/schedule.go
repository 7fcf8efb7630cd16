package gate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// schedule holds the minutes at which windows open. A minute counts if its reading on the wall
// clock of a time zone matches five cron fields. So a time that the clocks skip when they go
// forward opens no window on that day, and a time that they show twice when they go back opens one
// each time.
//
// Only the parser of robfig/cron is used. Its own search for the next match can name a wrong
// day where daylight saving time begins at midnight (Chile, Cuba, Lebanon), and a window must
// not open on a wrong day.
type schedule struct {
	fields *cron.SpecSchedule
	zone   *time.Location
}

const (
	// horizon is how far a schedule is searched: beyond the 8 years between the leap days
	// around a year such as 2100 nothing new can come.
	horizon = 9 * 366 * 24 * time.Hour
	// anyDay is the bit with which the parser marks a day field that is "*".
	anyDay = 1 << 63
)

var fiveFields = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// parseSchedule reads the five fields and the zone, an IANA name; none means UTC.
func parseSchedule(expression, zone string) (schedule, error) {
	location, err := parseZone(zone)
	if err != nil {
		return schedule{}, err
	}
	fields, err := parseFields(expression)
	return schedule{fields: fields, zone: location}, err
}

func parseZone(name string) (*time.Location, error) {
	location, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // the zone of whichever machine the controller runs on
		return nil, fmt.Errorf("unknown time zone %s: name one such as Europe/Berlin", name)
	}
	return location, nil
}

func parseFields(expression string) (*cron.SpecSchedule, error) {
	if strings.Contains(expression, "TZ=") { // the parser takes it at the start, and panics on some
		return nil, errors.New("must not name a time zone: it has a field of its own")
	}
	parsed, err := fiveFields.Parse(expression)
	if err != nil {
		return nil, err
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, errors.New("must be five cron fields")
	}
	return fields, nil
}

// next returns the first time after t, in the schedule's zone, at which a window opens, and
// whether there is one.
func (s schedule) next(t time.Time) (time.Time, bool) {
	limit := t.Add(horizon)
	t = t.In(s.zone).Truncate(time.Minute).Add(time.Minute)
	for t.Before(limit) {
		step := s.untilCandidate(t)
		if step == 0 {
			return t, true
		}
		t = hop(t, step)
	}
	return time.Time{}, false
}

// untilCandidate returns 0 if t matches, else the time on the wall clock to the next reading that
// may match.
func (s schedule) untilCandidate(t time.Time) time.Duration {
	hour, minute := time.Duration(t.Hour())*time.Hour, time.Duration(t.Minute())*time.Minute
	switch {
	case !s.matchesDay(t):
		return 24*time.Hour - hour - minute
	case s.fields.Hour&(1<<t.Hour()) == 0:
		return time.Hour - minute
	case s.fields.Minute&(1<<t.Minute()) == 0:
		return time.Minute
	default:
		return 0
	}
}

// matchesDay follows cron: where both day fields are given, one of them is enough.
func (s schedule) matchesDay(t time.Time) bool {
	if s.fields.Month&(1<<t.Month()) == 0 {
		return false
	}
	ofMonth := s.fields.Dom&(1<<t.Day()) != 0
	ofWeek := s.fields.Dow&(1<<t.Weekday()) != 0
	if (s.fields.Dom|s.fields.Dow)&anyDay != 0 {
		return ofMonth && ofWeek
	}
	return ofMonth || ofWeek
}

// hop goes forward by a time on the wall clock, but at most to the first minute after the clocks
// are set. The wall clock must be read again there.
func hop(t time.Time, by time.Duration) time.Time {
	_, end := t.ZoneBounds()
	if end.IsZero() || !end.Before(t.Add(by)) {
		return t.Add(by)
	}
	return end.Add(time.Minute - 1).Truncate(time.Minute)
}
