package route

import (
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The most that the API takes: matches of a rule and of all rules, and conditions of a match.
const (
	mostMatches    = 64
	mostAllMatches = 128
	mostConditions = 16
)

// How a path and a value are compared if nothing is said, and the path of a rule that has none.
const (
	defaultPath = "/"
	byPrefix    = string(v1alpha1.PathPrefix)
	byExact     = string(v1alpha1.MatchExact)
)

// dialect describes how to read the matches of a kind of route.
type dialect struct{ grpc bool }

// both returns the match of requests for which a match of a rule and one of a step hold; nil if
// there can't be any.
func (d dialect) both(rule object, step *v1alpha1.RequestMatch, place string) (object, *problem) {
	if d.grpc && (step.Path != nil || len(step.QueryParams) > 0) {
		return nil, notShareable("the matches of a step can only name headers for a GRPCRoute")
	}
	match := clone(rule).(object)
	if match["path"] == nil && !d.grpc {
		match["path"] = object{"type": byPrefix, "value": defaultPath} // as the API server would
	}
	possible, bad := bothPaths(match, step.Path, place)
	if !possible || bad != nil {
		return nil, bad
	}
	for _, list := range []struct {
		field  string
		values []v1alpha1.ValueMatch
		same   func(a, b string) bool
	}{{"headers", step.Headers, strings.EqualFold}, {"queryParams", step.QueryParams, sameText}} {
		possible, bad := bothValues(match, list.field, list.values, list.same, place)
		if !possible || bad != nil {
			return nil, bad
		}
	}
	return match, nil
}

func sameText(a, b string) bool { return a == b }

// path is a condition on the path.
type path struct{ kind, value string }

func pathOf(match object, place string) (path, *problem) {
	given, bad := objectIn(match, "path", place)
	if bad != nil {
		return path{}, bad
	}
	return path{textOr(given["type"], byPrefix), textOr(given["value"], defaultPath)}, nil
}

func samePath(a, b object) bool {
	one, bad := pathOf(a, "")
	other, worse := pathOf(b, "")
	return bad == nil && worse == nil && one == other
}

func stepPath(p *v1alpha1.PathMatch) path {
	return path{textOr(nilIfEmpty(string(p.Type)), byPrefix), p.Value}
}

func nilIfEmpty(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// within reports whether all requests that a path holds for are below a prefix. Only a prefix or an
// exact path can be below one other than /.
func (p path) within(prefix path) bool {
	if prefix.kind != byPrefix {
		return false
	}
	below := strings.TrimRight(prefix.value, "/")
	switch p.kind {
	case byPrefix, byExact:
		return below == "" || p.value == below || strings.HasPrefix(p.value, below+"/")
	default:
		return below == ""
	}
}

// regular reports whether the matching paths are unknown: Sluice does not read regular expressions,
// whose syntax depends on the data plane.
func (p path) regular() bool { return p.kind != byPrefix && p.kind != byExact }

// bothPaths gives a match the path for which both conditions hold. It reports whether there can be
// one.
func bothPaths(match object, step *v1alpha1.PathMatch, place string) (bool, *problem) {
	if step == nil {
		return true, nil
	}
	given, bad := pathOf(match, place)
	if bad != nil {
		return false, bad
	}
	asked := stepPath(step)
	if !asked.regular() && !isPath(asked.value) {
		return false, notShareable("a route can't have the step's path %s: a path begins with /, and has no //, /./, /../ or #",
			quoted(asked.value))
	}
	switch {
	case given == asked, given.within(asked):
	case asked.within(given):
		match["path"] = object{"type": asked.kind, "value": asked.value}
	case given.regular() || asked.regular():
		return false, notShareable("%s.path and the step's path %s can't be combined, as one of them is a regular expression", place, quoted(asked.value))
	default:
		return false, nil
	}
	return true, nil
}

// isPath reports whether the API takes a prefix or an exact path. It leaves rare characters to it.
func isPath(value string) bool {
	if !strings.HasPrefix(value, "/") || strings.HasSuffix(value, "/..") || strings.HasSuffix(value, "/.") {
		return false
	}
	for _, no := range []string{"//", "/./", "/../", "%2f", "%2F", "#"} {
		if strings.Contains(value, no) {
			return false
		}
	}
	return true
}

// value is a condition on a header or a query parameter.
type value struct{ kind, name, value string }

// bothValues adds conditions to those of a match. It reports whether all of them can hold.
func bothValues(match object, field string, add []v1alpha1.ValueMatch, same func(a, b string) bool, place string) (bool, *problem) {
	if len(add) == 0 {
		return true, nil
	}
	given, bad := listIn(match, field, place)
	if bad != nil {
		return false, bad
	}
	for i := range add {
		asked := value{textOr(nilIfEmpty(string(add[i].Type)), byExact), add[i].Name, add[i].Value}
		has := find(given, asked.name, same)
		switch {
		case has == nil:
			given = append(given, object{"type": asked.kind, "name": asked.name, "value": asked.value})
		case has.kind == asked.kind && has.value == asked.value:
		case has.kind == byExact && asked.kind == byExact:
			return false, nil
		default:
			return false, notShareable("%s.%s and the step have two conditions for %s that can't be combined", place, field, quoted(asked.name))
		}
	}
	if len(given) > mostConditions {
		return false, notShareable("%s.%s would have %d conditions with those of the step, and the API takes at most %d",
			place, field, len(given), mostConditions)
	}
	match[field] = listOf(given)
	return true, nil
}

// find returns the condition for a name; nil if there is none.
func find(values []object, name string, same func(a, b string) bool) *value {
	for _, v := range values {
		if same(text(v["name"]), name) {
			return &value{textOr(v["type"], byExact), text(v["name"]), text(v["value"])}
		}
	}
	return nil
}

// implied reports whether a match holds only for requests for which one of the step does.
func implied(match object, step []v1alpha1.RequestMatch) bool {
	for i := range step {
		if implies(match, &step[i]) {
			return true
		}
	}
	return false
}

func implies(match object, step *v1alpha1.RequestMatch) bool {
	if step.Path != nil {
		given, bad := pathOf(match, "")
		if asked := stepPath(step.Path); bad != nil || given != asked && !given.within(asked) {
			return false
		}
	}
	return impliesAll(match, "headers", step.Headers, strings.EqualFold) && impliesAll(match, "queryParams", step.QueryParams, sameText)
}

func impliesAll(match object, field string, asked []v1alpha1.ValueMatch, same func(a, b string) bool) bool {
	given, bad := listIn(match, field, "")
	if bad != nil {
		return false
	}
	for i := range asked {
		has := find(given, asked[i].Name, same)
		if has == nil || has.kind != textOr(nilIfEmpty(string(asked[i].Type)), byExact) || has.value != asked[i].Value {
			return false
		}
	}
	return true
}
