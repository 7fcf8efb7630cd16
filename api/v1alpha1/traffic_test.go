package v1alpha1

import (
	"slices"
	"testing"
)

// TestTrafficOf: a step that says nothing of requests gives what the one before gave, and the last
// gives all.
func TestTrafficOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		steps    []string
		rollback bool
		want     []int32
	}{
		"Each":     {steps: []string{"0%", "10%", "50%", "100%"}, want: []int32{0, 10, 50, 100}},
		"Silent":   {steps: []string{"", "10%", "", ""}, want: []int32{0, 10, 10, 100}},
		"Invalid":  {steps: []string{"5%", "much", "-1%", ""}, want: []int32{5, 5, 5, 100}},
		"TooMuch":  {steps: []string{"900%", ""}, want: []int32{0, 100}},
		"Rollback": {steps: []string{"10%", ""}, rollback: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := BatchReleaseSpec{Strategy: ReleaseStrategy{Traffic: &Traffic{}}}
			for _, text := range tc.steps {
				spec.Strategy.Steps = append(spec.Strategy.Steps, Step{Traffic: text})
			}
			var got []int32
			for i := range tc.steps {
				if weight, shared := spec.TrafficOf(tc.rollback, i); shared {
					got = append(got, weight)
				}
			}
			if !slices.Equal(tc.want, got) {
				t.Errorf("want %v, got %v", tc.want, got)
			}
			spec.Strategy.Traffic = nil
			if weight, shared := spec.TrafficOf(false, 0); shared || weight != 0 {
				t.Errorf("want nothing without routes, got %d", weight)
			}
		})
	}
}

// TestTrafficWords: every wait and every problem has a text of its own, and so has one of a later
// version.
func TestTrafficWords(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, what := range []TrafficAwaited{
		AwaitedServices, AwaitedEndpoints, AwaitedRoutes, AwaitedCapacity, AwaitedDrain, AwaitedOldPodsDelay, AwaitedOldPods,
	} {
		if words := what.Words(); words == string(what) || seen[words] {
			t.Errorf("want words of its own for %s, got %q", what, words)
		} else {
			seen[words] = true
		}
	}
	if got := TrafficAwaited("Moon").Words(); got != "Moon" {
		t.Errorf("want the value where there are no words, got %q", got)
	}
	for _, kind := range []TrafficProblemType{
		TrafficDisabled, TrafficNoGatewayAPI, TrafficNamespaceNotWatched, TrafficRouteNotFound, TrafficServiceNotFound, TrafficServiceNotNamed, TrafficHeldByAnother,
		TrafficNotGranted, TrafficNotShareable, TrafficNameTaken, TrafficNotAccepted,
	} {
		if kind.action() == "" {
			t.Errorf("want something to do about %s", kind)
		}
	}
	for want, problem := range map[string]TrafficProblem{
		"HTTPRoute web: not there: create it, or correct strategy.traffic.routes": {Type: TrafficRouteNotFound, Object: "HTTPRoute web", Message: "not there"},
		"the controller runs without --traffic: run it with --traffic, or take strategy.traffic out of the release": {
			Type: TrafficDisabled, Message: "the controller runs without --traffic",
		},
		"HTTPRoute web: odd": {Type: "Odd", Object: "HTTPRoute web", Message: "odd"},
	} {
		if got := problem.Words(); got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// TestRequestWords: matches bring nothing on top of all.
func TestRequestWords(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"0% of requests":                RequestWords(0, 0),
		"0% of requests and 1 match":    RequestWords(0, 1),
		"10% of requests and 2 matches": RequestWords(10, 2),
		"100% of requests":              RequestWords(100, 2),
		"10%":                           ShareWords(10, 0),
		"10% and 1 match":               ShareWords(10, 1),
		"100%":                          ShareWords(100, 2),
	} {
		if got != want {
			t.Errorf("want %q, got %q", want, got)
		}
	}
}

// TestMatchWords: a match reads as what it takes, and a value is never a condition of its own.
func TestMatchWords(t *testing.T) {
	t.Parallel()
	header, expression := ValueMatch{Name: "X-Canary", Value: "yes"}, MatchRegularExpression
	for want, match := range map[string]RequestMatch{
		`header X-Canary "yes"`:                             {Headers: []ValueMatch{header}},
		`header X-Canary "yes" and header A matching "^b$"`: {Headers: []ValueMatch{header, {Name: "A", Value: "^b$", Type: expression}}},
		`path prefix "/beta" and query parameter try "new"`: {Path: &PathMatch{Value: "/beta"}, QueryParams: []ValueMatch{{Name: "try", Value: "new", Type: MatchExact}}},
		`path "/beta"`:        {Path: &PathMatch{Value: "/beta", Type: PathExact}},
		`path matching "^/b"`: {Path: &PathMatch{Value: "^/b", Type: PathRegularExpression}},
		`header X-Canary "a\" and path \"/\x1b\u202e"`: {Headers: []ValueMatch{{Name: "X-Canary", Value: "a\" and path \"/\x1b\u202e"}}},
	} {
		if got := match.Words(); got != want {
			t.Errorf("want %s, got %s", want, got)
		}
	}
}

// TestMatchOfAll: only what every request has makes a match of all.
func TestMatchOfAll(t *testing.T) {
	t.Parallel()
	root, values := &PathMatch{Value: "/"}, []ValueMatch{{Name: "a", Value: "b"}}
	for name, tc := range map[string]struct {
		match RequestMatch
		want  bool
	}{
		"Root":        {RequestMatch{Path: root}, true},
		"RootAsType":  {RequestMatch{Path: &PathMatch{Value: "/", Type: PathPrefix}}, true},
		"RootAlone":   {RequestMatch{Path: &PathMatch{Value: "/", Type: PathExact}}, false},
		"Expression":  {RequestMatch{Path: &PathMatch{Value: "/", Type: PathRegularExpression}}, false},
		"Below":       {RequestMatch{Path: &PathMatch{Value: "/a"}}, false},
		"WithHeader":  {RequestMatch{Path: root, Headers: values}, false},
		"WithQuery":   {RequestMatch{Path: root, QueryParams: values}, false},
		"HeaderAlone": {RequestMatch{Headers: values}, false},
	} {
		if got := tc.match.All(); got != tc.want {
			t.Errorf("%s: want %t, got %t", name, tc.want, got)
		}
	}
}
