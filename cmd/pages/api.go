package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const apiHead = `<!-- Written by make generate from the comments in api/v1alpha1: change those. -->
# API reference

The CRDs of ` + "`rollouts.sluice.dev/v1alpha1`" + ` and their fields, each in a sentence or two. ` + "`kubectl explain batchrelease.spec.strategy`" + `
prints the whole description of a field. Fields without a default are optional unless they say "Required".
`

// apiKinds are the sections of the page.
var apiKinds = []string{"BatchRelease", "ReleaseSource", "Gate"}

// opaque are types of the status that only Sluice reads.
var opaque = []string{
	"ApprovalRecord", "EarlierJump", "EnteredStep", "ForgeReport", "HeldWorkload", "NamedAccount", "OrderStatus", "Progress", "ResolvedTemplate",
	"TrafficEnding",
}

// apiWriter writes the types that it meets, each once.
type apiWriter struct {
	strings.Builder
	api     map[string]*apiType
	written map[string]bool
}

// apiPage lists the kinds of the API and the types of their fields, in the order of the fields.
func apiPage(folder string) (string, error) {
	api, err := apiOf(folder)
	if err != nil {
		return "", err
	}
	w := &apiWriter{api: api, written: map[string]bool{}}
	w.WriteString(apiHead)
	for _, kind := range apiKinds {
		of := api[kind]
		if of == nil {
			return "", fmt.Errorf("%s has no kind %s", folder, kind)
		}
		fmt.Fprintf(w, "\n## %s\n\n%s\n", kind, of.doc)
		for _, field := range of.fields {
			// Users write no Gate, and no status.
			w.walk(field, kind != "Gate" && field.name == "spec")
		}
	}
	return w.String(), nil
}

// walk writes the type of a field, and then the types of its fields. A type that users give has
// more text.
func (w *apiWriter) walk(field apiField, given bool) {
	of := w.section(field)
	if of == nil || w.written[of.name] {
		return
	}
	w.written[of.name] = true
	fmt.Fprintf(w, "\n### %s\n\n", of.name)
	if given {
		w.WriteString(some(of.doc, 1) + "\n\n")
	}
	if len(of.fields) == 0 {
		w.WriteString("| value | meaning |\n|---|---|\n")
		for _, value := range of.values {
			_, meaning, _ := strings.Cut(value.doc, ": ")
			fmt.Fprintf(w, "| `%s` | %s |\n", value.name, cell(capital(meaning)))
		}
		return
	}
	w.WriteString("| field | description |\n|---|---|\n")
	fields := w.flat(of)
	for _, f := range fields {
		fmt.Fprintf(w, "| `%s` _%s_ | %s |\n", f.name, w.typeOf(f), cell(w.describe(f, given)))
	}
	for _, f := range fields {
		w.walk(f, given)
	}
}

// section returns the type of a field if it has a section: if it has fields, or values that are
// explained.
func (w *apiWriter) section(field apiField) *apiType {
	of := w.api[field.of]
	if of == nil || field.from != "" || slices.Contains(opaque, of.name) {
		return nil
	}
	explained := slices.ContainsFunc(of.values, func(v apiValue) bool { return v.doc != "" })
	if len(of.fields) == 0 && !explained {
		return nil
	}
	return of
}

// flat returns the fields of a type, with those that it inlines.
func (w *apiWriter) flat(of *apiType) []apiField {
	var all []apiField
	for _, field := range of.fields {
		if inlined := w.api[field.of]; field.inline && inlined != nil {
			all = append(all, w.flat(inlined)...)
		} else if !field.inline {
			all = append(all, field)
		}
	}
	return all
}

// plainTypes are the names of types that have no section.
var plainTypes = map[string]string{
	"bool": "boolean", "int32": "integer", "int64": "integer", "Time": "time", "Duration": "duration", "UID": "string",
	"IntOrString": "integer or string", "RawExtension": "object",
	"Condition": "[Condition](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#condition-v1-meta)",
}

