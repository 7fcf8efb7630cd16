package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/internal/plain"
)

// The limits of the history page, and the sizes of its drawing.
const (
	defaultDays = 30
	mostHistory = 100
	dayWidth    = 20
	barGap      = 4
	historyHigh = 100
	oneDay      = 24 * time.Hour
)

// historyChoices are the numbers of days to choose from.
var historyChoices = []int{7, 14, 30, 90}

// History is the list of releases of some days.
type History struct {
	Namespace  string
	Namespaces []string
	Days       int
	Choices    []int
	// Frequency, LeadTime, Duration, Failures and Restore are figures in words.
	Frequency, LeadTime, Duration, Failures, Restore string
	Bars                                             []Bar
	Width                                            int
	// Most counts the releases of the highest bar. First and Last are the days at both ends of the
	// drawing.
	Most        int
	First, Last string
	Entries     []Past
	// Total is the number of past releases, of which Entries are the latest.
	Total int
	Now   time.Time
}

// Bar is a day of the drawing: the height of its releases, and of its rollbacks on top of them.
type Bar struct {
	Day, Text                            string
	X, Width                             int
	Released, ReleasedY, Failed, FailedY int
}

// Past is a release that has ended.
type Past struct {
	Namespace, Release, Revision, Outcome string
	Version                               string
	Mark                                  Mark
	Time                                  Moment
	Commit, Author, Subject               string
	Took, Lead                            string

	took, lead time.Duration
	began      time.Time
	// failed counts among the failures, released among the releases: neither is a first deployment, nor
	// what another version superseded at its gate.
	failed, released bool
}

// Superseded is a release that another one superseded.
type Superseded struct {
	Namespace, Release string
	v1alpha1.LogEntry
}

// SupersededOf returns the releases of rows that others superseded.
func SupersededOf(rows []*Row) []Superseded {
	var all []Superseded
	for _, row := range rows {
		for _, one := range row.log {
			if one.Type == v1alpha1.LogSuperseded {
				all = append(all, Superseded{row.Namespace, row.Name, one})
			}
		}
	}
	return all
}

// HistoryQuery says which part of the history somebody wants to see.
type HistoryQuery struct {
	Namespace string
	Days      int
}

// HistoryOf returns the page for the templates that releases keep, all of which the viewer may see.
func HistoryOf(kept []appsv1.ControllerRevision, left []Superseded, query HistoryQuery, now time.Time) History {
	if !slices.Contains(historyChoices, query.Days) {
		query.Days = defaultDays
	}
	page := History{Namespace: query.Namespace, Days: query.Days, Choices: historyChoices, Now: now, Width: query.Days * dayWidth}
	from := now.Add(-time.Duration(query.Days) * oneDay)
	namespaces := map[string]bool{}
	var past []Past
	first := now
	add := func(one Past, ended bool) {
		namespaces[one.Namespace] = true
		if query.Namespace != "" && one.Namespace != query.Namespace {
			return
		}
		for _, known := range []time.Time{one.began, one.Time.Time} {
			if !known.IsZero() && known.Before(first) {
				first = known
			}
		}
		if ended && one.Time.After(from) && !one.Time.After(now) {
			past = append(past, one)
		}
	}
	for i := range kept {
		add(pastOf(&kept[i]))
	}
	for i := range left {
		add(leftOf(&left[i]), true)
	}
	page.Namespaces = sortedKeys(namespaces)
	slices.SortFunc(past, func(a, b Past) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Release, b.Release))
	})
	page.figures(past, max(oneDay, now.Sub(later(first, from))))
	page.bars(past)
	page.Total = len(past)
	page.Entries = past[:min(len(past), mostHistory)]
	return page
}

