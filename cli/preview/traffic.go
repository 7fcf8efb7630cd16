package preview

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// share adds to the batches what they give the new version of the requests, and how many pods there
// are at most for that. A rollback has all requests go back before its pods.
func (c *Change) share(rollback bool, foreseen []plan.Batch) {
	shared := c.object.Spec.Strategy.Traffic
	c.Most = nil
	if shared == nil {
		return
	}
	stays, most := int64(100), int64(0)
	for i := range c.Batches {
		weight, is := c.object.Spec.TrafficOf(rollback, i)
		if !is {
			return
		}
		batch := &c.Batches[i]
		batch.Matches = len(c.object.Spec.Strategy.Steps[i].Matches)
		if batch.Pods != nil {
			weight = foreseen[i].Weight
			if *batch.Pods == 0 { // of few pods: there is none that could get requests
				batch.Matches = 0
			}
		}
		batch.Traffic = &weight
		if batch.Pods != nil && c.Replicas != nil {
			old := (int64(*c.Replicas)*stays + 99) / 100
			most = max(most, int64(*batch.Pods)+old)
		}
		if !shared.KeepOldPods {
			stays = 100 - int64(weight)
		}
	}
	if c.Replicas != nil && most > int64(*c.Replicas)+int64(c.Surge) {
		c.Most = &most
	}
}

// most returns how many pods there may be.
func (c *Change) most() int64 {
	if c.Most != nil {
		return *c.Most
	}
	return int64(*c.Replicas) + int64(c.Surge)
}

// surge returns how many pods there may be beyond those of the workload.
func (c *Change) surge() int32 { return int32(min(c.most()-int64(*c.Replicas), int64(1<<31-1))) }

// shares reports whether the batches give the new version requests of their own.
func (c *Change) shares() bool {
	return slices.ContainsFunc(c.Batches, func(b Batch) bool { return b.Traffic != nil })
}

// requests returns what a batch gives the new version.
func (b *Batch) requests() string {
	return v1alpha1.ShareWords(*b.Traffic, b.Matches)
}

// trafficRemarks says how a release with traffic goes, in words of ours alone.
func (c *Change) trafficRemarks() []string {
	if c.object == nil || c.object.Spec.Strategy.Traffic == nil || len(c.Batches) == 0 {
		return nil
	}
	if !c.shares() {
		return []string{"A rollback shares no requests: those that the new version gets go back first."}
	}
	return append(c.lessThanAsked(), keptWords(c.object.Spec.Strategy.Traffic))
}

// lessThanAsked names the batches whose pods are enough for less than their step says.
func (c *Change) lessThanAsked() []string {
	var lines []string
	for i := range c.Batches {
		batch := &c.Batches[i]
		asked, _ := c.object.Spec.TrafficOf(false, i)
		switch {
		case batch.Pods == nil || *batch.Traffic == asked:
		case *batch.Pods == 0:
			lines = append(lines, fmt.Sprintf("Batch %d gives no requests, though its step says %d%%: it has no pods.", i+1, asked))
		default:
			lines = append(lines, fmt.Sprintf("Batch %d gives %d%% of the requests, though its step says %d%%: its pods are enough for no more.",
				i+1, *batch.Traffic, asked))
		}
	}
	return lines
}

// keptWords says how long old pods stay.
func keptWords(of *v1alpha1.Traffic) string {
	switch delay := time.Duration(of.OldPodsDelaySeconds) * time.Second; {
	case of.KeepOldPods && delay > 0:
		return fmt.Sprintf("All old pods are kept until %s after the gates of the last batch.", delay)
	case of.KeepOldPods:
		return "All old pods are kept until the gates of the last batch have passed."
	default:
		return "As many old pods are kept as their share of the requests needs."
	}
}

// compareTraffic says which routes share requests, and what else of that differs from before; was
// is nil if the release is new.
func (c *Change) compareTraffic(was *spec.Release) error {
	before := &v1alpha1.BatchRelease{}
	if was != nil {
		decoded, err := decodeRelease(was)
		if err != nil {
			return err
		}
		before = decoded
	}
	from, to := before.Spec.Strategy.Traffic, c.object.Spec.Strategy.Traffic
	if slices.ContainsFunc(routesOf(from), func(r v1alpha1.TrafficRoute) bool { return !slices.Contains(routesOf(to), r) }) {
		c.note(routeRemovedWords)
	}
	c.Routes = routeChanges(routesOf(from), routesOf(to))
	if c.shares() {
		c.Routes = append(routesLeft(routesOf(from), routesOf(to)), c.Routes...)
	}
	if from != nil && to != nil {
		c.Routes = append(c.Routes, settingChanges(from, to)...)
		c.Routes = append(c.Routes, weightChanges(&before.Spec, &c.object.Spec)...)
	}
	c.Routes = append(c.Routes, matchChanges(before.Spec.Strategy.Steps, c.object.Spec.Strategy.Steps, c.shares())...)
	return nil
}

const routeRemovedWords = "If a release is in progress, a route that is removed gives the new version requests by its pods at once, whatever the gates of its step say."

func routesOf(t *v1alpha1.Traffic) []v1alpha1.TrafficRoute {
	if t == nil {
		return nil
	}
	return t.Routes
}

// routesLeft names the routes that stay the same.
func routesLeft(from, to []v1alpha1.TrafficRoute) []string {
	var lines []string
	for _, of := range to {
		if slices.Contains(from, of) {
			lines = append(lines, fmt.Sprintf("route: %s, for Service %s", traffic.Words(of), of.Service))
		}
	}
	return lines
}

