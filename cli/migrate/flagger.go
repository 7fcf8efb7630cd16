package migrate

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const (
	defaultCheckInterval = time.Minute
	// defaultWindow is the window of Flagger's queries.
	defaultWindow = "1m"
	// iterationsWithoutMesh is the number of checks of a Canary without traffic.
	iterationsWithoutMesh = 10
)

// canary is a Canary of Flagger while it is translated.
type canary struct {
	*translation

	o, spec, analysis *object
	name, namespace   string
	// values are the values of names in its queries for which Sluice has no variable.
	values map[string]string
	// mesh is the provider of its traffic, and server the address of its Prometheus.
	mesh, server string
	limits       v1alpha1.QueryMetric
}

// ofCanary says where the docs have the rest of a Canary.
const ofCanary = "is not a metric: docs/migration.md#from-flagger says what takes its place"

// inAnalysis says what takes the place of fields of an analysis.
var inAnalysis = map[string]string{
	"alerts":                "has no equal among gates: docs/operations.md has notices and alerts",
	"match":                 "is not a metric: matches in a step sends those requests to the new version",
	"mirror":                "has no equal: Sluice mirrors no requests",
	"mirrorWeight":          "has no equal: Sluice mirrors no requests",
	"webhooks":              "has no equal among metrics: a gate with job runs a test or a load, and manual or pullRequest takes the place of confirm-rollout and confirm-promotion",
	"sessionAffinity":       "has no equal: the route keeps sessions, if it can",
	"primaryReadyThreshold": "has no equal: a step waits for its pods",
	"canaryReadyThreshold":  "has no equal: a step waits for its pods",
}

// inSteps are fields of an analysis that the steps of a release take the place of.
var inSteps = []string{"maxWeight", "stepWeight", "stepWeightPromotion", "stepWeights"}

// translateFlagger translates the metrics of all Canaries, and the MetricTemplates without one.
func (t *translation) translateFlagger() {
	for _, o := range t.canaries {
		c := &canary{translation: t, o: o}
		if c.read() {
			c.translate()
		}
	}
	for _, template := range t.metricTemplates {
		if !template.used {
			template.translateAlone(t)
		}
	}
}

// read reads what all metrics of a Canary share. False says that there are none.
func (c *canary) read() bool {
	c.name, c.namespace = c.o.metadata()
	c.spec = c.o.child("spec")
	c.o.noEqual()
	if c.spec == nil {
		c.o.report(LeftOut, "", "has no spec: there is nothing to translate")
		return false
	}
	c.mesh, c.server = c.spec.text("provider"), cmp.Or(c.spec.text("metricsServer"), c.options.Prometheus)
	target := c.nameIn("targetRef", "")
	c.values = map[string]string{
		"service": c.nameIn("service", target), "ingress": c.nameIn("ingressRef", target), "route": c.nameIn("routeRef", target),
	}
	for _, name := range []string{"analysis", "canaryAnalysis"} {
		if c.analysis == nil {
			c.analysis = c.spec.child(name)
		}
	}
	c.spec.skip("suspend", "skipAnalysis", "revertOnDeletion", "progressDeadlineSeconds")
	c.spec.rest(Note, ofCanary)
	if c.analysis == nil {
		c.spec.report(Note, "", "has no analysis: there is nothing to translate")
	}
	return c.analysis != nil
}

// nameIn returns the name in a part of the spec, whose other fields are no metrics.
func (c *canary) nameIn(part, otherwise string) string {
	of := c.spec.child(part)
	if of == nil {
		return otherwise
	}
	name := of.text("name")
	if part == "targetRef" { // which workloadRef of the release has
		of.skip("apiVersion", "kind")
		of.noEqual()
	} else {
		c.spec.report(Note, part, ofCanary)
	}
	return cmp.Or(name, otherwise)
}

// translate translates the metrics of a Canary, and makes its gates.
func (c *canary) translate() {
	interval := c.analysis.duration("interval", c.analysis.text("interval"), 10*time.Second, time.Hour)
	if interval == nil {
		interval = new(defaultCheckInterval)
	}
	c.readLimits()
	var metrics []gateMetric
	for _, one := range c.analysis.list("metrics") {
		if metric, ok := c.metric(one); ok {
			metric.interval = interval
			metrics = append(metrics, metric)
		} else {
			one.report(LeftOut, "", notTranslated)
		}
	}
	for _, name := range inSteps {
		if c.analysis.has(name) {
			c.analysis.report(Note, name, "is not a metric: make a step with the gates for each weight (docs/migration.md#from-flagger)")
		}
	}
	for _, name := range c.analysis.names() {
		if !c.analysis.read[name] && inAnalysis[name] != "" && c.analysis.has(name) {
			c.analysis.report(LeftOut, name, inAnalysis[name])
		}
	}
	c.analysis.noEqual()
	if policies := gatesOf(metrics, false); len(policies) > 0 {
		c.result.gates = append(c.result.gates, gates{from: "Canary " + c.name, policies: policies})
	}
}

