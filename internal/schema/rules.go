package schema

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// form is a form that CEL rules of the CRDs have, and what a JSON schema can say of it. Each rule
// has to have one, so that whoever writes a rule decides.
type form struct {
	rule *regexp.Regexp
	// says is nil where a schema can't say it: lint and the API server do.
	says func(match []string) map[string]any
}

var forms = []form{
	{regexp.MustCompile(`^self == oldSelf$`), nil},
	{regexp.MustCompile(`^!self\.contains\('\.\.'\) && `), nil},
	{regexp.MustCompile(`^!self\.exists\(s, type\(s\.replicas\) == int && int\(s\.replicas\) < 0\)$`), noNegativeStep},
	{regexp.MustCompile(`^self\.map\(s, .*\.isSorted\(\)$`), nil},
	{regexp.MustCompile(`^self\.filter\(g, has\(g\.pullRequest\)\)\.size\(\) <= 1$`), nil},
	{regexp.MustCompile(`^\[(has\(self\.\w+\)(?:, has\(self\.\w+\))*)\]\.filter\(is, is\)\.size\(\) == 1$`), exactlyOne},
	{regexp.MustCompile(`^type\(self\) == int \? int\(self\) >= 0 : string\(self\)\.matches\('([^']+)'\)$`), count},
	{regexp.MustCompile(`^duration\(self\) >=? duration\('[0-9]+s'\)(?: && duration\(self\) <= duration\('[0-9]+[smh]'\))?$`), duration},
	{regexp.MustCompile(`^self\[self\.size\(\)-1\]\.replicas == '(100%)'$`), someStep},
	{regexp.MustCompile(`^self\.apiVersion == '([^']+)' && self\.kind in \['([^']+(?:', '[^']+)*)'\]$`), kindsOnly},
	{regexp.MustCompile(`^(has\(self\.\w+\)) != (has\(self\.\w+\))$`), eitherOr},
	{regexp.MustCompile(`^\[has\(self\.requests\) && .*\]\.exists\(is, is\)$`), nil},
	{regexp.MustCompile(`^!\(has\(self\.\w+\) && has\(self\.\w+\)\)$`), nil},
	{regexp.MustCompile(`^!has\(self\.(?:arguments|count)\) \|\| `), nil},
	{regexp.MustCompile(`^self\.all\(g, has\(g\.metrics\)\)$`), nil},
	{regexp.MustCompile(`^!has\(self\.verify\) \|\| `), nil},
	{regexp.MustCompile(`^has\(self\.members\) == has\(oldSelf\.members\)$`), nil},
	{regexp.MustCompile(`^has\(self\.members\) \|\| has\(self\.strategy\.traffic\) \|\| !self\.strategy\.steps\.exists\(` + stepSays + `\)$`), trafficHasRoutes},
	{regexp.MustCompile(`^!?has\(self\.(?:members|train)\) \|\| `), nil},
	{regexp.MustCompile(`^!has\(self\.workloadRef\) \|\| self\.workloadRef\.kind (==|!=) '(\w+)' \|\| !has\(self\.strategy\.(\w+)\)( \|\| .*)?$`), notForKind},
	{regexp.MustCompile(`^!has\(self\.(\w+)\) \|\| !has\(self\.(?:(\w+)\.)?(\w+)\) \|\| self\.[\w.]+ != '(\w+)'$`), notBeside},
	{regexp.MustCompile(`^!has\(self\.follow\) \|\| (?:!has\(self\.rollback\) \|\| )?!self\.(?:strategy|rollback)\.steps\.exists\(s, has\(s\.gates\) && `), nil},
	{regexp.MustCompile(`^!has\(self\.config\) \|\| !has\(self\.follow\) && !has\(self\.members\)$`), nil},
	{regexp.MustCompile(`^size\(self\.metadata\.name\) <= ([0-9]+)$`), shortName},
	{regexp.MustCompile(`^has\(self\.success\) \|\| has\(self\.failure\)$`), nil},
	{regexp.MustCompile(`^has\(self\.\w+\)(?: \|\| \(has\(self\.\w+\) && self\.\w+\.size\(\) > 0\))+$`), someField},
	{regexp.MustCompile(`^!has\(self\.(\w+)\) \|\| self\.\w+ == 0 \|\| \(has\(self\.(\w+)\) && self\.\w+\)$`), needsOther},
	{regexp.MustCompile(`^!has\(self\.(\w+)\) \|\| self\.\w+\.size\(\) == 0 \|\| \(has\(self\.(\w+)\) && self\.\w+\)$`), listNeedsOther},
	{regexp.MustCompile(`^!has\(self\[self\.size\(\)-1\]\.traffic\) \|\| `), nil},
	{regexp.MustCompile(`^!has\(self\.traffic\) \|\| \(has\(self\.traffic\.allowOverload\) && `), nil},
	{regexp.MustCompile(`^!self\.exists\(s, \(type\(s\.replicas\) == int \? int\(s\.replicas\) == 0 : s\.replicas in \['0%', '00%'\]\) && `), noPodsNoTraffic},
	{regexp.MustCompile(`^!self\.exists\(` + stepSays + `\)$`), noTraffic},
	{regexp.MustCompile(`^!has\(self\.traffic\) \|\| self\.steps\.exists\(` + stepSays + `\)$`), routesHaveTraffic},
	{regexp.MustCompile(`^!has\(self\.traffic\) \|\| !self\.traffic\.routes\.exists\(r, r\.kind (!=|==) '(\w+)'\) \|\| !self\.steps\.exists\(`), matchesOfKind},
	{regexp.MustCompile(`^self\.all\(a, self\.filter\(b, .*\)\.size\(\) == 1\)$`), noneTwice},
	{regexp.MustCompile(`^self\.type == '(\w+)' \|\| \(self\.value\.matches\('([^']+)'\) && !self\.value\.matches\('([^']+)'\)\)$`), otherwiseText},
	{regexp.MustCompile(`^self\.type (!?)=+ '(\w+)' \|\| (!?)has\(self\.(\w+)\)$`), typeOrField},
	{regexp.MustCompile(`^self\.kind != '(\w+)' \|\| !has\(self\.(?:__)?([a-z]+)(?:__)?\)$`), kindWithout},
}

