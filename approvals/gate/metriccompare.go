package gate

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/judge"
)

// compare adds a reading to the comparison of a metric, and decides it.
func compare(status *v1alpha1.MetricStatus, check MetricCheck, reading MetricReading, among int) {
	before := status.Compared
	if before == nil {
		before = &v1alpha1.Compared{}
	}
	rules, verdicts := rulesOf(check.Compare).Among(among*len(reading.Looks)), []Replayed(nil)
	after := &v1alpha1.Compared{Rules: rulesWords(rules)}
	for _, look := range reading.Looks {
		evidence, err := evidenceAt(before.Bounds, look.Bound)
		if err == nil {
			evidence, err = evidence.Add(look.Look)
		}
		if err != nil {
			status.Trouble, status.Message = v1alpha1.TroubleBadAnswer, "the counters contradict each other: "+err.Error()
			return
		}
		text, err := evidence.MarshalText()
		if err != nil {
			status.Trouble, status.Message = v1alpha1.TroubleBadAnswer, err.Error()
			return
		}
		after.Bounds = append(after.Bounds, v1alpha1.ComparedBound{Bound: look.Bound, Evidence: string(text)})
		verdicts = append(verdicts, Replayed{look.Bound, evidence, evidence.Verdict(rules)})
	}
	if len(verdicts) == 0 {
		return
	}
	nearest := slices.MaxFunc(verdicts, func(a, b Replayed) int { return compareFloats(a.Low, b.Low) })
	count(after, nearest)
	after.Trail = follow(before.Trail, after, reading.At)
	status.Compared, status.Outcome = after, outcomeOf(verdicts)
	status.Message = wordsOfComparison(status, check, nearest, reading)
}

func compareFloats(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// evidenceAt returns the evidence at a bound.
func evidenceAt(bounds []v1alpha1.ComparedBound, bound string) (judge.Evidence, error) {
	for i := range bounds {
		if bounds[i].Bound == bound {
			return judge.Parse([]byte(bounds[i].Evidence))
		}
	}
	return judge.New(), nil
}

// rulesOf returns the rules of a comparison that Validate accepts.
func rulesOf(policy *v1alpha1.CompareMetric) judge.Rules {
	rules := judge.Default()
	if ratio, err := strconv.ParseFloat(policy.Worse, 64); err == nil {
		rules.Worse = ratio
	}
	if floor, err := strconv.ParseFloat(policy.Floor, 64); err == nil {
		rules.Floor = floor
	}
	return rules
}

// outcomeOf returns what the verdicts at all bounds come to.
func outcomeOf(verdicts []Replayed) v1alpha1.MetricOutcome {
	has := func(outcome judge.Outcome) bool {
		return slices.ContainsFunc(verdicts, func(v Replayed) bool { return v.Outcome == outcome })
	}
	switch {
	case has(judge.Worse):
		return v1alpha1.MetricFailed
	case has(judge.NotYet):
		return ""
	case has(judge.Unfit):
		return v1alpha1.MetricUndecided
	}
	return v1alpha1.MetricPassed
}

// count writes what was counted at a bound, and the bounds of the ratio.
func count(c *v1alpha1.Compared, at Replayed) {
	version := func(n judge.Count, pods int) v1alpha1.ComparedVersion {
		return v1alpha1.ComparedVersion{Requests: int64(n.Requests), Errors: int64(n.Errors), Pods: int32(pods)}
	}
	c.New, c.Old = version(at.Evidence.New, at.Evidence.NewPods), version(at.Evidence.Old, at.Evidence.OldPods)
	c.Looks = int64(at.Evidence.Looks)
	if at.Low > 0 || at.High > 0 {
		c.Low = ratio(at.Low)
	}
	if at.High > 0 {
		c.High = ratio(at.High)
	}
}

// maxTrail is the number of points of a trail.
const maxTrail = 32

// follow adds a point to a trail. A trail that is full loses every second point first.
func follow(trail []v1alpha1.ComparedPoint, c *v1alpha1.Compared, at time.Time) []v1alpha1.ComparedPoint {
	var kept []v1alpha1.ComparedPoint
	for i, point := range trail {
		if len(trail) < maxTrail || i%2 == 0 {
			kept = append(kept, point)
		}
	}
	if c.New.Requests == 0 || c.Old.Requests == 0 {
		return kept
	}
	share := func(v v1alpha1.ComparedVersion) string { return number(float64(v.Errors) / float64(v.Requests)) }
	return append(kept, v1alpha1.ComparedPoint{Time: metav1.NewTime(at), New: share(c.New), Old: share(c.Old), Low: c.Low, High: c.High})
}

// ratio writes a ratio with two digits that matter.
func ratio(r float64) string {
	if r >= 10 {
		return strconv.FormatFloat(r, 'f', 0, 64)
	}
	return strconv.FormatFloat(r, 'f', 2, 64)
}

// wordsOfComparison says in a line how a comparison stands.
func wordsOfComparison(status *v1alpha1.MetricStatus, check MetricCheck, at Replayed, reading MetricReading) string {
	c, kind := status.Compared, "errors"
	if at.Bound != "" {
		kind = "slower than " + at.Bound
	}
	words := fmt.Sprintf("new %s, old %s %s", shareOf(c.New), shareOf(c.Old), kind)
	switch {
	case c.High != "":
		words += fmt.Sprintf(", %s to %s times as many", c.Low, c.High)
	case c.Low != "":
		words += fmt.Sprintf(", at least %s times as many", c.Low)
	}
	switch status.Outcome {
	case v1alpha1.MetricFailed:
		return "worse: " + words
	case v1alpha1.MetricPassed:
		if floor := check.Compare.Floor; floor != "" && at.Low == 0 {
			return fmt.Sprintf("fine, below %s: %s", floor, words)
		}
		return "fine: " + words
	case v1alpha1.MetricUndecided:
		return "pods of the old version differ too much to tell: " + words
	}
	if missing := len(reading.Gaps.Missing); missing > 0 {
		words += fmt.Sprintf("; nothing of %d pods, such as %s", missing, reading.Gaps.Missing[0])
	}
	if idle(reading.Looks) && !reading.Gaps.Held {
		words += "; no request since the measurement before"
	}
	rules, err := rulesIn(c.Rules)
	if err != nil { // written by rulesWords
		return "no verdict yet: " + words
	}
	return "no verdict yet: " + words + forecastWords(at.Evidence, rules, LookEvery(c, check.Interval, reading.At), check.Interval)
}

// idle reports whether looks have no request of any version.
func idle(looks []BoundLook) bool {
	return !slices.ContainsFunc(looks, func(at BoundLook) bool {
		old := slices.ContainsFunc(at.Look.Old, func(p judge.Part) bool { return p.Requests > 0 })
		return old || at.Look.New.Requests > 0
	})
}

// LookEvery returns the time between two looks so far: a server may read pods less often than the
// gate asks.
func LookEvery(c *v1alpha1.Compared, interval time.Duration, now time.Time) time.Duration {
	if len(c.Trail) == 0 || c.Looks < 2 {
		return interval
	}
	return max(interval, now.Sub(c.Trail[0].Time.Time)/time.Duration(c.Looks-1))
}

// shareOf writes the errors of a version as a share of its requests.
func shareOf(v v1alpha1.ComparedVersion) string {
	if v.Requests == 0 {
		return "0 of 0"
	}
	return fmt.Sprintf("%d of %d (%s %%)", v.Errors, v.Requests, plain.Number(100*float64(v.Errors)/float64(v.Requests), 2))
}
