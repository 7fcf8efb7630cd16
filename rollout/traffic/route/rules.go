package route

import (
	"fmt"
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// mostRules is what the API takes.
const mostRules = 16

// rule is a rule of a route, with its backends.
type rule struct {
	object
	backends []backend
	place    string
	// inserted is the key of the Service for whose matches the rule was inserted; empty if it is
	// somebody's own.
	inserted string
}

// with returns the rule with other backends, as a copy.
func (r rule) with(backends []backend) rule {
	next := clone(r.object).(object)
	next["backendRefs"] = refsOf(backends)
	return rule{next, backends, r.place, r.inserted}
}

// table is the rules of a route as one release sees them.
type table struct {
	dialect
	names
	held  holds
	rules []rule
	// claimed are the matches of the rules before any is inserted.
	claimed []claim
}

// read finds out which rules are inserted, whoever did.
func (t *table) read(spec object) *problem {
	objects, bad := listIn(spec, "rules", "spec")
	if bad != nil {
		return bad
	}
	for i, o := range objects {
		place := fmt.Sprintf("spec.rules[%d]", i)
		backends, bad := backendsOf(o, place)
		if bad != nil {
			return bad
		}
		t.rules = append(t.rules, rule{o, backends, place, ""})
	}
	for key := range t.held {
		// What can't be read about another Service is that one's problem.
		if one, bad := t.held.of(key); bad == nil && len(one.Matches) > 0 {
			t.mark(key, one.Matches)
		}
	}
	return nil
}

func (t *table) mark(key string, matches []v1alpha1.RequestMatch) {
	service := keyed(key, t.route)
	for i := range t.rules {
		if r := &t.rules[i]; r.copies(service) && r.implies(matches) {
			r.inserted = key
		}
	}
}

// copies reports whether all backends are the canary Service, with weights of an inserted rule.
func (r rule) copies(service names) bool {
	return commonDivisor(r.backends) == 1 && !some(r.backends, func(b backend) bool { return !service.canary(b) || b.weight == 0 })
}

func (r rule) implies(step []v1alpha1.RequestMatch) bool {
	matches, bad := listIn(r.object, "matches", r.place)
	for _, match := range matches {
		if !implied(match, step) {
			return false
		}
	}
	return bad == nil && len(matches) > 0
}

// restored takes the release's own rules out, and has the others refer to the Service again.
func (t *table) restored() { t.without(t.names.restored) }

// lowered takes the release's own rules out, and has the canary side get no requests in the others.
// Nothing stands in the way of that: a weight that can't be multiplied needs not be.
func (t *table) lowered() { t.without(t.names.lowered) }

// without takes the release's own rules out, and changes the backends of those that refer to a
// side.
func (t *table) without(change func([]backend) []backend) {
	own := func(r rule) bool { return r.inserted == t.key() }
	rules := slices.Clone(t.rules)
	if len(rules) > 0 && !slices.ContainsFunc(rules, func(r rule) bool { return !own(r) }) {
		rules = rules[:1] // a route must have a rule
		rules[0].inserted = ""
	}
	t.rules = slices.DeleteFunc(rules, own)
	for i, r := range t.rules {
		if some(r.backends, t.side) {
			t.rules[i] = r.with(change(r.backends))
		}
	}
}

// refersToSide returns the first backend that is a side; false if none is.
func (t *table) refersToSide() (backend, bool) {
	for _, r := range t.rules {
		for _, b := range r.backends {
			if t.side(b) {
				return b, true
			}
		}
	}
	return backend{}, false
}

// named reports whether a rule refers to the Service.
func (t *table) named() bool {
	return slices.ContainsFunc(t.rules, func(r rule) bool { return some(r.backends, t.original) })
}

// shared has the rules refer to the sides, and inserts those for the matches.
func (t *table) shared(share traffic.Share) *problem {
	var rules []rule
	inserted := 0
	t.claimed = t.claims()
	for i, r := range t.rules {
		if !some(r.backends, t.original) {
			rules = append(rules, r)
			continue
		}
		copies, bad := t.copiesOf(i, share.Matches)
		if bad != nil {
			return bad
		}
		backends, bad := t.names.shared(r.backends, share)
		if bad != nil {
			return bad
		}
		if len(backends) > mostBackends {
			return notShareable("%s would have %d backendRefs while requests are shared, and the API takes at most %d", r.place, len(backends), mostBackends)
		}
		rules = slices.Insert(rules, t.insertAt(rules), copies...)
		rules = append(rules, r.with(backends))
		inserted += len(copies)
	}
	t.rules = rules
	if len(share.Matches) > 0 && inserted == 0 {
		return notShareable("no request to Service %s can match the step: in each rule that refers to it, the path, headers or parameters contradict "+
			"those of the step, another rule takes the requests, or the weight is 0", t.Service)
	}
	return t.tooLarge()
}

// insertAt returns where rules for matches go: before the next rule, and among those that are
// inserted there in the order of the Services, so that it does not depend on which release writes
// last.
func (t *table) insertAt(rules []rule) int {
	at := len(rules)
	for at > 0 && rules[at-1].inserted > t.key() {
		at--
	}
	return at
}

// copiesOf returns the rules that take the requests that match from a rule.
func (t *table) copiesOf(i int, step []v1alpha1.RequestMatch) ([]rule, *problem) {
	var backends []backend
	r := t.rules[i]
	for _, b := range r.backends {
		if t.original(b) && b.weight > 0 { // what gets no requests gets none that match
			backends = append(backends, b.to(t.Canary, b.weight))
		}
	}
	if len(backends) == 0 || len(step) == 0 {
		return nil, nil
	}
	matches, bad := t.matchesOf(i, step)
	if bad != nil || len(matches) == 0 {
		return nil, bad
	}
	copied := func(matches []object) rule {
		next := r.with(asCopies(backends))
		next.inserted = t.key()
		dropNames(next.object)
		next.object["matches"] = listOf(matches)
		return next
	}
	if !replacesPrefix(r) {
		return []rule{copied(matches)}, nil
	}
	var copies []rule // the API takes one match where the prefix that matched is replaced
	for _, match := range matches {
		copies = append(copies, copied([]object{match}))
	}
	return copies, nil
}

// dropNames takes out of a copy the names that the API wants to be of one rule: its own, and that
// of its sessions, of which it says that reuse may have a route rejected. A Gateway chooses another
// one then.
func dropNames(in object) {
	delete(in, "name")
	if sessions, _ := in["sessionPersistence"].(object); sessions != nil {
		delete(sessions, "sessionName")
	}
}

// matchesOf returns those for which a match of the rule and one of the step hold.
func (t *table) matchesOf(at int, step []v1alpha1.RequestMatch) ([]object, *problem) {
	r := t.rules[at]
	given, bad := listIn(r.object, "matches", r.place)
	if bad != nil {
		return nil, bad
	}
	if len(given) == 0 {
		given = []object{{}}
	}
	var matches []object
	for i, match := range given {
		from := claim{t.requestsOf(match), match, at, matchPlace(r, i), true}
		for j := range step {
			both, bad := t.copyOf(match, &step[j], from)
			if bad != nil {
				return nil, bad
			}
			if both != nil {
				matches = append(matches, both)
			}
			if len(matches) > mostMatches {
				return nil, notShareable("%s would have more than %d matches with those of the step, which the API does not take", r.place, mostMatches)
			}
		}
	}
	return matches, nil
}

func matchPlace(r rule, i int) string { return fmt.Sprintf("%s.matches[%d]", r.place, i) }

// copyOf returns a match of a rule together with one of the step; nil if it would get no requests.
func (t *table) copyOf(match object, step *v1alpha1.RequestMatch, from claim) (object, *problem) {
	both, bad := t.both(match, step, from.place)
	if bad != nil || both == nil {
		return nil, bad
	}
	idle, bad := t.taken(from, t.requestsOf(both), func(other claim) (requests, bool) { return t.again(other, step) })
	if bad != nil || idle {
		return nil, bad
	}
	if replacesPrefix(t.rules[from.rule]) && !samePath(both, match) {
		return nil, notShareable("%s.path can't be narrowed to the step's path, as a filter of the rule replaces the prefix that matched", from.place)
	}
	return both, nil
}

// again returns what is made of another claim and the same match of the step; false if nothing is.
func (t *table) again(other claim, step *v1alpha1.RequestMatch) (requests, bool) {
	if !other.serves {
		return requests{}, false
	}
	both, bad := t.both(other.match, step, other.place)
	if bad != nil || both == nil {
		return requests{}, false
	}
	return t.requestsOf(both), true
}

// replacesPrefix reports whether a filter of a rule, or of a backend, replaces the prefix that
// matched.
func replacesPrefix(r rule) bool {
	if filtersReplace(r.object) {
		return true
	}
	return some(r.backends, func(b backend) bool { return filtersReplace(b.ref) })
}

func filtersReplace(in object) bool {
	filters, _ := in["filters"].([]any)
	for _, f := range filters {
		filter, _ := f.(object)
		for _, field := range []string{"urlRewrite", "requestRedirect"} {
			change, _ := filter[field].(object)
			path, _ := change["path"].(object)
			if path["replacePrefixMatch"] != nil {
				return true
			}
		}
	}
	return false
}

// tooLarge returns which limit of the API the rules are beyond; nil if none.
func (t *table) tooLarge() *problem {
	if len(t.rules) > mostRules {
		return notShareable("spec.rules would have %d rules with those for the step's matches, and the API takes at most %d", len(t.rules), mostRules)
	}
	all := 0
	for _, r := range t.rules {
		matches, _ := r.object["matches"].([]any)
		all += len(matches)
	}
	if all > mostAllMatches {
		return notShareable("spec.rules would have %d matches with those of the step, and the API takes at most %d", all, mostAllMatches)
	}
	return nil
}

// sharing returns how the rules share requests: the most that any of them gives the canary side;
// false if none of them tells.
func (t *table) sharing() (int32, bool) {
	most, told := int32(0), false
	for _, r := range t.rules {
		if r.inserted == t.key() {
			continue
		}
		if weight, ok := t.toCanary(r.backends); ok {
			most, told = max(most, weight), true
		}
	}
	return most, told
}

func (t *table) list() []any {
	list := make([]any, len(t.rules))
	for i := range t.rules {
		list[i] = clone(t.rules[i].object)
	}
	return list
}
