package handback

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/hold"
)

// kept says which workloads stay held: requests may still be sent to their pods. What fails for one
// keeps no other.
type kept struct {
	// all says that not even the releases could be read.
	all bool
	// failed are the releases, by namespace and name, of which a route is known not to be restored, or
	// could not be read.
	failed map[string]bool
	// unseen is where routes could not be listed.
	unseen []place
	// releases are those in scope. Nobody knows what routes one has that is not among them.
	releases map[string]*v1alpha1.BatchRelease
}

// holds reports whether a workload stays held.
func (k kept) holds(w metav1.Object) bool {
	if hold.Text(w) == nil {
		return false
	}
	for name, failed := range k.failed {
		if failed && mayHold(name, w) {
			return true
		}
	}
	return k.all || slices.ContainsFunc(k.unseen, func(where place) bool { return where.mayHave(k.releaseOf(w), w.GetNamespace()) })
}

// releaseOf returns the release that holds a workload, nil if nobody can tell.
func (k kept) releaseOf(w metav1.Object) *v1alpha1.BatchRelease {
	held := hold.Of(w)
	if held == nil {
		return nil
	}
	return k.releases[w.GetNamespace()+"/"+held.Release]
}

// place is where routes of a kind are: in a namespace, or in all.
type place struct {
	kind      v1alpha1.TrafficRouteKind
	namespace string
}

// named reports whether one of these releases may hold a route there.
func (p place) named(releases map[string]*v1alpha1.BatchRelease) bool {
	for _, release := range releases {
		if p.mayHave(release, release.Namespace) {
			return true
		}
	}
	return false
}

// mayHave reports whether a release of a namespace, nil if it is not known, may hold a route there.
func (p place) mayHave(release *v1alpha1.BatchRelease, namespace string) bool {
	if release == nil {
		return p.includes(namespace)
	}
	spec := release.Spec.Strategy.Traffic
	if spec == nil { // somebody may have taken it out in mid-release
		return release.Status.Traffic != nil && p.includes(namespace)
	}
	return slices.ContainsFunc(spec.Routes, func(r v1alpha1.TrafficRoute) bool {
		return r.Kind == p.kind && p.includes(cmp.Or(r.Namespace, namespace))
	})
}

func (p place) includes(namespace string) bool { return p.namespace == "" || p.namespace == namespace }

// in says where, to be read after what.
func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + namespace
}
