package migrate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
)

// argument is an argument of an AnalysisTemplate.
type argument struct {
	name string
	// parameter is its name in Sluice.
	parameter string
	// preset is the default value; nil for none.
	preset *string
	// given is the value for this analysis; nil for none.
	given *string
	// variable is the variable of Sluice that it stands for, such as $(revision); empty for none.
	variable string
	// secret says where the value is kept; empty for none.
	secret string
	// used says that a translated metric has it.
	used bool
	at   *object
}

// value returns the value; nil if there is none.
func (a *argument) value() *string {
	if a.given != nil {
		return a.given
	}
	return a.preset
}

// flag returns the name as a user can copy it to a shell.
func (a *argument) flag() string {
	if parameter.MatchString(a.name) {
		return a.name
	}
	return "NAME"
}

// unfit are the characters that no value of an argument can have.
const unfit = "\"'`\\#%&?"

// isFit reports whether a gate can give a value.
func isFit(value string) bool {
	return utf8.RuneCountInString(value) <= maxValue && !strings.ContainsAny(value, unfit) && !strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// placeholder matches {{args.name}}, and any other text in double braces.
var placeholder = regexp.MustCompile(`\{\{([^{}]*)\}\}`)

// maxWritten bounds a text, and the values in place of its placeholders: each of many can be large.
const maxWritten = 8 * maxText

// replaceAll replaces what a pattern matches in a text. False says that it is too much.
func replaceAll(pattern *regexp.Regexp, text string, with func(match, before string) string) (string, bool) {
	var written strings.Builder
	end, room := 0, maxWritten
	if len(text) > room {
		return "", false
	}
	for _, place := range pattern.FindAllStringIndex(text, -1) {
		value := with(text[place[0]:place[1]], text[:place[0]])
		if room -= len(value); room < 0 {
			return "", false
		}
		written.WriteString(text[end:place[0]] + value)
		end = place[1]
	}
	return written.String() + text[end:], true
}

const tooLong = "is too long once the values of arguments are in it: shorten it, or them"

// variable matches the variables that each query can have.
var variable = regexp.MustCompile(`^\$\((namespace|workload|release|revision|stableRevision)\)$`)

// argumentNamed returns the argument that a placeholder names; nil if there is none.
func (t *argoTemplate) argumentNamed(tag string) *argument {
	name, is := strings.CutPrefix(strings.TrimSpace(tag), "args.")
	if !is {
		return nil
	}
	for _, a := range t.arguments {
		if a.name == name {
			return a
		}
	}
	return nil
}

// inQuery writes the arguments of a text as Sluice does: {{args.name}} is $(name). False says that
// the text can't be translated, which is reported.
func (t *argoTemplate) inQuery(o *object, name, text string, promQL bool) (string, []*argument, bool) {
	if strings.Contains(text, "$(") {
		o.report(LeftOut, name, "has $( in it, which begins an argument in Sluice: write \\x24( in the text of a matcher")
		return "", nil, false
	}
	var used []*argument
	ok := true
	text, fits := replaceAll(placeholder, text, func(match, before string) string {
		a := t.argumentNamed(match[2 : len(match)-2])
		switch {
		case a == nil:
			o.report(LeftOut, name, "names an argument that the template does not have")
			ok = false
			return match
		case a.variable != "":
			a.used = true
			return a.variable
		case a.secret != "":
			o.report(LeftOut, name, "has a value of a Secret, which no query can have: let the MetricProvider send it as a header")
			ok = false
			return match
		}
		a.used = true
		if value := a.value(); value != nil && (!isFit(*value) || promQL && !gate.FitsAfter(before, *value)) {
			if strings.Contains(*value, "$(") {
				o.report(LeftOut, name, "an argument has a value with $( in it, which begins an argument in Sluice: write another value")
				ok = false
			}
			o.report(Changed, name, fmt.Sprintf("the value of argument %s has characters that an argument can't have there: it is written into the text", a.name))
			return *value
		}
		if !slices.Contains(used, a) {
			used = append(used, a)
		}
		return "$(" + a.parameter + ")"
	})
	if !fits {
		o.report(LeftOut, name, tooLong)
		return "", nil, false
	}
	if ok && strings.Contains(text, "{{") {
		o.report(LeftOut, name, "has {{ without an argument: remove it")
		ok = false
	}
	return text, used, ok
}

// fixed writes the values of arguments into a text that takes no arguments in Sluice.
func (t *argoTemplate) fixed(o *object, name, text string) (string, bool) {
	ok := true
	text, fits := replaceAll(placeholder, text, func(match, _ string) string {
		a := t.argumentNamed(match[2 : len(match)-2])
		switch {
		case a == nil:
			o.report(LeftOut, name, "names an argument that the template does not have")
		case a.value() == nil:
			o.report(LeftOut, name, fmt.Sprintf("takes no arguments in Sluice, and %s has no value: give --arg %s=VALUE, or write the value here", a.name, a.flag()))
		default:
			a.used = true
			o.report(Changed, name, fmt.Sprintf("takes no arguments in Sluice: it is written with the value of %s", a.name))
			return *a.value()
		}
		ok = false
		return match
	})
	if !fits {
		o.report(LeftOut, name, tooLong)
		return "", false
	}
	if ok && strings.Contains(text, "{{") {
		o.report(LeftOut, name, "has {{ without an argument: remove it")
		ok = false
	}
	return text, ok
}

// parametersOf returns the arguments of a shared metric.
func parametersOf(used []*argument) []v1alpha1.MetricParameter {
	var all []v1alpha1.MetricParameter
	for _, a := range used {
		one := v1alpha1.MetricParameter{Name: a.parameter}
		if a.preset != nil && isFit(*a.preset) {
			one.Default = new(*a.preset)
		}
		all = append(all, one)
	}
	return all
}

// valuesOf returns the arguments that a gate gives, and reports those that it lacks.
func valuesOf(used []*argument) []v1alpha1.MetricArgument {
	var all []v1alpha1.MetricArgument
	for _, a := range used {
		switch {
		case a.given != nil:
			all = append(all, v1alpha1.MetricArgument{Name: a.parameter, Value: *a.given})
		case a.preset == nil:
			a.at.report(LeftOut, "", fmt.Sprintf("has no value: give --arg %s=VALUE or a file with the Rollout, or add the argument %s to the gate. For a hash of pods, give --arg '%s=$(revision)'", a.flag(), a.parameter, a.flag()))
		}
	}
	return all
}
