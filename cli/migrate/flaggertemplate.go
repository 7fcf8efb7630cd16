package migrate

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// metricTemplate is a MetricTemplate of Flagger.
type metricTemplate struct {
	spec            *object
	name, namespace string
	// used says that a Canary names it.
	used bool
}

// takeMetricTemplate reads a MetricTemplate.
func (t *translation) takeMetricTemplate(o *object) {
	template := &metricTemplate{}
	template.name, template.namespace = o.metadata()
	template.spec = o.child("spec")
	o.noEqual()
	if template.spec == nil {
		o.report(LeftOut, "", "has no spec: there is nothing to translate")
		return
	}
	t.result.Analyses++
	template.spec.skip("query", "provider")
	template.spec.noEqual()
	t.metricTemplates = append(t.metricTemplates, template)
}

// server translates the provider of a template for a namespace.
func (m *metricTemplate) server(namespace string) (server, bool) {
	o := m.spec.child("provider")
	if o == nil {
		m.spec.report(LeftOut, "provider", "is missing: there is nothing to measure")
		return server{}, false
	}
	if kind := o.text("type"); kind != "prometheus" {
		advice := cmp.Or(withoutEqual[kind], inPrometheus)
		o.report(LeftOut, "type", advice)
		return server{}, false
	}
	s := server{namespace: namespace, address: o.text("address")}
	if problem := checkAddress(s.address); problem != "" {
		o.report(LeftOut, "address", problem)
		return server{}, false
	}
	if o.flag("insecureSkipVerify") {
		o.report(LeftOut, "insecureSkipVerify", "has no equal: add the certificate of the server's authority as ca.crt to the Secret of the MetricProvider")
	}
	if ref := o.child("secretRef"); ref != nil {
		if name := ref.text("name"); isObjectName(name) {
			s.secret = name
			o.report(Changed, "secretRef", "the Secret stays; if it has the key token, name that bearerToken")
		} else {
			ref.report(LeftOut, "name", "is not the name of a Secret: correct it")
		}
		ref.noEqual()
	}
	if headers := o.child("headers"); headers != nil {
		m.headers(&s, headers)
	}
	o.noEqual()
	return s, true
}

// headers translates headers. Values that may be secret go to a Secret.
func (m *metricTemplate) headers(s *server, o *object) {
	for _, name := range o.names() {
		values, is := o.fields[name].([]any)
		if !is || len(values) != 1 || !headerName.MatchString(name) {
			o.has(name)
			o.report(LeftOut, name, "is not a header with one value: correct it")
			continue
		}
		value, _ := values[0].(string)
		o.has(name)
		switch {
		case isSecret(name):
			s.keep("header." + name)
			o.report(LeftOut, name, "create a Secret with the name of the MetricProvider, or use that of secretRef, with the key header."+name)
		case value == "" || strings.ContainsFunc(value, unseen):
			o.report(LeftOut, name, "is not the value of a header: correct it")
		default:
			s.addHeader(o, name, value)
		}
	}
}

// translateAlone translates a template that no Canary uses. Only a Canary has the condition.
func (m *metricTemplate) translateAlone(t *translation) {
	m.spec.report(LeftOut, "", "no Canary in the files uses it, and a metric of Sluice needs a condition: give the file with the Canary, or complete the metric that is written as a comment")
	s, ok := m.server(m.namespace)
	if !ok {
		return
	}
	r := &rendering{translation: t}
	text, ok := r.render(m.spec, "query", m.spec.text("query"))
	if !ok {
		return
	}
	p := t.providerOf(&s, "MetricTemplate "+m.name)
	p.offers = append(p.offers, offer{
		words:  "Add success or failure, a condition on result, to this metric of MetricTemplate " + m.name + ", and the metric to spec.metrics:",
		metric: v1alpha1.SharedMetric{Name: labelOf(m.name, "metric"), Arguments: r.parameters, MetricCheck: v1alpha1.MetricCheck{Query: &v1alpha1.QueryMetric{Query: text, Empty: v1alpha1.EmptyFailed}}},
	})
}

// rendering writes the query of a template as Sluice has it.
type rendering struct {
	*translation

	// canary is nil for a template without one, and o is its metric.
	canary    *canary
	o         *object
	variables *object
	// window is the interval of the metric; nil for Flagger's default.
	window *string
	// before is the query up to what is replaced.
	before string

	parameters []v1alpha1.MetricParameter
	values     []v1alpha1.MetricArgument
}