// readLimits reads when checks of a Canary end.
func (c *canary) readLimits() {
	threshold := c.analysis.whole("threshold", c.analysis.text("threshold"), 0)
	if threshold == nil || *threshold == 0 {
		threshold = new(int32(1))
	}
	c.limits.FailureLimit = new(*threshold - 1)
	c.analysis.report(Changed, "threshold", "Flagger counts the failed checks of all metrics and steps together, and errors of the server; here each metric of each gate may fail "+
		strconv.Itoa(int(*c.limits.FailureLimit))+" times, and waits for a server that does not answer")
	iterations := c.analysis.whole("iterations", c.analysis.text("iterations"), 0)
	if c.mesh == "kubernetes" && (iterations == nil || *iterations == 0) {
		iterations = new(int32(iterationsWithoutMesh))
	}
	if iterations == nil || *iterations == 0 {
		// A check that succeeds takes a Canary to its next weight, and a step to its end.
		c.limits.Count, c.limits.Successes = new(int32(0)), new(int32(1))
		return
	}
	c.limits.Count = new(min(*iterations, maxCount))
	c.analysis.report(Changed, "iterations", "Flagger repeats a check that failed; here count has the failed ones, too")
}

// metric translates a metric of a Canary. False says that it is left out, which is reported.
func (c *canary) metric(o *object) (gateMetric, bool) {
	name := o.text("name")
	query := *c.limits.DeepCopy()
	query.Empty = v1alpha1.EmptyFailed // as a check without a value is in Flagger
	r := &rendering{translation: c.translation, canary: c, o: o}
	window := o.text("interval")
	if window != "" {
		r.window = &window
	}
	var ok bool
	if query.Success, ok = rangeOf(o, name); !ok {
		return gateMetric{}, false
	}
	of, text, ok := c.source(r, name)
	o.noEqual()
	if !ok {
		return gateMetric{}, false
	}
	if r.variables != nil {
		r.variables.rest(Note, "is a variable that the query does not have")
	}
	query.Query = text
	shared := v1alpha1.SharedMetric{Name: labelOf(name, "metric"), Arguments: r.parameters, MetricCheck: v1alpha1.MetricCheck{Query: &query}}
	if problem := checkShared(shared); problem != "" {
		o.report(LeftOut, "", problem)
		return gateMetric{}, false
	}
	if !c.room(o) {
		return gateMetric{}, false
	}
	result := gateMetric{provider: c.providerOf(&of, "Canary "+c.name)}
	shared.Name = result.provider.add(shared, c.name)
	if shared.Name != name {
		o.report(Note, "name", "is written as "+shared.Name)
	}
	result.metric = v1alpha1.GateMetric{Name: shared.Name, Arguments: r.values}
	c.offer(o, "name", result.provider, shared)
	return result, true
}

// source returns the server of a metric, and its query in Sluice.
func (c *canary) source(r *rendering, name string) (server, string, bool) {
	r.variables = r.o.child("templateVariables")
	inline := r.o.text("query")
	if ref := r.o.child("templateRef"); ref != nil {
		return c.fromTemplate(r, ref)
	}
	where := "query"
	if inline == "" {
		where = "name"
		var is bool
		if inline, is = c.builtIn(r.o, name); !is {
			return server{}, "", false
		}
	}
	s := server{namespace: c.namespace, address: c.server}
	if problem := checkAddress(s.address); problem != "" {
		r.o.report(LeftOut, where, "its Prometheus "+problem+", as spec.metricsServer or with --prometheus")
		return server{}, "", false
	}
	text, ok := r.render(r.o, where, inline)
	return s, text, ok
}

// fromTemplate returns the server and the query of a MetricTemplate.
func (c *canary) fromTemplate(r *rendering, ref *object) (server, string, bool) {
	name, namespace := ref.text("name"), cmp.Or(ref.text("namespace"), c.namespace)
	ref.skip("apiVersion", "kind")
	ref.noEqual()
	i := slices.IndexFunc(c.metricTemplates, func(m *metricTemplate) bool {
		return m.name == name && (namespace == "" || m.namespace == "" || m.namespace == namespace)
	})
	if i < 0 {
		ref.report(LeftOut, "name", "is in none of the files: give the file with this MetricTemplate, too")
		return server{}, "", false
	}
	template := c.metricTemplates[i]
	template.used = true
	if namespace != c.namespace {
		ref.report(Changed, "namespace", "a MetricProvider is used in its own namespace alone: it is written for that of the Canary. Create its Secret there, too")
	}
	s, ok := template.server(c.namespace)
	if !ok {
		return server{}, "", false
	}
	text, ok := r.render(template.spec, "query", template.spec.text("query"))
	return s, text, ok
}

// rangeOf translates the values that are accepted to a condition.
func rangeOf(o *object, name string) (string, bool) {
	var parts []string
	bound := func(of *object, name, operator string) bool {
		text := of.text(name)
		if text == "" {
			return of.fields[name] == nil
		}
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			of.report(LeftOut, name, "is not a number: correct it")
			return false
		}
		parts = append(parts, "x "+operator+" "+doubleOf(value))
		return true
	}
	if within := o.child("thresholdRange"); within != nil {
		o.skip("threshold")
		ok := bound(within, "min", ">=")
		ok = bound(within, "max", "<=") && ok
		within.noEqual()
		if ok && parts == nil {
			return "size(result) > 0", true // any value will do
		}
		return "result.all(x, " + strings.Join(parts, " && ") + ")", ok
	}
	operator := "<="
	if name == successRate {
		operator = ">="
	}
	if !o.has("threshold") {
		o.report(Note, "", "has no thresholdRange: as in Flagger, the condition compares with 0")
		return "result.all(x, x " + operator + " 0.0)", true
	}
	ok := bound(o, "threshold", operator)
	return "result.all(x, " + strings.Join(parts, "") + ")", ok
}

// doubleOf writes a number as CEL reads a double.
func doubleOf(value float64) string {
	text := strconv.FormatFloat(value, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return text
}
