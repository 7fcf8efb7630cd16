package spec

import (
	"strings"

	"github.com/sluice-dev/sluice/internal/kinds"
)

// kind is a kind of object that is read.
type kind string

const (
	releaseKind     kind = "BatchRelease"
	deploymentKind  kind = kinds.Deployment
	statefulSetKind kind = kinds.StatefulSet
	daemonSetKind   kind = kinds.DaemonSet

	httpRouteKind kind = "HTTPRoute"
	grpcRouteKind kind = "GRPCRoute"
	ingressKind   kind = "Ingress"

	serviceKind kind = "Service"

	configMapKind kind = "ConfigMap"
	secretKind    kind = "Secret"

	jobKind kind = "Job"
)

// workloadVersion is the apiVersion of all workloads that can be released.
const workloadVersion = "apps/v1"

// isWorkload reports whether objects of the kind can be released.
func (k kind) isWorkload() bool { return kinds.Named(string(k)) != nil }

// isRoute reports whether a release may name objects of the kind as what brings requests.
func (k kind) isRoute() bool { return k == httpRouteKind || k == grpcRouteKind || k == ingressKind }

// isOther reports whether objects of the kind are read beside releases and workloads, and never
// applied as they are.
func (k kind) isOther() bool { return k.isRoute() || k == serviceKind || k.isConfig() }

// isConfig reports whether a release may name objects of the kind in spec.config.
func (k kind) isConfig() bool { return k == configMapKind || k == secretKind }

// routeKindOf returns the kind of a route by its group; empty if it is none. Versions differ in
// nothing that is read.
func routeKindOf(group, name string) kind {
	switch of := kind(name); {
	case group == "gateway.networking.k8s.io" && (of == httpRouteKind || of == grpcRouteKind), group == "networking.k8s.io" && of == ingressKind:
		return of
	default:
		return ""
	}
}

// releasable names all kinds of workloads, with a word between the last two.
func releasable(word string) string {
	names := kinds.Names()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// objectKey names a release.
type objectKey struct{ namespace, name string }

// workloadKey names a workload: two of different kinds may have the same name.
type workloadKey struct {
	kind            kind
	namespace, name string
}

// String returns the workload in words, such as Deployment shop/web.
func (k workloadKey) String() string { return string(k.kind) + " " + k.namespace + "/" + k.name }
