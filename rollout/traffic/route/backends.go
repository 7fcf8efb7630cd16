package route

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/rollout/traffic"
)

const (
	// whole is all requests, in percent, and by how much the weights of a shared rule are larger than
	// those of the user.
	whole = 100
	// The most that the API takes as a weight, and as backends of a rule.
	mostWeight   = 1_000_000
	mostBackends = 16
)

// backend is a reference to a backend of a rule.
type backend struct {
	ref    object
	weight int64
	place  string
}

// backendsOf reads the backends of a rule.
func backendsOf(rule object, place string) ([]backend, *problem) {
	refs, bad := listIn(rule, "backendRefs", place)
	if bad != nil {
		return nil, bad
	}
	backends := make([]backend, len(refs))
	for i, ref := range refs {
		at := fmt.Sprintf("%s.backendRefs[%d]", place, i)
		weight, bad := weightOf(ref, at)
		if bad != nil {
			return nil, bad
		}
		backends[i] = backend{ref, weight, at}
	}
	return backends, nil
}

// weightOf returns the weight of a backend. The API server gives one that has none the weight 1.
func weightOf(ref object, place string) (int64, *problem) {
	value := ref["weight"]
	if value == nil {
		return 1, nil
	}
	weight, ok := integer(value)
	if !ok || weight < 0 || weight > mostWeight {
		return 0, notShareable("%s.weight must be an integer from 0 to %d, is %s", place, mostWeight, quoted(value))
	}
	return weight, nil
}

// weighs returns the backend with another weight, as a copy.
func (b backend) weighs(weight int64) backend {
	ref := clone(b.ref).(object)
	ref["weight"] = weight
	return backend{ref, weight, b.place}
}

// to returns the backend with another Service and weight.
func (b backend) to(service string, weight int64) backend {
	next := b.weighs(weight)
	next.ref["name"] = service
	return next
}

// alike reports whether two backends differ in name and weight alone.
func (b backend) alike(other backend) bool {
	return same(b.to("", 0).ref, other.to("", 0).ref)
}

// asCopies gives backends that get requests the smallest weights with the same proportions, as in
// an inserted rule.
func asCopies(backends []backend) []backend {
	by := commonDivisor(backends)
	next := make([]backend, len(backends))
	for i, b := range backends {
		next[i] = b.weighs(b.weight / by)
	}
	return next
}

// commonDivisor returns the largest number that divides all weights. It is 1 in an inserted rule,
// and at least whole in a shared rule whose requests all go to the canary side, so that the two
// differ.
func commonDivisor(backends []backend) int64 {
	divisor := int64(0)
	for _, b := range backends {
		for rest := b.weight; rest != 0; {
			divisor, rest = rest, divisor%rest
		}
	}
	return divisor
}

// names tells which Service of the release a backend refers to.
type names struct {
	Sides
	// namespace is that of the Services, and route that of the route.
	namespace, route string
}

// key names the Service in the annotation of the route.
func (n names) key() string {
	if n.namespace == n.route {
		return n.Service
	}
	return n.namespace + "/" + n.Service
}

// keyed returns the inverse.
func keyed(key, route string) names {
	namespace, service, other := strings.Cut(key, "/")
	if !other {
		namespace, service = route, key
	}
	return Use{Namespace: namespace, Service: service}.in(route)
}

// refers reports whether a backend refers to a Service of the namespace.
func (n names) refers(b backend, service string) bool {
	return text(b.ref["name"]) == service && textOr(b.ref["group"], "") == "" && textOr(b.ref["kind"], "Service") == "Service" &&
		textOr(b.ref["namespace"], n.route) == n.namespace
}

func (n names) original(b backend) bool { return n.refers(b, n.Service) }
func (n names) stable(b backend) bool   { return n.refers(b, n.Stable) }
func (n names) canary(b backend) bool   { return n.refers(b, n.Canary) }
func (n names) side(b backend) bool     { return n.stable(b) || n.canary(b) }

func some(backends []backend, is func(backend) bool) bool { return slices.ContainsFunc(backends, is) }

// shared puts the two sides in the place of the Service. Other backends keep their part.
func (n names) shared(backends []backend, share traffic.Share) ([]backend, *problem) {
	next := make([]backend, 0, len(backends)+1)
	for _, b := range backends {
		if b.weight > mostWeight/whole {
			return nil, notShareable("%s.weight must be at most %d, is %d: weights are multiplied by %d while requests are shared",
				b.place, mostWeight/whole, b.weight, whole)
		}
		if !n.original(b) {
			next = append(next, b.weighs(b.weight*whole))
			continue
		}
		toStable, toCanary := b.weight*int64(whole-share.Weight), b.weight*int64(share.Weight)
		if toStable > 0 || b.weight == 0 {
			next = append(next, b.to(n.Stable, toStable))
		}
		if toCanary > 0 {
			next = append(next, b.to(n.Canary, toCanary))
		}
	}
	return next, nil
}

// restored returns the inverse: it puts the Service in the place of the two sides. The API takes
// what comes out, whatever weights somebody has given them.
func (n names) restored(backends []backend) []backend {
	return n.joined(backends, n.Service, !some(backends, func(b backend) bool { return !n.side(b) && b.weight%whole != 0 }))
}

// lowered gives the stable side what the canary side has, and leaves all weights.
func (n names) lowered(backends []backend) []backend { return n.joined(backends, n.Stable, false) }

// joined puts a Service in the place of the two sides, with the weight of both.
func (n names) joined(backends []backend, service string, scaled bool) []backend {
	next := make([]backend, 0, len(backends))
	gone := map[int]bool{}
	for i, b := range backends {
		switch {
		case gone[i]:
			continue
		case !n.side(b):
			next = append(next, b.weighs(unscaled(b.weight, scaled)))
			continue
		}
		sum := b.weight
		if other := n.otherHalf(backends, i, gone); other > 0 {
			gone[other] = true
			sum += backends[other].weight
		}
		next = append(next, b.to(service, min(unscaled(sum, scaled), mostWeight)))
	}
	return next
}

// otherHalf returns where the other of the two backends is that a backend became; 0 if it became
// one.
func (n names) otherHalf(backends []backend, i int, gone map[int]bool) int {
	b := backends[i]
	if b.weight == 0 {
		return 0
	}
	other := n.canary
	if n.canary(b) {
		other = n.stable
	}
	for at := i + 1; at < len(backends); at++ {
		if half := backends[at]; !gone[at] && half.weight > 0 && other(half) && b.alike(half) {
			return at
		}
	}
	return 0
}

// unscaled returns the weight that was multiplied. If somebody has given another backend of the
// rule a weight that was not, the weights stay: in them it was meant. If somebody has changed the
// weight of a side, the nearest is taken, and none is lost.
func unscaled(weight int64, scaled bool) int64 {
	if !scaled || weight == 0 {
		return weight
	}
	return max((weight+whole/2)/whole, 1)
}

// toCanary returns the percentage of the requests for the Service that the canary side gets,
// rounded up; false if it can't be told.
func (n names) toCanary(backends []backend) (int32, bool) {
	var canary, sum int64
	for _, b := range backends {
		if n.side(b) {
			sum += b.weight
		}
		if n.canary(b) {
			canary += b.weight
		}
	}
	if sum == 0 {
		return 0, false
	}
	return int32((canary*whole + sum - 1) / sum), true
}

func refsOf(backends []backend) []any {
	list := make([]any, len(backends))
	for i := range backends {
		list[i] = backends[i].ref
	}
	return list
}