func (w *apiWriter) typeOf(field apiField) string {
	name, plain := plainTypes[field.of]
	of := w.api[field.of]
	switch {
	case w.section(field) != nil:
		name = "[" + field.of + "](#" + strings.ToLower(field.of) + ")"
	case of != nil && len(of.values) > 0:
		name = "string"
	case of != nil:
		name = "object"
	case !plain:
		name = field.of
	}
	if field.list {
		return name + " list"
	}
	return name
}

// describe returns what a field is, and of fields that users give what they can give.
func (w *apiWriter) describe(field apiField, given bool) string {
	doc := withoutName(field.doc, field.golang)
	of := w.api[field.of]
	if doc == "" && of != nil && field.from == "" {
		doc = withoutName(of.doc, of.name)
	}
	if !given {
		return some(doc, 1)
	}
	most := 2
	if of != nil && len(of.values) > 0 {
		most = 3 // they tell what the values mean
	}
	_, hasDefault := field.markers["default"]
	parts := []string{}
	for i, sentence := range sentences(doc) {
		if isDefault := strings.HasPrefix(sentence, "Default"); !isDefault && i < most || isDefault && !hasDefault {
			parts = append(parts, sentence)
		}
	}
	return strings.Join(append(parts, w.rules(field)...), " ")
}

// rules returns the values that a field can have, one sentence for each rule.
func (w *apiWriter) rules(field apiField) []string {
	var rules []string
	if !field.optional {
		rules = append(rules, "Required.")
	}
	preset := strings.Trim(field.markers["default"], `"`)
	if values := w.valuesOf(field); len(values) > 1 {
		for i, value := range values {
			if values[i] = "`" + value + "`"; value == preset {
				values[i] += " (default)"
			}
		}
		rules = append(rules, strings.Join(values, " or ")+".")
	} else if preset != "" {
		rules = append(rules, "Default `"+preset+"`.")
	}
	for _, limit := range []struct{ least, most, of string }{
		{"Minimum", "Maximum", ""}, {"MinItems", "MaxItems", " items"},
	} {
		least, most := field.markers[limit.least], field.markers[limit.most]
		switch {
		case field.of == "IntOrString":
		case least != "" && most != "":
			rules = append(rules, least+" to "+most+limit.of+".")
		case least != "":
			rules = append(rules, "At least "+least+limit.of+".")
		case most != "":
			rules = append(rules, "At most "+most+limit.of+".")
		}
	}
	return rules
}

// valuesOf returns the values of a field whose type has no section to list them.
func (w *apiWriter) valuesOf(field apiField) []string {
	if w.section(field) != nil {
		return nil
	}
	return strings.FieldsFunc(w.enumOf(field), func(r rune) bool { return r == ';' })
}

// enumOf returns the values that the API server takes, separated by semicolons.
func (w *apiWriter) enumOf(field apiField) string {
	if of := w.api[field.of]; of != nil && field.markers["Enum"] == "" {
		return of.markers["Enum"]
	}
	return field.markers["Enum"]
}

var sentenceEnd = regexp.MustCompile(`[.] +`)

// sentences splits a text.
func sentences(text string) []string {
	var all []string
	for text != "" {
		end := sentenceEnd.FindStringIndex(text)
		if end == nil {
			return append(all, text)
		}
		all, text = append(all, text[:end[0]+1]), text[end[1]:]
	}
	return all
}

// some returns the first sentences of a text.
func some(text string, most int) string {
	all := sentences(text)
	return strings.Join(all[:min(most, len(all))], " ")
}

var verb = regexp.MustCompile(`^(is|are|means that|[a-z]+s) `)

// withoutName takes the name of a field off its comment: "Steps are the batches" becomes "The
// batches", and "Suspend stops the release" becomes "Stops the release".
func withoutName(doc, name string) string {
	rest, named := strings.CutPrefix(doc, name+" ")
	if !named || !verb.MatchString(rest) {
		return doc
	}
	for _, is := range []string{"is ", "are "} {
		rest = strings.TrimPrefix(rest, is)
	}
	if whether, ok := strings.CutPrefix(rest, "means that "); ok {
		rest = "true if " + whether
	}
	return capital(rest)
}

func capital(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// cell returns a text for the cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