var (
	// action matches what Flagger replaces in a query.
	action = regexp.MustCompile(`\{\{\s*([a-z]+)(?:\.([A-Za-z_][A-Za-z0-9_]*))?\s*\}\}`)
	// revised matches queries that tell the pods of a version.
	oneVersion = regexp.MustCompile(`\$\((revision|stableRevision)\)`)
)

// ofBothVersions says what the name of the workload selects.
const ofBothVersions = "{{ target }} is the new version alone in Flagger, whose old one is target-primary; here the pods of both versions are of one workload. " +
	`Select those of the new version, such as pod=~"$(workload)-$(revision)-.*", or use compare`

// render writes a query of Flagger as Sluice does. False says that it can't be translated, which is
// reported.
func (r *rendering) render(o *object, name, text string) (string, bool) {
	if strings.Contains(text, "$(") {
		o.report(LeftOut, name, "has $( in it, which begins an argument in Sluice: write \\x24( in the text of a matcher")
		return "", false
	}
	ok := true
	text, fits := replaceAll(action, text, func(match, before string) string {
		r.before = before
		parts := action.FindStringSubmatch(match)
		written, known := r.written(o, name, parts[1], parts[2])
		ok = ok && known
		return written
	})
	switch text = strings.TrimSpace(text); {
	case !fits:
		o.report(LeftOut, name, tooLong)
		return "", false
	case text == "":
		o.report(LeftOut, name, "is empty: there is nothing to measure")
		return "", false
	case strings.Contains(text, "{{"):
		o.report(LeftOut, name, "has a template that has no equal: only {{ namespace }}, {{ target }}, {{ interval }}, {{ variables.name }} are translated, and those of service, ingress, route and name")
		return "", false
	}
	return text, ok
}

// written returns what takes the place of a name in a query.
func (r *rendering) written(o *object, field, word, of string) (string, bool) {
	switch word {
	case "namespace":
		return "$(namespace)", true
	case "target":
		o.report(Changed, field, ofBothVersions)
		return "$(workload)", true
	case "name":
		o.report(Changed, field, "{{ name }} is the name of the Canary; here it is that of the release")
		return "$(release)", true
	case "interval":
		if r.window != nil {
			return r.argument(o, field, "interval", *r.window)
		}
		r.parameter("interval", new(defaultWindow))
		return "$(interval)", true
	case "service", "ingress", "route":
		if r.canary == nil {
			r.parameter(word, nil)
			return "$(" + word + ")", true
		}
		return r.argument(o, field, word, r.canary.values[word])
	case "variables":
		return r.variable(o, field, of)
	}
	o.report(LeftOut, field, "has a name that Flagger does not know: correct the query")
	return "", false
}

// variable returns what takes the place of a variable of the metric.
func (r *rendering) variable(o *object, field, name string) (string, bool) {
	parameter := name
	if slices.Contains([]string{"namespace", "workload", "release", "revision", "stableRevision", "interval", "service", "ingress", "route"}, name) || !isParameter(name) {
		parameter = parameterOf("variables-" + name)
	}
	if r.canary == nil {
		r.parameter(parameter, nil)
		return "$(" + parameter + ")", true
	}
	if r.variables == nil || !r.variables.has(name) {
		r.o.report(LeftOut, "templateVariables", "lacks a variable of the query: add the argument "+parameter+" to the gate")
		r.parameter(parameter, nil)
		return "$(" + parameter + ")", true
	}
	return r.argument(o, field, parameter, r.variables.text(name))
}

// argument returns an argument with its value in the gate, or the value if no gate can give it.
func (r *rendering) argument(o *object, field, name, value string) (string, bool) {
	switch {
	case isFit(value) && gate.FitsAfter(r.before, value):
		r.parameter(name, nil)
		if !slices.ContainsFunc(r.values, func(a v1alpha1.MetricArgument) bool { return a.Name == name }) {
			r.values = append(r.values, v1alpha1.MetricArgument{Name: name, Value: value})
		}
		return "$(" + name + ")", true
	case strings.Contains(value, "$("):
		o.report(LeftOut, field, "an argument has a value with $( in it, which begins an argument in Sluice: write another value")
		return "", false
	}
	r.o.report(Changed, "", "the value of "+name+" has characters that an argument can't have there: it is written into the query")
	return value, true
}

func (r *rendering) parameter(name string, preset *string) {
	if !slices.ContainsFunc(r.parameters, func(p v1alpha1.MetricParameter) bool { return p.Name == name }) {
		r.parameters = append(r.parameters, v1alpha1.MetricParameter{Name: name, Default: preset})
	}
}

func isParameter(name string) bool { return parameter.MatchString(name) }
