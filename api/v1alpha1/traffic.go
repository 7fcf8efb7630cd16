package v1alpha1

import (
	"fmt"
	"strconv"
	"strings"
)

// TrafficOf returns the new version's percentage of requests in a step, counted from 0: the step's
// own, or the one before; 0 at first, 100 in the last step. It reports false if no route shares
// requests, and in a rollback: all requests go back before its pods.
func (s *BatchReleaseSpec) TrafficOf(rollback bool, step int) (weight int32, shared bool) {
	if rollback || s.Strategy.Traffic == nil {
		return 0, false
	}
	return TrafficOf(s.Strategy.Steps, step), true
}

// TrafficOf returns the new version's percentage of requests in a step: the step's own, or the one
// before; 0 at first, 100 in the last step and beyond it. An unreadable percentage counts as
// missing.
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

// ParseTraffic reads the traffic of a step, such as "10%". An empty text is an error, too.
func ParseTraffic(text string) (int32, error) {
	digits, isPercent := strings.CutSuffix(text, "%")
	weight, err := strconv.ParseUint(digits, 10, 31) // no sign: the CRD takes none
	if !isPercent || err != nil || weight > allRequests {
		return 0, fmt.Errorf("%q is not a percentage from 0%% to 100%%", text)
	}
	return int32(weight), nil
}

// allRequests is 100 percent.
const allRequests = 100

// RequestWords describes a percentage of requests, and the number of matches that bring others.
func RequestWords(weight int32, matches int) string {
	return andMatches(fmt.Sprintf("%d%% of requests", weight), weight, matches)
}

// ShareWords describes the same where the context names the requests.
func ShareWords(weight int32, matches int) string {
	return andMatches(fmt.Sprintf("%d%%", weight), weight, matches)
}

// andMatches appends the number of matches, unless all requests are given anyway.
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

// Words describes the requests for people. Values are quoted, so that none reads as a condition of
// its own.
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

// Words describes the awaited event as a phrase that follows "waits for"; empty if there is none.
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

// AwaitsWords describes the awaited event and its object as a phrase that follows "waits for";
// empty if there is none.
func (t *TrafficStatus) AwaitsWords() string {
	if t.AwaitsObject == "" {
		return t.Awaits.Words()
	}
	return t.Awaits.Words() + ": " + t.AwaitsObject
}

// Words describes the problem and its remedy for people.
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

// action returns the remedy for a problem.
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