// pastOf returns the past release of a template in the history. It reports false for one that was
// never released, or is in progress.
func pastOf(kept *appsv1.ControllerRevision) (Past, bool) {
	revision := revisionOf(kept)
	one := Past{
		Namespace: kept.Namespace, Release: kept.Labels[v1alpha1.ReleaseLabel], Revision: revision.Revision, Outcome: revision.Outcome,
		Mark: revision.Mark, Time: revision.Released, Commit: revision.Commit, Author: revision.Author, Subject: revision.Subject, Took: revision.Took,
		Version: cell(show.VersionOf(revision.Images)),
	}
	annotations := kept.Annotations
	if began, err := time.Parse(time.RFC3339, annotations[v1alpha1.StartedAtAnnotation]); err == nil {
		one.began, one.took = began, max(0, one.Time.Sub(began))
	}
	switch v1alpha1.Outcome(revision.Outcome) {
	case v1alpha1.OutcomeReleased:
		one.released = revision.Number != 1 // the first is the first deployment
	case v1alpha1.OutcomeRolledBackTo:
		one.failed, one.Mark = true, Waiting
	default:
		return one, false
	}
	if committed, err := time.Parse(time.RFC3339, annotations[v1alpha1.CommitTimeAnnotation]); err == nil && !one.failed && committed.Before(one.Time.Time) {
		one.lead = one.Time.Sub(committed)
		one.Lead = duration.HumanDuration(one.lead)
	}
	return one, !one.Time.IsZero()
}

// leftOf returns the past release that another one superseded. It failed if a gate was rejected, or
// it made no progress.
func leftOf(left *Superseded) Past {
	one := Past{
		Namespace: left.Namespace, Release: left.Release, Revision: cell(left.Revision), Outcome: string(left.Type), Mark: Waiting,
		Version: cell(show.VersionOf(strings.Join(left.Images, ","))), Time: Moment{left.Time.Time}, Commit: plain.Commit(left.Commit), Author: cell(left.Author),
	}
	if left.State.WentWrong() {
		one.failed, one.Mark, one.Outcome = true, Bad, one.Outcome+" when "+string(left.State)
	}
	return one
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// figures sets the four DORA figures, as far as the histories show them, over the time that they
// cover.
func (h *History) figures(past []Past, covered time.Duration) {
	var released, back int
	var leads, tooks, restores []time.Duration
	for i := range past {
		one := &past[i]
		if one.failed {
			back++
			if one.took > 0 {
				restores = append(restores, one.took)
			}
		}
		if !one.released {
			continue
		}
		released++
		tooks = append(tooks, one.took)
		if one.lead > 0 {
			leads = append(leads, one.lead)
		}
	}
	h.Frequency = fmt.Sprintf("%.1f", float64(released)*float64(oneDay)/float64(covered))
	h.LeadTime, h.Duration, h.Restore = median(leads), median(tooks), median(restores)
	h.Failures = "none"
	if back > 0 {
		h.Failures = fmt.Sprintf("%d%%", back*100/(released+back))
	}
}

// median returns the middle of some times in words.
func median(times []time.Duration) string {
	if len(times) == 0 {
		return "not known"
	}
	slices.Sort(times)
	return duration.HumanDuration(times[len(times)/2])
}

// bars counts the releases of each day, the oldest first.
func (h *History) bars(past []Past) {
	released, failed := make([]int, h.Days), make([]int, h.Days)
	most := 1
	for i := range past {
		day := h.Days - 1 - int(h.Now.Sub(past[i].Time.Time)/oneDay)
		if past[i].failed {
			failed[day]++
		} else if past[i].released {
			released[day]++
		}
		most = max(most, released[day]+failed[day])
	}
	h.Most = most
	for day := range h.Days {
		good, bad := released[day]*historyHigh/most, failed[day]*historyHigh/most
		date := h.Now.Add(-time.Duration(h.Days-1-day) * oneDay).UTC().Format(time.DateOnly)
		h.Bars = append(h.Bars, Bar{
			Day: date, Text: fmt.Sprintf("%d released, %d rolled back", released[day], failed[day]), X: day * dayWidth, Width: dayWidth - barGap,
			Released: good, ReleasedY: historyHigh - good, Failed: bad, FailedY: historyHigh - good - bad,
		})
	}
	h.First, h.Last = h.Bars[0].Day, h.Bars[len(h.Bars)-1].Day
}
