package migrate

import (
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// selector is a selector of PromQL.
type selector struct {
	metric   string
	matchers []matcher
}

type matcher struct{ label, operator, value string }

// String writes the selector in PromQL.
func (s selector) String() string {
	if len(s.matchers) == 0 {
		return s.metric
	}
	parts := make([]string, len(s.matchers))
	for i, m := range s.matchers {
		parts[i] = m.label + m.operator + m.value
	}
	return s.metric + "{" + strings.Join(parts, ", ") + "}"
}

// ofBoth drops the matchers that select one version.
func (s selector) ofBoth() selector {
	s.matchers = slices.DeleteFunc(slices.Clone(s.matchers), func(m matcher) bool { return oneVersion.MatchString(m.value) })
	return s
}

// podLabels are usual labels for the pod of a series, but for pod.
var podLabels = []string{"kubernetes_pod_name", "pod_name", "kubernetes_pod"}

// podLabel returns the label for the pod of a series, and how compare names it.
func (s selector) podLabel() (label, field string) {
	for _, m := range s.matchers {
		if slices.Contains(podLabels, m.label) {
			return m.label, m.label
		}
	}
	return "pod", ""
}

// word matches a word of a query. A placeholder such as $(name) may stand in a range.
var word = regexp.MustCompile("^(?:" + `[a-zA-Z_:][a-zA-Z0-9_:]*|[0-9.]+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|` + "`[^`]*`" + `|\[[^\[\]]*\]|=~|!~|!=|[=(){},/*-])`)

// query is a query of PromQL as its words.
type query struct{ words []string }

// queryOf splits a query into words. False says that it has others than a plain one.
func queryOf(text string) (*query, bool) {
	q := &query{}
	for text = strings.TrimLeft(text, " \t\n"); text != ""; text = strings.TrimLeft(text, " \t\n") {
		one := word.FindString(text)
		if one == "" {
			return nil, false
		}
		q.words, text = append(q.words, one), text[len(one):]
	}
	return q, true
}

// take takes words off the start of the query, if it begins with these.
func (q *query) take(words ...string) bool {
	if len(q.words) < len(words) || !slices.Equal(q.words[:len(words)], words) {
		return false
	}
	q.words = q.words[len(words):]
	return true
}

// any takes one of several words off the start.
func (q *query) any(words ...string) bool {
	return slices.ContainsFunc(words, func(one string) bool { return q.take(one) })
}

func (q *query) next() string {
	if len(q.words) == 0 {
		return ""
	}
	one := q.words[0]
	q.words = q.words[1:]
	return one
}

// selector takes name{label="value", ...} off the start.
func (q *query) selector() (selector, bool) {
	s := selector{metric: q.next()}
	if s.metric == "" || !isName(s.metric) {
		return s, false
	}
	if !q.take("{") {
		return s, true
	}
	for !q.take("}") {
		m := matcher{q.next(), q.next(), q.next()}
		if !isName(m.label) || !slices.Contains([]string{"=", "!=", "=~", "!~"}, m.operator) || m.value == "" || !strings.ContainsAny(m.value[:1], "\"'`") {
			return s, false
		}
		s.matchers = append(s.matchers, m)
		q.take(",")
	}
	return s, true
}

func isName(text string) bool {
	return text != "" && (text[0] == '_' || text[0] == ':' || 'a' <= text[0] && text[0] <= 'z' || 'A' <= text[0] && text[0] <= 'Z')
}

// sum takes sum(rate(selector[5m])) off the start.
func (q *query) sum() (selector, bool) {
	if !q.take("sum", "(") {
		return selector{}, false
	}
	s, is := q.rate()
	return s, is && q.take(")")
}

func (q *query) rate() (selector, bool) {
	if !q.any("rate", "irate", "increase") || !q.take("(") {
		return selector{}, false
	}
	s, is := q.selector()
	return s, is && strings.HasPrefix(q.next(), "[") && q.take(")")
}

// ratio takes sum(rate(...)) / sum(rate(...)), or a hundred or one minus that, as a whole.
func (q *query) ratio() (above, below selector, is bool) {
	if q.any("1", "100") {
		q.any("-", "*")
	}
	if above, is = q.sum(); !is || !q.take("/") {
		return above, below, false
	}
	if below, is = q.sum(); !is {
		return above, below, false
	}
	q.take("*", "100")
	return above, below, len(q.words) == 0
}

// quantile takes histogram_quantile(0.99, sum(rate(x_bucket{...}[5m])) by (le)) as a whole.
func (q *query) quantile() (selector, bool) {
	if !q.take("histogram_quantile", "(") || q.next() == "" || !q.take(",") {
		return selector{}, false
	}
	before := q.take("sum", "by", "(", "le", ")", "(")
	if !before && !q.take("sum", "(") {
		return selector{}, false
	}
	s, is := q.rate()
	if !is || !q.take(")") || !before && !q.take("by", "(", "le", ")") {
		return selector{}, false
	}
	if is = q.take(")"); q.any("*", "/") { // another unit
		q.next()
	}
	return s, is && len(q.words) == 0 && strings.HasSuffix(s.metric, "_bucket")
}

var (
	// bad and good match values of labels that say how a request ended.
	bad  = regexp.MustCompile(`(?i)^.[\[(^]*([45]|fail|error)`)
	good = regexp.MustCompile(`(?i)^.[\[(^]*([123]|ok|succ|true)`)
	// opposite has the operators that match everything else.
	opposite = map[string]string{"=": "!=", "!=": "=", "=~": "!~", "!~": "=~"}
)

// compareOf returns the metric that compares the versions by what a query divides; nil if the query
// is not plainly such a one.
func compareOf(text string) *v1alpha1.CompareMetric {
	q, is := queryOf(text)
	if !is {
		return nil
	}
	latency := &query{slices.Clone(q.words)}
	if of, is := latency.quantile(); is {
		pod, field := of.podLabel()
		return &v1alpha1.CompareMetric{Buckets: "sum by (" + pod + ", le) (" + of.ofBoth().String() + ")", PodLabel: field}
	}
	above, below, is := q.ratio()
	if !is || len(above.matchers) != len(below.matchers)+1 {
		return nil
	}
	extra := slices.DeleteFunc(slices.Clone(above.matchers), func(m matcher) bool { return slices.Contains(below.matchers, m) })
	if len(extra) != 1 {
		return nil
	}
	m := extra[0]
	negative := strings.HasPrefix(m.operator, "!")
	switch {
	case bad.MatchString(m.value) && negative, good.MatchString(m.value) && !negative:
		m.operator = opposite[m.operator] // the query counts requests without an error
	case !bad.MatchString(m.value) && !good.MatchString(m.value):
		return nil
	}
	failed := above
	failed.matchers = slices.Clone(above.matchers)
	failed.matchers[slices.Index(above.matchers, extra[0])] = m
	pod, field := below.podLabel()
	return &v1alpha1.CompareMetric{
		Requests: "sum by (" + pod + ") (" + below.ofBoth().String() + ")", Errors: "sum by (" + pod + ") (" + failed.ofBoth().String() + ")", PodLabel: field,
	}
}

// offer offers a metric that compares in the place of a query that divides errors by requests.
func (t *translation) offer(o *object, name string, p *provider, shared v1alpha1.SharedMetric) {
	compare := compareOf(shared.Query.Query)
	if compare == nil {
		return
	}
	metric := v1alpha1.SharedMetric{Name: shared.Name, Arguments: shared.Arguments, MetricCheck: v1alpha1.MetricCheck{Compare: compare}}
	if checkShared(metric) != "" || slices.ContainsFunc(p.offers, func(o offer) bool { return o.metric.Name == shared.Name }) {
		return
	}
	what := "a share of requests"
	if compare.Buckets != "" {
		what = "a latency"
	}
	message := "is " + what + ", which compare judges without a threshold (docs/judge.md): the output has the metric as a comment"
	if strings.Contains(compare.Requests, `reporter="source"`) {
		message += `. Its series are those of clients' pods: write reporter="destination"`
	}
	o.report(Note, name, message)
	p.offers = append(p.offers, offer{
		words:  "compare judges " + shared.Name + " without a threshold (docs/judge.md). To use it, put this in the place of the metric in spec.metrics, and remove interval from its gate. The series must be those of the release's pods:",
		metric: metric,
	})
}
