package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

const clusterTemplate = "ClusterAnalysisTemplate"

// argoTemplate is an AnalysisTemplate or ClusterAnalysisTemplate.
type argoTemplate struct {
	*translation

	kind, name, namespace string
	spec                  *object
	arguments             []*argument
	dryRun                []*regexp.Regexp
}

// takeArgo reads the arguments of a template.
func (t *translation) takeArgo(o *object, kind string) {
	template := &argoTemplate{translation: t, kind: kind}
	template.name, template.namespace = o.metadata()
	template.spec = o.child("spec")
	o.noEqual()
	if template.spec == nil {
		o.report(LeftOut, "", "has no spec: there is nothing to translate")
		return
	}
	t.result.Analyses++
	t.templates = append(t.templates, template)
	for _, one := range template.spec.list("args") {
		template.takeArgument(one)
	}
}

// takeArgument reads an argument of a template.
func (t *argoTemplate) takeArgument(o *object) {
	a := &argument{name: o.text("name"), at: o}
	switch {
	case a.name == "":
		o.report(LeftOut, "", "is an argument without a name: remove it")
		return
	case len(t.arguments) == maxOfTemplate:
		o.report(LeftOut, "", fmt.Sprintf("is one of more than %d arguments: make several templates", maxOfTemplate))
		return
	}
	t.asked[a.name] = true
	if o.has("value") {
		a.preset = new(o.text("value"))
	}
	if from := o.child("valueFrom"); from != nil {
		t.takeValueFrom(a, from)
	}
	o.noEqual()
	a.parameter = free(parameterOf(a.name), func(name string) bool {
		return slices.ContainsFunc(t.arguments, func(a *argument) bool { return a.parameter == name })
	})
	if a.parameter != a.name {
		o.report(Note, "name", "is not a name of an argument in Sluice: it is written as "+a.parameter)
	}
	t.arguments = append(t.arguments, a)
}

// takeValueFrom reads where an argument has its value from.
func (t *argoTemplate) takeValueFrom(a *argument, from *object) {
	if secret := from.child("secretKeyRef"); secret != nil {
		a.secret = "the Secret of " + from.path + "secretKeyRef"
		if name, key := secret.text("name"), secret.text("key"); isObjectName(name) && dataKey.MatchString(key) {
			a.secret = "key " + key + " of Secret " + name
		}
		secret.noEqual()
	}
	a.variable = variableFrom(from)
	from.noEqual()
}

// variableFrom returns the variable of Sluice for the hash or field that an argument has its value
// from; empty if there is none.
func variableFrom(from *object) string {
	if from.has("podTemplateHashValue") {
		switch from.text("podTemplateHashValue") {
		case "Latest":
			return "$(revision)"
		case "Stable":
			return "$(stableRevision)"
		}
		from.report(LeftOut, "podTemplateHashValue", "is neither Latest nor Stable: correct it")
	}
	at := from.child("fieldRef")
	if at == nil {
		return ""
	}
	defer at.noEqual()
	switch path := at.text("fieldPath"); path {
	case "metadata.namespace":
		return "$(namespace)"
	case "metadata.name":
		at.report(Note, "fieldPath", "is the name of the Rollout: the name of the workload takes its place")
		return "$(workload)"
	}
	at.report(LeftOut, "fieldPath", "has no equal: give the value with --arg")
	return ""
}

// from names the template for readers of the output.
func (t *argoTemplate) from() string { return t.kind + " " + t.name }

// translateArgo translates all AnalysisTemplates.
func (t *translation) translateArgo() {
	for _, template := range t.templates {
		template.give()
		template.translate()
	}
}

