package migrate

import (
	"fmt"
)

// given are the arguments that an analysis of a Rollout gives to a template.
type given struct {
	at              *object
	cluster         bool
	namespace, name string
	arguments       []*argument
	// background says that the analysis runs beside all steps.
	background bool
}

// isFor reports whether a template is meant. Manifests in Git often have no namespace.
func (g given) isFor(t *argoTemplate) bool {
	cluster := t.kind == clusterTemplate
	return g.name == t.name && g.cluster == cluster && (cluster || g.namespace == "" || t.namespace == "" || g.namespace == t.namespace)
}

// elsewhere says where the docs have the rest of a Rollout.
const elsewhere = "is not part of an analysis: docs/migration.md#from-argo-rollouts says what takes its place"

// takeRollout reads the arguments that a Rollout gives to templates. The rest of a Rollout is no
// analysis.
func (t *translation) takeRollout(o *object) {
	_, namespace := o.metadata()
	spec := o.child("spec")
	o.noEqual()
	if spec == nil {
		return
	}
	strategy := spec.child("strategy")
	spec.rest(Note, elsewhere)
	if strategy == nil {
		return
	}
	if canary := strategy.child("canary"); canary != nil {
		t.takeSteps(canary, namespace)
	}
	if blueGreen := strategy.child("blueGreen"); blueGreen != nil {
		for _, name := range []string{"prePromotionAnalysis", "postPromotionAnalysis"} {
			t.takeAnalysis(blueGreen.child(name), namespace, false)
		}
		blueGreen.rest(Note, elsewhere)
	}
	strategy.rest(Note, elsewhere)
}

// takeSteps reads the analyses of a canary: beside its steps, and in them.
func (t *translation) takeSteps(canary *object, namespace string) {
	background := canary.child("analysis")
	if background != nil && background.has("startingStep") {
		background.report(LeftOut, "startingStep", "has no equal: a guard watches from the first step on")
	}
	t.takeAnalysis(background, namespace, true)
	for _, step := range canary.list("steps") {
		t.takeAnalysis(step.child("analysis"), namespace, false)
		if step.has("experiment") {
			step.report(LeftOut, "experiment", "has no equal: compare judges the new version against the old one in the release itself (docs/judge.md)")
		}
		step.rest(Note, elsewhere)
	}
	canary.rest(Note, elsewhere)
}

// takeAnalysis reads the arguments for the templates of an analysis, if there is one.
func (t *translation) takeAnalysis(o *object, namespace string, background bool) {
	if o == nil {
		return
	}
	var arguments []*argument
	for _, one := range o.list("args") {
		a := &argument{name: one.text("name"), at: one}
		if one.has("value") {
			a.given = new(one.text("value"))
		}
		if from := one.child("valueFrom"); from != nil {
			a.variable = variableFrom(from)
			from.noEqual()
		}
		one.noEqual()
		arguments = append(arguments, a)
	}
	for _, one := range o.list("templates") {
		name := one.text("templateName")
		t.given = append(t.given, given{o, one.flag("clusterScope"), namespace, name, arguments, background})
		one.noEqual()
	}
	for i := range o.list("dryRun") {
		o.report(LeftOut, fmt.Sprintf("dryRun[%d]", i), "set dryRun of the metrics in the gate")
	}
	for i := range o.list("measurementRetention") {
		o.report(LeftOut, fmt.Sprintf("measurementRetention[%d]", i), "has no equal: a gate keeps the last 10 measurements of each metric")
	}
	o.noEqual()
}

// give gives a template the arguments of the command line, and else those of Rollouts.
func (t *argoTemplate) give() {
	fromRollouts := map[string]*argument{}
	for _, g := range t.given {
		if !g.isFor(t) {
			continue
		}
		for _, a := range g.arguments {
			before := fromRollouts[a.name]
			if before != nil && !a.same(before) {
				a.at.report(Changed, "", "another analysis gives another value, which the gate has: change the arguments of this step's gate")
				continue
			}
			fromRollouts[a.name] = a
		}
	}
	for _, a := range t.arguments {
		if value, is := t.options.Arguments[a.name]; is {
			if variable.MatchString(value) {
				a.variable = value
			} else {
				a.given = &value
			}
		} else if from := fromRollouts[a.name]; from != nil {
			a.variable, a.given = from.variable, from.given
		}
	}
}

// same reports whether two arguments have the same value.
func (a *argument) same(b *argument) bool {
	if a.variable != b.variable || (a.given == nil) != (b.given == nil) {
		return false
	}
	return a.given == nil || *a.given == *b.given
}