// addRules adds what a schema can express of the rules of a field.
func addRules(validations []any, to map[string]any) error {
	var all []any
	for _, validation := range validations {
		rule, _ := asObject(validation)["rule"].(string)
		says, err := sayRule(rule)
		if err != nil {
			return err
		}
		if says != nil {
			says["errorMessage"] = asObject(validation)["message"] // editors show it instead of a pattern
			all = append(all, says)
		}
	}
	if all != nil {
		to["allOf"] = all
	}
	return nil
}

// sayRule returns what a schema can say of a rule; nil if it can't say anything.
func sayRule(rule string) (map[string]any, error) {
	for _, f := range forms {
		match := f.rule.FindStringSubmatch(rule)
		switch {
		case match == nil:
		case f.says == nil:
			return nil, nil
		default:
			return f.says(match), nil
		}
	}
	return nil, fmt.Errorf("rule %q: has no form that is known here", rule)
}

func exactlyOne(match []string) map[string]any {
	var one []any
	for has := range strings.SplitSeq(match[1], ", ") {
		name := strings.TrimSuffix(strings.TrimPrefix(has, "has(self."), ")")
		one = append(one, map[string]any{"required": []any{name}})
	}
	return map[string]any{"oneOf": one}
}

var hasField = regexp.MustCompile(`has\(self\.(\w+)\)( && )?`)

// eitherOr says that one of two fields is given.
func eitherOr(match []string) map[string]any {
	return exactlyOne([]string{"", match[1] + ", " + match[2]})
}

// someField says that one of the fields is given; of a list, with an item.
func someField(match []string) map[string]any {
	var some []any
	for _, has := range hasField.FindAllStringSubmatch(match[0], -1) {
		given := map[string]any{"required": []any{has[1]}}
		if has[2] != "" {
			given["properties"] = map[string]any{has[1]: map[string]any{"minItems": 1}}
		}
		some = append(some, given)
	}
	return map[string]any{"anyOf": some}
}

