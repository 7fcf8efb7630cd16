package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"
)

// TrafficOf is the percentage of requests that a step of a release gives to the new version, counted from 0: its own, or that of the step
// before; 0 at first, and all in the last. It reports false where no route shares requests, which is so in every rollback: all requests
// go back before its pods.
func (s *BatchReleaseSpec) TrafficOf(rollback bool, step int) (weight int32, shared bool) {
	if rollback || s.Strategy.Traffic == nil {
		return 0, false
	}
	return TrafficOf(s.Strategy.Steps, step), true
}

// TrafficOf is the percentage of requests that a step gives to the new version: its own, or that of the step before; 0 at first, and
// all in the last step, and beyond it. What can't be read is as if the step said nothing.
func TrafficOf(steps []Step, index int) int32 {
	if index >= len(steps)-1 {
		return allRequests
	}
	for ; index >= 0; index-- {
		if weight, err := ParseTraffic(steps[index].Traffic); err == nil {
			return weight
		}
	}
	return 0
}

// ParseTraffic reads the traffic of a step, such as "10%". That a step says nothing is an error, too.
func ParseTraffic(text string) (int32, error) {
	digits, isPercent := strings.CutSuffix(text, "%")
	weight, err := strconv.ParseUint(digits, 10, 31) // no sign: the CRD takes none
	if !isPercent || err != nil || weight > allRequests {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	}
	return int32(weight), nil
}

// allRequests are 100 percent.
const allRequests = 100

// RequestWords are a percentage of requests, and how many matches bring others, for people.
func RequestWords(weight int32, matches int) string {
	return andMatches(fmt.Sprintf("%d%% of requests", weight), weight, matches)
}

// ShareWords are the same where it is plain what the percentage is of.
func ShareWords(weight int32, matches int) string {
	return andMatches(fmt.Sprintf("%d%%", weight), weight, matches)
}

// andMatches says nothing of matches where all requests are given anyway.
func andMatches(words string, weight int32, matches int) string {
	switch {
	case matches == 0 || weight == allRequests:
		return words
	case matches == 1:
		return words + " and 1 match"
	default:
		return fmt.Sprintf("%s and %d matches", words, matches)
	}
}

// Words name the requests, for people. Values are quoted, so that none reads as a condition of its own.
func (m *RequestMatch) Words() string {
	var words []string
	if m.Path != nil {
		words = append(words, m.Path.words())
	}
	for i := range m.Headers {
		words = append(words, "header "+m.Headers[i].words())
	}
	for i := range m.QueryParams {
		words = append(words, "query parameter "+m.QueryParams[i].words())
	}
	return strings.Join(words, " and ")
}

func (p *PathMatch) words() string {
	switch p.Type {
	case PathExact:
		return "path " + strconv.Quote(p.Value)
	case PathRegularExpression:
		return "path matching " + strconv.Quote(p.Value)
	default:
		return "path prefix " + strconv.Quote(p.Value)
	}
}

func (v *ValueMatch) words() string {
	if v.Type == MatchRegularExpression {
		return v.Name + " matching " + strconv.Quote(v.Value)
	}
	return v.Name + " " + strconv.Quote(v.Value)
}

// All reports whether every request matches.
func (m *RequestMatch) All() bool {
	if len(m.Headers)+len(m.QueryParams) > 0 || m.Path == nil {
		return false
	}
	return m.Path.Value == "/" && m.Path.Type != PathExact && m.Path.Type != PathRegularExpression
}

// Words say what has to come first, for people, and follow "waits for"; empty if nothing has.
func (a TrafficAwaited) Words() string {
	switch a {
	case AwaitedServices:
		return "the stable and canary Services"
	case AwaitedEndpoints:
		return "endpoints that have been ready for long enough"
	case AwaitedRoutes:
		return "the routes to be in effect"
	case AwaitedCapacity:
		return "more pods that are ready, for this share of the requests"
	case AwaitedDrain:
		return "the last requests of pods whose share was lowered"
	case AwaitedOldPodsDelay:
		return "the time for which old pods are kept"
	case AwaitedOldPods:
		return "the old pods to go"
	default:
		return string(a) // of a later version
	}
}

// AwaitsWords say what has to come first, and of which object, for people, and follow "waits for"; empty if nothing has.
func (t *TrafficStatus) AwaitsWords() string {
	if t.AwaitsObject == "" {
		return t.Awaits.Words()
	}
	return t.Awaits.Words() + ": " + t.AwaitsObject
}

// Words say what is wrong, and what to do, for people.
func (p *TrafficProblem) Words() string {
	words := p.Object
	for _, part := range []string{p.Message, p.Type.action()} {
		if part == "" {
			continue
		}
		if words != "" {
			words += ": "
		}
		words += part
	}
	return words
}

// action is what somebody can do about a problem.
func (t TrafficProblemType) action() string {
	switch t {
	case TrafficDisabled:
		return "run it with --traffic, or take strategy.traffic out of the release"
	case TrafficNoGatewayAPI:
		return "install the Gateway API"
	case TrafficNamespaceNotWatched:
		return "add it to the controller's --namespaces, or correct strategy.traffic.routes"
	case TrafficRouteNotFound, TrafficServiceNotFound:
		return "create it, or correct strategy.traffic.routes"
	case TrafficServiceNotNamed:
		return "refer to the Service in a rule of the route, or correct strategy.traffic.routes"
	case TrafficHeldByAnother:
		return "take the route out of one of the releases"
	case TrafficNotGranted:
		return "create the ReferenceGrant"
	case TrafficNotShareable:
		return "correct it, or the release"
	case TrafficNameTaken:
		return "delete it, or give it another name"
	case TrafficNotAccepted:
		return "see its status, and that of its Gateway"
	default:
		return "" // of a later version
	}
}
