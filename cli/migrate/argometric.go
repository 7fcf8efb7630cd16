package migrate

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/migrate/expr"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/measure/condition"
)

const (
	// maxCount is the number of measurements of a metric.
	maxCount = 10_000
	// maxShown is the length of a text of the input in a message.
	maxShown = 200
)

// notTranslated says that a metric is left out as a whole.
const notTranslated = "the metric is left out, because of what is listed for it"

// argoMetric is a metric of an AnalysisTemplate while it is translated.
type argoMetric struct {
	*argoTemplate

	o *object
	// used are the arguments of its query.
	used []*argument
	// path says where in an answer in JSON the result is.
	path []any
}

// metric translates a metric. False says that it is left out, which is reported.
func (t *argoTemplate) metric(o *object) (gateMetric, bool) {
	name := o.text("name")
	m := &argoMetric{argoTemplate: t, o: o}
	query := &v1alpha1.QueryMetric{Empty: v1alpha1.EmptyMeasured} // the conditions decide, as in Argo
	of, ok := m.provider(query)
	ok = ok && m.conditions(query)
	if !ok {
		return gateMetric{}, false
	}
	result := gateMetric{
		interval: m.time("interval", time.Second, time.Hour),
		delay:    m.time("initialDelay", 0, 24*time.Hour),
	}
	result.guard = m.limits(query, result.interval != nil)
	o.noEqual()
	shared := v1alpha1.SharedMetric{Name: labelOf(name, "metric"), Arguments: parametersOf(m.used), MetricCheck: v1alpha1.MetricCheck{Query: query}}
	if problem := checkShared(shared); problem != "" {
		o.report(LeftOut, "", problem)
		return gateMetric{}, false
	}
	if !t.room(o) {
		return gateMetric{}, false
	}
	result.provider = t.providerOf(&of, t.from())
	shared.Name = result.provider.add(shared, t.name)
	if shared.Name != name {
		o.report(Note, "name", "is written as "+shared.Name)
	}
	result.metric = v1alpha1.GateMetric{Name: shared.Name, Arguments: valuesOf(m.used), DryRun: t.isDryRun(name)}
	if !of.http {
		m.offer(o, "provider.prometheus.query", result.provider, shared)
	}
	return result, true
}

// use notes the arguments of a text.
func (m *argoMetric) use(used []*argument) {
	for _, a := range used {
		known := false
		for _, other := range m.used {
			known = known || other == a
		}
		if !known {
			m.used = append(m.used, a)
		}
	}
}

// time reads a duration that arguments may give.
func (m *argoMetric) time(name string, least, most time.Duration) *time.Duration {
	text, ok := m.fixed(m.o, name, m.o.text(name))
	if !ok {
		return nil
	}
	return m.o.duration(name, text, least, most)
}

// number reads a whole number that arguments may give.
func (m *argoMetric) number(name string, least int32) *int32 {
	text, ok := m.fixed(m.o, name, m.o.text(name))
	if !ok {
		return nil
	}
	n := m.o.whole(name, text, least)
	if n != nil && *n > maxCount {
		m.o.report(Changed, name, fmt.Sprintf("is written as %d, the most that Sluice takes", maxCount))
		*n = maxCount
	}
	return n
}

// conditions translates the conditions of a metric.
func (m *argoMetric) conditions(query *v1alpha1.QueryMetric) bool {
	if !m.o.has("successCondition") && !m.o.has("failureCondition") {
		query.Success = "true" // as in Argo, where only an error keeps it from success
		m.o.report(Note, "", "has no condition: each measurement is a success")
		return true
	}
	ok := true
	for name, to := range map[string]*string{"successCondition": &query.Success, "failureCondition": &query.Failure} {
		text := m.o.text(name)
		if text == "" {
			ok = ok && m.o.fields[name] == nil
			continue
		}
		known, is := m.fixed(m.o, name, text)
		if !is {
			ok = false
			continue
		}
		written, err := m.condition(known)
		if err != nil {
			m.o.report(LeftOut, name, fmt.Sprintf("can't be translated: %s. Write it in CEL (docs/migration.md#conditions): %s",
				plain.UpTo(plain.Line(err.Error()), maxShown), plain.UpTo(plain.Line(text), maxShown)))
			ok = false
			continue
		}
		*to = written
	}
	return ok
}

// condition translates a condition, and checks it by the rules of Sluice.
func (m *argoMetric) condition(text string) (string, error) {
	written, err := expr.ToCEL(text, m.path...)
	if err != nil {
		return "", err
	}
	if _, err := condition.Compile(written); err != nil {
		return "", errors.New("CEL does not take " + written)
	}
	return written, nil
}

// limits translates counts and limits. It reports whether the metric is one of a guard: it is
// measured until the release ends.
func (m *argoMetric) limits(query *v1alpha1.QueryMetric, repeated bool) bool {
	query.FailureLimit = m.number("failureLimit", -1)
	query.InconclusiveLimit = m.number("inconclusiveLimit", 0)
	if query.ErrorLimit = m.number("consecutiveErrorLimit", 0); query.ErrorLimit != nil {
		m.o.report(Changed, "consecutiveErrorLimit", "Argo aborts after that many errors in a row and one more; here a user decides on a gate then, and a guard waits")
	}
	count, successes := m.number("count", 0), m.number("consecutiveSuccessLimit", 0)
	if count != nil && *count == 0 {
		count = nil
	}
	switch {
	case successes != nil && *successes > 0:
		query.Successes, query.Count = successes, new(int32(0))
		if count != nil || !repeated {
			m.o.report(Changed, "consecutiveSuccessLimit", "Argo ends without a success after count measurements; here the metric is measured until that many succeed in a row, or until failureLimit")
		}
	case count == nil && repeated:
		m.o.report(Note, "interval", "without a count, the metric is measured until the release ends: it is in a guard")
		if query.InconclusiveLimit != nil || query.Success != "" && query.Failure != "" {
			m.o.report(Changed, "inconclusiveLimit", "inconclusive measurements pause a Rollout; a guard goes on")
		}
		return true
	case count != nil:
		query.Count = count
	}
	return false
}

func itoa(i int) string { return strconv.Itoa(i) }