// needsOther says that a number other than 0 is for objects with another field that is true.
func needsOther(match []string) map[string]any { return unless(match, map[string]any{"const": 0}) }

// listNeedsOther says so of a list with items.
func listNeedsOther(match []string) map[string]any {
	return unless(match, map[string]any{"maxItems": 0})
}

// unless says that a field is absent or has a harmless value, or that another one is true.
func unless(match []string, harmless map[string]any) map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"properties": map[string]any{match[1]: harmless}},
		map[string]any{"required": []any{match[2]}, "properties": map[string]any{match[2]: map[string]any{"const": true}}},
	}}
}

// kindWithout says that objects of a kind don't have a field.
func kindWithout(match []string) map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"properties": map[string]any{"kind": map[string]any{"not": map[string]any{"const": match[1]}}}},
		map[string]any{"not": map[string]any{"required": []any{match[2]}}},
	}}
}

// stepSays is that a step says something of requests.
const stepSays = `s, has\(s\.traffic\) \|\| \(has\(s\.matches\) && s\.matches\.size\(\) > 0\)`

func saysTraffic() map[string]any {
	return map[string]any{"anyOf": []any{
		map[string]any{"required": []any{"traffic"}},
		map[string]any{"required": []any{"matches"}, "properties": map[string]any{"matches": map[string]any{"minItems": 1}}},
	}}
}

func not(what map[string]any) map[string]any { return map[string]any{"not": what} }

func noTraffic([]string) map[string]any { return map[string]any{"items": not(saysTraffic())} }

func noPodsNoTraffic([]string) map[string]any {
	pods := map[string]any{"replicas": map[string]any{"not": map[string]any{"enum": []any{0, "0%", "00%"}}}}
	quiet := map[string]any{"traffic": map[string]any{"const": "0%"}, "matches": map[string]any{"maxItems": 0}}
	return map[string]any{"items": map[string]any{"anyOf": []any{map[string]any{"properties": pods}, map[string]any{"properties": quiet}}}}
}

// trafficHasRoutes says that steps say nothing of requests unless there are routes. Members of a
// train have routes.
func trafficHasRoutes([]string) map[string]any {
	strategy := map[string]any{"anyOf": []any{
		map[string]any{"required": []any{"traffic"}},
		map[string]any{"properties": map[string]any{"steps": noTraffic(nil)}},
	}}
	return map[string]any{"anyOf": []any{
		map[string]any{"required": []any{"members"}},
		map[string]any{"properties": map[string]any{"strategy": strategy}},
	}}
}

func routesHaveTraffic([]string) map[string]any {
	return map[string]any{"anyOf": []any{
		not(map[string]any{"required": []any{"traffic"}}),
		map[string]any{"properties": map[string]any{"steps": map[string]any{"contains": saysTraffic()}}},
	}}
}

// matchesOfKind says that the routes are of kinds that may have any matches, or else that those of
// the steps are few enough: headers only or, of an Ingress, one.
func matchesOfKind(match []string) map[string]any {
	kind, matches := map[string]any{"const": match[2]}, map[string]any{"items": map[string]any{"properties": map[string]any{
		"path": not(map[string]any{}), "queryParams": map[string]any{"maxItems": 0},
	}}}
	if match[1] == "==" {
		kind = not(kind)
		matches = map[string]any{"maxItems": 1, "items": map[string]any{"properties": map[string]any{"headers": map[string]any{"maxItems": 1}}}}
	}
	routes := map[string]any{"items": map[string]any{"properties": map[string]any{"kind": kind}}}
	steps := map[string]any{"items": map[string]any{"properties": map[string]any{"matches": matches}}}
	return map[string]any{"anyOf": []any{
		within(map[string]any{"routes": routes}, "traffic"),
		map[string]any{"properties": map[string]any{"steps": steps}},
	}}
}

func noneTwice([]string) map[string]any { return map[string]any{"uniqueItems": true} }

