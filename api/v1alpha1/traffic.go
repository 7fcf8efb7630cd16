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
	steps := s.Strategy.Steps
	switch {
	case rollback || s.Strategy.Traffic == nil:
		return 0, false
	case step >= len(steps)-1:
		return allRequests, true
	}
	for ; step >= 0; step-- {
		if weight, err := strconv.ParseUint(strings.TrimSuffix(steps[step].Traffic, "%"), 10, 31); err == nil {
			return int32(min(weight, allRequests)), true
		}
	}
	return 0, true
}

// allRequests are 100 percent.
const allRequests = 100

// RequestWords are a percentage of requests, and how many matches bring others, for people.
func RequestWords(weight int32, matches int) string {
	switch words := fmt.Sprintf("%d%% of requests", weight); {
	case matches == 0 || weight == allRequests:
		return words
	case matches == 1:
		return words + " and 1 match"
	default:
		return fmt.Sprintf("%s and %d matches", words, matches)
	}
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
		return "run the controller with --traffic"
	case TrafficNoGatewayAPI:
		return "install the Gateway API"
	case TrafficRouteNotFound, TrafficServiceNotFound:
		return "create it, or correct strategy.traffic.routes"
	case TrafficServiceNotNamed:
		return "refer to the Service in a rule of the route, or correct strategy.traffic.routes"
	case TrafficHeldByAnother:
		return "take the route out of one of the releases"
	case TrafficNotGranted:
		return "create the ReferenceGrant"
	case TrafficNotShareable:
		return "change it"
	case TrafficNameTaken:
		return "delete it, or give it another name"
	case TrafficNotAccepted:
		return "see its status, and that of its Gateway"
	default:
		return "" // of a later version
	}
}