// routeChanges names routes that are added, changed or removed.
func routeChanges(from, to []v1alpha1.TrafficRoute) []string {
	var lines []string
	left := slices.DeleteFunc(slices.Clone(from), func(r v1alpha1.TrafficRoute) bool { return slices.Contains(to, r) })
	for _, added := range to {
		if slices.Contains(from, added) {
			continue
		}
		before := slices.IndexFunc(left, func(r v1alpha1.TrafficRoute) bool {
			return r.Kind == added.Kind && r.Namespace == added.Namespace && r.Name == added.Name
		})
		if before < 0 {
			lines = append(lines, fmt.Sprintf("route added: %s, for Service %s", traffic.Words(added), added.Service))
			continue
		}
		lines = append(lines, fmt.Sprintf("route changed: %s, for Service %s -> %s", traffic.Words(added), left[before].Service, added.Service))
		left = slices.Delete(left, before, before+1)
	}
	for _, removed := range left {
		lines = append(lines, fmt.Sprintf("route removed: %s, for Service %s", traffic.Words(removed), removed.Service))
	}
	return lines
}

// settingChanges names the other fields of strategy.traffic that differ.
func settingChanges(from, to *v1alpha1.Traffic) []string {
	var lines []string
	differs := func(field, from, to string) {
		if from != to {
			lines = append(lines, fmt.Sprintf("spec.strategy.traffic.%s: %s -> %s", field, from, to))
		}
	}
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	orElse := func(n *int32, otherwise int32) string {
		if n == nil {
			n = &otherwise
		}
		return number(*n)
	}
	differs("keepOldPods", strconv.FormatBool(from.KeepOldPods), strconv.FormatBool(to.KeepOldPods))
	differs("oldPodsDelaySeconds", number(from.OldPodsDelaySeconds), number(to.OldPodsDelaySeconds))
	differs("readySeconds", orElse(from.ReadySeconds, v1alpha1.DefaultTrafficReadySeconds), orElse(to.ReadySeconds, v1alpha1.DefaultTrafficReadySeconds))
	differs("drainSeconds", orElse(from.DrainSeconds, v1alpha1.DefaultTrafficDrainSeconds), orElse(to.DrainSeconds, v1alpha1.DefaultTrafficDrainSeconds))
	differs("allowOverload", strconv.FormatBool(from.AllowOverload), strconv.FormatBool(to.AllowOverload))
	return lines
}

// weightChanges returns the earlier weights of steps that have another weight now.
func weightChanges(from, to *v1alpha1.BatchReleaseSpec) []string {
	if before, after := weights(from), weights(to); before != after {
		return []string{"requests of the batches: " + before + " -> " + after}
	}
	return nil
}

func weights(of *v1alpha1.BatchReleaseSpec) string {
	var all []string
	for i := range of.Strategy.Steps {
		weight, _ := of.TrafficOf(false, i)
		all = append(all, fmt.Sprintf("%d%%", weight))
	}
	return strings.Join(all, ", ")
}

// Routes are the routes of a release in the cluster.
type Routes struct {
	// Objects are the routes that exist, as the API server has them.
	Objects map[v1alpha1.TrafficRoute]*unstructured.Unstructured
	// Problems are with what is not there.
	Problems []v1alpha1.TrafficProblem
	// Off says that the controller runs without --traffic, as far as is known.
	Off bool
}

// meetRoutes says what keeps the routes that are there from sharing requests.
func (c *Change) meetRoutes(live *Live) {
	shared := c.object.Spec.Strategy.Traffic
	if shared == nil {
		return
	}
	problems := slices.Clone(live.Routes.Problems)
	if live.Routes.Off {
		problems = append(problems, v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled, Message: "the controller runs without --traffic"})
	}
	for _, named := range shared.Routes {
		if live.Routes.Objects[named] == nil {
			continue // not there, or not read: that is told
		}
		if problem := c.meetRoute(live, named); problem != nil {
			problems = append(problems, *problem)
		} else if !slices.Contains(objectsOf(live.Routes.Problems), traffic.Words(named)) {
			c.Cluster.Routes = append(c.Cluster.Routes, fmt.Sprintf("%s can share the requests for Service %s", traffic.Words(named), named.Service))
		}
	}
	for i := range problems {
		c.Cluster.Traffic = append(c.Cluster.Traffic, problems[i].Words())
	}
}

// objectsOf returns what problems are about.
func objectsOf(problems []v1alpha1.TrafficProblem) []string {
	var objects []string
	for i := range problems {
		objects = append(objects, problems[i].Object)
	}
	return objects
}

// meetRoute returns what keeps a route that is there from sharing requests; nil if nothing.
func (c *Change) meetRoute(live *Live, named v1alpha1.TrafficRoute) *v1alpha1.TrafficProblem {
	kind := route.KindOf(named.Kind)
	if kind == nil {
		return nil // of a later version
	}
	holder := route.Holder{Release: c.Key().String()}
	if live.Release != nil {
		holder.UID = string(live.Release.UID)
	}
	seen := kind.Read(live.Routes.Objects[named], nil, route.Use{Namespace: c.Namespace, Service: named.Service, Holder: holder})
	return cmp.Or(seen.Problem, seen.Refused)
}

// SharedBy returns the routes that are to share requests of the release.
func (c *Change) SharedBy() []v1alpha1.TrafficRoute {
	if c.object == nil {
		return nil
	}
	return routesOf(c.object.Spec.Strategy.Traffic)
}
