package route

import (
	"cmp"
	"slices"
	"strings"
)

// requests are those for which a match holds.
type requests struct {
	path path
	// verb is the method of HTTP; empty for all.
	verb string
	// rpc holds the way in which a method of gRPC is compared with service and method; empty for all.
	rpc, service, method string
	headers, params      []value
}

func (d dialect) requestsOf(match object) requests {
	all := requests{headers: valuesOf(match["headers"], strings.ToLower), params: valuesOf(match["queryParams"], strings.Clone)}
	if d.grpc {
		call, _ := match["method"].(object)
		all.rpc, all.service, all.method = textOr(call["type"], byExact), text(call["service"]), text(call["method"])
		all.path = path{byPrefix, defaultPath}
		return all
	}
	all.path, _ = pathOf(match, "")
	all.verb = text(match["method"])
	return all
}

// valuesOf reads conditions, sorted by the names under which all that mean the same are. Every
// match of a route is compared with all others, and their owner may choose many names that are long
// and alike.
func valuesOf(list any, same func(name string) string) []value {
	items, _ := list.([]any)
	values := make([]value, 0, len(items))
	for _, item := range items {
		one, _ := item.(object)
		values = append(values, value{textOr(one["type"], byExact), same(text(one["name"])), text(one["value"])})
	}
	slices.SortStableFunc(values, func(a, b value) int { return strings.Compare(a.name, b.name) })
	return values
}

// regular reports whether nobody can tell how specific the match is.
func (r requests) regular() bool { return r.path.regular() || r.rpc != "" && r.rpc != byExact }

// beyond compares how specific two matches are, as the Gateway API ranks them. The one that ranks
// higher gets the requests for which both hold; of equals the first in the route does.
func (r requests) beyond(other requests) int {
	exact := func(p path) int {
		if p.kind == byExact {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(exact(r.path), exact(other.path)), cmp.Compare(len(r.path.value), len(other.path.value)),
		cmp.Compare(min(len(r.verb), 1), min(len(other.verb), 1)),
		cmp.Compare(len(r.service), len(other.service)), cmp.Compare(len(r.method), len(other.method)),
		cmp.Compare(len(r.headers), len(other.headers)), cmp.Compare(len(r.params), len(other.params)),
	)
}

// within reports whether another match holds for all the requests. Neither of the two is regular.
func (r requests) within(other requests) bool {
	return (r.path == other.path || r.path.within(other.path)) &&
		(other.verb == "" || other.verb == r.verb) &&
		(other.service == "" || other.service == r.service) && (other.method == "" || other.method == r.method) &&
		has(r.headers, other.headers) && has(r.params, other.params)
}

// has reports whether all conditions are among others.
func has(values, all []value) bool {
	return !slices.ContainsFunc(all, func(v value) bool { return !slices.Contains(ofName(values, v.name), v) })
}

// ofName returns the conditions on one name.
func ofName(values []value, name string) []value {
	from, _ := slices.BinarySearchFunc(values, name, func(v value, name string) int { return strings.Compare(v.name, name) })
	to := from
	for to < len(values) && values[to].name == name {
		to++
	}
	return values[from:to]
}

// meets reports whether there may be a request for which both hold.
func (r requests) meets(other requests) bool {
	return (r.path.regular() || other.path.regular() || r.path == other.path || r.path.within(other.path) || other.path.within(r.path)) &&
		(r.verb == "" || other.verb == "" || r.verb == other.verb) &&
		r.callsMeet(other) &&
		!contrary(r.headers, other.headers) && !contrary(r.params, other.params)
}

func (r requests) callsMeet(other requests) bool {
	if r.rpc != byExact || other.rpc != byExact {
		return true
	}
	return (r.service == "" || other.service == "" || r.service == other.service) &&
		(r.method == "" || other.method == "" || r.method == other.method)
}

func contrary(a, b []value) bool {
	return slices.ContainsFunc(a, func(v value) bool {
		return slices.ContainsFunc(ofName(b, v.name), func(w value) bool {
			return v.kind == byExact && w.kind == byExact && v.value != w.value
		})
	})
}

// claim is a match of a rule, and where the rule stands.
type claim struct {
	requests
	match object
	rule  int
	place string
	// serves says that the rule sends requests to the Service.
	serves bool
}

// before reports whether a claim gets the requests for which both hold.
func (c claim) before(other claim) bool {
	rank := c.beyond(other.requests)
	return rank > 0 || rank == 0 && c.rule < other.rule
}

// claims returns the matches of all rules that are somebody's own.
func (t *table) claims() []claim {
	var all []claim
	for i, r := range t.rules {
		if r.inserted != "" {
			continue
		}
		matches, _ := r.object["matches"].([]any)
		if len(matches) == 0 {
			matches = []any{object{}}
		}
		serves := slices.ContainsFunc(r.backends, func(b backend) bool { return t.original(b) && b.weight > 0 })
		for j, match := range matches {
			one, _ := match.(object)
			all = append(all, claim{t.requestsOf(one), one, i, matchPlace(r, j), serves})
		}
	}
	return all
}

// taken tells of a match that was made of a claim and one of the step. Idle says that it gets
// nothing, because all of its requests are another rule's. It is a problem if it took requests from
// another rule only because the step has made it more specific.
func (t *table) taken(from claim, made requests, again func(claim) (requests, bool)) (idle bool, bad *problem) {
	if made.path.regular() && !from.path.regular() {
		return false, t.guessed(from, made)
	}
	next := claim{requests: made, rule: from.rule}
	if made.regular() {
		return false, nil
	}
	for _, other := range t.claimed {
		if other.rule == from.rule || other.regular() || !other.before(from) || !made.meets(other.requests) {
			continue
		}
		if made.within(other.requests) {
			return true, nil
		}
		if other.before(next) {
			continue
		}
		if both, ok := again(other); ok && (claim{requests: both, rule: other.rule}).before(next) {
			continue
		}
		bad = notShareable("requests that %s takes, and that match the step, would go to the new version by the rule of %s: make %s more specific, "+
			"or the match of the step less", other.place, from.place, other.place)
	}
	return false, bad
}

// guessed returns a problem if a match that was made by a regular expression of the step may be for
// requests of a rule for something else: which of the two gets them is each data plane's own to
// say.
func (t *table) guessed(from claim, made requests) *problem {
	for _, other := range t.claimed {
		if other.rule != from.rule && !other.serves && made.meets(other.requests) {
			return notShareable("the step's path %s is a regular expression, by which the rule for %s may take requests from %s: name a path of type Exact or PathPrefix",
				quoted(made.path.value), from.place, other.place)
		}
	}
	return nil
}