// translate translates the metrics of a template, and makes its gates.
func (t *argoTemplate) translate() {
	t.takeDryRun()
	var metrics []gateMetric
	waits := false
	for _, one := range t.spec.list("metrics") {
		metric, ok := t.metric(one)
		if ok {
			metrics = append(metrics, metric)
			waits = waits || !one.has("consecutiveErrorLimit")
		} else {
			one.report(LeftOut, "", notTranslated)
		}
	}
	if t.kind == clusterTemplate && len(metrics) > 0 {
		t.spec.report(Changed, "", "is for all namespaces, and a MetricProvider for one: apply it with kubectl -n in each namespace that has releases with its gates")
	}
	if waits {
		t.spec.report(Note, "metrics", "five errors of the server in a row end an analysis of Argo; a gate waits for the server. With errorLimit, a user decides")
	}
	for i, other := range t.spec.list("templates") {
		other.skip("clusterScope")
		t.spec.report(LeftOut, "templates["+itoa(i)+"]", "is a template whose metrics belong to the same analysis: add its gates to the same step, "+named("AnalysisTemplate", other.text("templateName")))
	}
	for i, one := range t.spec.list("measurementRetention") {
		one.skip("metricName", "limit")
		t.spec.report(LeftOut, "measurementRetention["+itoa(i)+"]", "has no equal: a gate keeps the last 10 measurements of each metric")
	}
	t.spec.noEqual()
	t.reportArguments()
	t.addGates(gatesOf(metrics, false))
	t.addGuards(gatesOf(metrics, true))
}

// addGates adds the gates of the template.
func (t *argoTemplate) addGates(policies []v1alpha1.GatePolicy) {
	if len(policies) == 0 {
		return
	}
	if len(policies) > 1 {
		t.spec.report(Note, "metrics", "have several servers, intervals or delays, or are more than 10: they make several gates, all for the same step")
	}
	for _, g := range t.given {
		if g.background && g.isFor(t) {
			g.at.report(Changed, "", "runs beside all steps; a metric with a count is in a gate: add the gate to each step that should wait for it")
		}
	}
	t.result.gates = append(t.result.gates, gates{from: t.from(), policies: policies})
}

// addGuards adds the guards of the template.
func (t *argoTemplate) addGuards(policies []v1alpha1.GatePolicy) {
	if len(policies) == 0 {
		return
	}
	if len(policies) > maxGuards {
		t.spec.report(LeftOut, "metrics", fmt.Sprintf("make %d guards, and a release has up to %d: give their metrics one interval", len(policies), maxGuards))
	}
	for _, g := range t.given {
		if !g.background && g.isFor(t) {
			g.at.report(Changed, "", "belongs to one step; a metric without a count never ends, and is in a guard of the whole release")
		}
	}
	t.result.gates = append(t.result.gates, gates{from: t.from(), guards: true, policies: policies})
}

// maxPattern is the length of a pattern of names: each is matched against each metric.
const maxPattern = 100

// takeDryRun reads the patterns of metrics that decide nothing.
func (t *argoTemplate) takeDryRun() {
	for _, one := range t.spec.list("dryRun") {
		text := one.text("metricName")
		one.noEqual()
		if len(text) > maxPattern || strings.Contains(text, "{") {
			one.report(LeftOut, "metricName", "is long, or repeats something many times: set dryRun of the metrics in the gate")
			continue
		}
		pattern, err := regexp.Compile(text)
		if err != nil || one.fields["metricName"] == nil || len(t.dryRun) == maxOfTemplate {
			one.report(LeftOut, "metricName", "is not a regular expression: set dryRun of the metrics in the gate")
			continue
		}
		t.dryRun = append(t.dryRun, pattern)
	}
}

// isDryRun reports whether the metric of a name decides nothing.
func (t *argoTemplate) isDryRun(name string) bool {
	return slices.ContainsFunc(t.dryRun, func(pattern *regexp.Regexp) bool { return pattern.MatchString(name[:min(len(name), maxName)]) })
}

// reportArguments reports the arguments without a value or a use.
func (t *argoTemplate) reportArguments() {
	for _, a := range t.arguments {
		if !a.used {
			a.at.report(Note, "", "is an argument that no translated metric has")
		}
	}
}

// named names an object of the input, if it can have the name.
func named(kind, name string) string {
	if isObjectName(name) {
		return "those of " + kind + " " + name
	}
	return "if the name is right"
}

// bearer matches a header with a token.
var bearer = regexp.MustCompile(`^(?i:bearer)\s+(\S.*)$`)

// isSecret reports whether a header mostly holds a secret.
func isSecret(name string) bool {
	name = strings.ToLower(name)
	for _, word := range []string{"auth", "cookie", "key", "token", "secret", "password", "credential"} {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}
