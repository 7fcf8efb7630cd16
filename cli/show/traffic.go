package show

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// trafficNode returns who gets requests, and what they wait for; none where no route shares them.
func trafficNode(release *v1alpha1.BatchRelease) []Node {
	told := trafficOf(release)
	if told == nil {
		return nil
	}
	node := Node{Name: "traffic", State: trafficState(told), Text: bar(told.Weight) + " " + trafficWords(told)}
	if told.Problem != nil {
		node.Children = append(node.Children, Node{Name: "problem", State: Bad, Text: told.Problem.Words()})
	}
	switch {
	case told.Since == nil:
	case told.Awaits == "":
		node.Since = *told.Since
	default:
		node.Children = append(node.Children, Node{Name: "waits for", State: Moving, Text: told.AwaitsWords(), Since: *told.Since})
	}
	if len(told.PendingParents) > 0 {
		node.Children = append(node.Children, Node{Name: "silent", State: Moving, Text: silentWords(told)})
	}
	if told.Ending != nil {
		node.Children = append(node.Children, Node{Name: "end", Text: endingWords(release), Since: told.Ending.Since})
	}
	return []Node{node}
}

// silentWords names the parents whose status does not confirm a route, and how long the release
// waits for them.
func silentWords(told *v1alpha1.TrafficStatus) string {
	names := strings.Join(told.PendingParents, "; ")
	switch {
	case told.GaveUp:
		return names + ", not waited for any more"
	case told.AcceptDeadline != nil:
		return names + ", waited for until " + told.AcceptDeadline.UTC().Format(time.RFC3339)
	default:
		return names
	}
}

// trafficOf returns who gets requests; nil where no route shares them, or nobody has looked yet.
func trafficOf(release *v1alpha1.BatchRelease) *v1alpha1.TrafficStatus {
	if release.Status.ObservedGeneration < release.Generation {
		return nil
	}
	return release.Status.Traffic
}

func trafficState(told *v1alpha1.TrafficStatus) State {
	switch {
	case told.Problem != nil:
		return Bad
	case told.Awaits != "", told.Weight != told.TargetWeight:
		return Moving
	default:
		return Good
	}
}

// bar returns a share as a picture that people see at a glance. It is full only for all requests,
// and empty only for none.
func bar(weight int32) string {
	const width = 10
	full := min(max((int(weight)+width-1)/width, 0), width)
	if weight < 100 {
		full = min(full, width-1)
	}
	return strings.Repeat("▰", full) + strings.Repeat("▱", width-full)
}

// trafficWords says which version gets which share of the requests.
func trafficWords(told *v1alpha1.TrafficStatus) string {
	text := fmt.Sprintf("%s to %s, %d%% to %s", v1alpha1.RequestWords(told.Weight, int(told.Matches)),
		revisionWords(told.CanaryRevision, "the new version"), 100-int64(told.Weight), revisionWords(told.StableRevision, "the one before"))
	if told.TargetWeight != told.Weight {
		text += fmt.Sprintf(", on the way to %d%%", told.TargetWeight)
	}
	return text
}

func revisionWords(hash, otherwise string) string {
	if hash == "" {
		return otherwise
	}
	return "revision " + hash
}

// endingWords says what happens after the gates of the last step have passed.
func endingWords(release *v1alpha1.BatchRelease) string {
	const then = "old pods go, and then the routes get back what they had"
	spec, ending := release.Spec.Strategy.Traffic, release.Status.Traffic.Ending
	if spec == nil || !spec.KeepOldPods || spec.OldPodsDelaySeconds == 0 {
		return then
	}
	return fmt.Sprintf("after %s, of which %s have passed, %s", seconds(spec.OldPodsDelaySeconds), seconds(ending.WaitedSeconds), then)
}

func seconds(n int32) time.Duration { return time.Duration(n) * time.Second }

// trafficCell returns the share of the new version, and to where it is to come, in a column.
func trafficCell(release *v1alpha1.BatchRelease) string {
	told := trafficOf(release)
	switch {
	case told == nil:
		return ""
	case told.Weight == told.TargetWeight:
		return fmt.Sprintf("%d%%", told.Weight)
	default:
		return fmt.Sprintf("%d%%, to be %d%%", told.Weight, told.TargetWeight)
	}
}

// trafficWait returns what requests wait for, in a column; empty if for nothing.
func trafficWait(status *v1alpha1.BatchReleaseStatus) string {
	if status.State != v1alpha1.StateShifting || status.Traffic == nil {
		return ""
	}
	return cmp.Or(map[v1alpha1.TrafficAwaited]string{
		v1alpha1.AwaitedServices:     "services",
		v1alpha1.AwaitedEndpoints:    "endpoints",
		v1alpha1.AwaitedRoutes:       "routes",
		v1alpha1.AwaitedCapacity:     "pods for the requests",
		v1alpha1.AwaitedDrain:        "drain",
		v1alpha1.AwaitedOldPodsDelay: "end of old pods' delay",
		v1alpha1.AwaitedOldPods:      "old pods to go",
	}[status.Traffic.Awaits], string(status.Traffic.Awaits))
}

// trafficLine returns who gets requests, and what they wait for, in one line; empty where no route
// shares them. A problem that keeps the release from starting is left out: its message says it.
// Gateways are named that are waited for until a time, or not any more.
func trafficLine(release *v1alpha1.BatchRelease) string {
	told := trafficOf(release)
	if told == nil {
		return ""
	}
	text := trafficWords(told)
	if told.Awaits != "" {
		text += ", waits for " + told.AwaitsWords()
	}
	if told.GaveUp || told.AcceptDeadline != nil && len(told.PendingParents) > 0 {
		text += "; silent: " + silentWords(told)
	}
	notStarted := release.Status.StalledBy == v1alpha1.StallTrafficBlocked && release.Status.Held == nil
	if told.Problem != nil && !notStarted {
		text += "; " + told.Problem.Words()
	}
	return text
}