// otherwiseText says what a value that is not of a type is like.
func otherwiseText(match []string) map[string]any {
	value := map[string]any{"pattern": match[2], "not": map[string]any{"pattern": match[3]}}
	return map[string]any{"anyOf": []any{
		map[string]any{"required": []any{"type"}, "properties": map[string]any{"type": map[string]any{"const": match[1]}}},
		map[string]any{"properties": map[string]any{"value": value}},
	}}
}

// typeOrField has a field that only one type lacks or may have, or that one type needs.
func typeOrField(match []string) map[string]any {
	not := func(yes string, of map[string]any) map[string]any {
		if yes == "!" {
			return map[string]any{"not": of}
		}
		return of
	}
	kind := map[string]any{"properties": map[string]any{"type": not(match[1], map[string]any{"const": match[2]})}}
	return map[string]any{"anyOf": []any{kind, not(match[3], map[string]any{"required": []any{match[4]}})}}
}

func count(match []string) map[string]any {
	return map[string]any{"minimum": 0, "pattern": match[1]}
}

// goDuration is any positive duration as Go reads it. How long it may be is not for a pattern to
// say.
const goDuration = `^\+?(([0-9]+\.?[0-9]*|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+$`

func duration([]string) map[string]any {
	return map[string]any{"pattern": goDuration}
}

// someStep says half of what is meant: a schema can't speak of the last item.
func someStep(match []string) map[string]any {
	step := map[string]any{
		"required":   []any{"replicas"},
		"properties": map[string]any{"replicas": map[string]any{"const": match[1]}},
	}
	return map[string]any{"contains": step}
}

func noNegativeStep([]string) map[string]any {
	return map[string]any{"items": map[string]any{"properties": map[string]any{"replicas": map[string]any{"minimum": 0}}}}
}

func kindsOnly(match []string) map[string]any {
	var kinds []any
	for kind := range strings.SplitSeq(match[2], "', '") {
		kinds = append(kinds, kind)
	}
	return map[string]any{"properties": map[string]any{
		"apiVersion": map[string]any{"const": match[1]},
		"kind":       map[string]any{"enum": kinds},
	}}
}

// notForKind says that a field of the strategy is for workloads of one kind, or for all but those.
// The rule may name a value that does no harm, or the only one that does.
func notForKind(match []string) map[string]any {
	kind := map[string]any{"const": match[2]}
	if match[1] == "!=" {
		kind = map[string]any{"not": kind}
	}
	allowed := map[string]any{"not": map[string]any{}}
	field := "self.strategy." + match[3]
	switch rest := strings.TrimPrefix(match[4], " || "); {
	case rest == "!"+field:
		allowed = map[string]any{"const": false}
	case rest == field+".size() == 0":
		allowed = map[string]any{"maxItems": 0}
	case strings.HasPrefix(rest, field+" != "):
		wrong := strings.Trim(strings.TrimPrefix(rest, field+" != "), "'")
		allowed = map[string]any{"not": map[string]any{"const": wrong}}
	}
	return map[string]any{"anyOf": []any{
		within(map[string]any{"kind": kind}, "workloadRef"),
		within(map[string]any{match[3]: allowed}, "strategy"),
	}}
}

// notBeside says that a field, of the object or of an object in it, does not have a value where
// another field is given.
func notBeside(match []string) map[string]any {
	other := map[string]any{match[3]: map[string]any{"not": map[string]any{"const": match[4]}}}
	allowed := map[string]any{"properties": other}
	if match[2] != "" {
		allowed = within(other, match[2])
	}
	return map[string]any{"anyOf": []any{not(map[string]any{"required": []any{match[1]}}), allowed}}
}

// within says something of the fields of an object in a field.
func within(fields map[string]any, name string) map[string]any {
	return map[string]any{"properties": map[string]any{name: map[string]any{"properties": fields}}}
}

func shortName(match []string) map[string]any {
	most, _ := strconv.Atoi(match[1]) // the form has digits there
	name := map[string]any{"maxLength": most}
	metadata := map[string]any{"properties": map[string]any{"name": name}}
	return map[string]any{"properties": map[string]any{"metadata": metadata}}
}
