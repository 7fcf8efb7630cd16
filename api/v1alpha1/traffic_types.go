package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Traffic names the routes that share requests between the new and the stable version. The steps
// have the percentages.
//
// +kubebuilder:validation:XValidation:rule="!has(self.oldPodsDelaySeconds) || self.oldPodsDelaySeconds == 0 || (has(self.keepOldPods) && self.keepOldPods)",message="oldPodsDelaySeconds needs keepOldPods: true"
type Traffic struct {
	// Routes are the routes that bring requests to the pods: 1 to 8. For each Service that they name,
	// Sluice makes two more that select one version each (<service>-stable and <service>-canary). The
	// routes refer to these while a release is in progress.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:XValidation:rule="self.all(a, self.filter(b, b.kind == a.kind && b.name == a.name && b.service == a.service && (has(b.__namespace__) ? b.__namespace__ : '') == (has(a.__namespace__) ? a.__namespace__ : '')).size() == 1)",message="names a route and Service twice"
	// +listType=atomic
	Routes []TrafficRoute `json:"routes"`

	// KeepOldPods keeps all pods of the stable version until the gates of the last step have passed,
	// so that going back needs no new pods (blue-green). The release then needs twice as many pods.
	// Default false: a version keeps as many pods as its share of the requests needs.
	// +optional
	KeepOldPods bool `json:"keepOldPods,omitempty"`

	// OldPodsDelaySeconds is the time, in seconds, for which old pods are kept after the gates of the
	// last step have passed. Only time in which the controller runs counts. Default 0.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=604800
	// +optional
	OldPodsDelaySeconds int32 `json:"oldPodsDelaySeconds,omitempty"`

	// ReadySeconds is the time, in seconds, for which the endpoints of a version must have been ready
	// before it gets more requests: the time until all proxies know them. Default 2.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	ReadySeconds *int32 `json:"readySeconds,omitempty"`

	// DrainSeconds is the time, in seconds, for which pods stay after their share of the requests was
	// lowered. It starts when the status of the routes confirms the new weight, if they have one.
	// Default 10.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	DrainSeconds *int32 `json:"drainSeconds,omitempty"`

	// AllowOverload allows a step to give a version more requests than its pods are meant for: more
	// than their share of spec.replicas - maxUnavailable. Default false.
	// +optional
	AllowOverload bool `json:"allowOverload,omitempty"`
}

// TrafficRouteKind is a kind of route.
//
// +kubebuilder:validation:Enum=HTTPRoute;GRPCRoute;Ingress
type TrafficRouteKind string

// The values of TrafficRouteKind.
const (
	// RouteHTTP: a route for HTTP of the Gateway API (gateway.networking.k8s.io/v1).
	RouteHTTP TrafficRouteKind = "HTTPRoute"
	// RouteGRPC: a route for gRPC of the Gateway API.
	RouteGRPC TrafficRouteKind = "GRPCRoute"
	// RouteIngress: an Ingress whose controller honours the canary annotations of ingress-nginx.
	RouteIngress TrafficRouteKind = "Ingress"
)

// TrafficRoute is a route that refers to a Service of the workload.
//
// +kubebuilder:validation:XValidation:rule="self.kind != 'Ingress' || !has(self.__namespace__)",message="an Ingress can only refer to Services of its own namespace: take namespace out"
type TrafficRoute struct {
	Kind TrafficRouteKind `json:"kind"`
	// Name is the name of the route.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]{1}([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]{1}([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name"`
	// Namespace is the namespace of the route. A namespace other than the release's needs a
	// ReferenceGrant that lets BatchReleases (rollouts.sluice.dev) of the release's namespace refer to
	// the route. Default: the namespace of the release.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]{1}([-a-z0-9]*[a-z0-9])?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Service is the Service, in the namespace of the release, that the Services of the two versions
	// replace in the route. It selects the pods of the workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]{1}([-a-z0-9]*[a-z0-9])?$`
	Service string `json:"service"`
}

// RequestMatch selects requests that go to the new version at any weight. All of its conditions
// must hold for a request.
//
// +kubebuilder:validation:XValidation:rule="has(self.path) || (has(self.headers) && self.headers.size() > 0) || (has(self.queryParams) && self.queryParams.size() > 0)",message="name a path, a header or a query parameter"
type RequestMatch struct {
	// Path is the path of the request. Not for GRPCRoutes.
	// +optional
	Path *PathMatch `json:"path,omitempty"`
	// Headers are headers that must all match.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	Headers []ValueMatch `json:"headers,omitempty"`
	// QueryParams are query parameters that must all match. Not for GRPCRoutes.
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	// +optional
	QueryParams []ValueMatch `json:"queryParams,omitempty"`
}

// MatchType is the comparison of a value.
//
// +kubebuilder:validation:Enum=Exact;RegularExpression
type MatchType string

// PathMatchType is the comparison of a path.
//
// +kubebuilder:validation:Enum=Exact;PathPrefix;RegularExpression
type PathMatchType string

// The types of matches, as in the Gateway API.
const (
	MatchExact             MatchType = "Exact"
	MatchRegularExpression MatchType = "RegularExpression"

	PathExact             PathMatchType = "Exact"
	PathPrefix            PathMatchType = "PathPrefix"
	PathRegularExpression PathMatchType = "RegularExpression"
)

// PathMatch is a path to compare with.
//
// +kubebuilder:validation:XValidation:rule="self.type == 'RegularExpression' || (self.value.matches('^/([-A-Za-z0-9/._~!$&()*+,;=:@]|%[0-9a-fA-F]{2})*$') && !self.value.matches('//|/[.][.]?(/|$)|%2[fF]'))",fieldPath=".value",message="must be an absolute path as in a request, without //, /./, /../ and %2F"
type PathMatch struct {
	// Type is the comparison of the path. Default PathPrefix.
	// +kubebuilder:default=PathPrefix
	// +optional
	Type PathMatchType `json:"type,omitempty"`
	// Value is the value to compare with.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]+$`
	Value string `json:"value"`
}

// ValueMatch is a header or query parameter with the value to compare with.
type ValueMatch struct {
	// Type is the comparison of the value. Default Exact.
	// +kubebuilder:default=Exact
	// +optional
	Type MatchType `json:"type,omitempty"`
	// Name is the name of the header or query parameter.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	// +kubebuilder:validation:Pattern="^[A-Za-z0-9!#$%&'*+\\-.^_\\x60|~]+$"
	Name string `json:"name"`
	// Value is the value to compare with.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:Pattern=`^[^\x00-\x1f\x7f]+$`
	Value string `json:"value"`
}

// TrafficStatus describes the distribution of requests. It is unset if no route is shared.
type TrafficStatus struct {
	// Weight is the percentage of requests that the routes give to CanaryRevision. Requests selected
	// by matches come on top.
	Weight int32 `json:"weight"`
	// TargetWeight is the percentage that the release aims at: the step's, or less while it goes back.
	TargetWeight int32 `json:"targetWeight"`
	// Matches is the number of matches of the step in effect.
	// +optional
	Matches int32 `json:"matches,omitempty"`
	// StableRevision is the pod template hash that the stable Service selects.
	// +optional
	StableRevision string `json:"stableRevision,omitempty"`
	// CanaryRevision is the pod template hash that the canary Service selects.
	// +optional
	CanaryRevision string `json:"canaryRevision,omitempty"`
	// Awaits is the event for which requests or pods wait before they move; empty if there is none.
	// +optional
	Awaits TrafficAwaited `json:"awaits,omitempty"`
	// AwaitsObject is the route or Service of Awaits, such as "HTTPRoute shop/web", the first of
	// several; empty if there is no single object.
	// +optional
	AwaitsObject string `json:"awaitsObject,omitempty"`
	// Since is the time at which Weight or Awaits last changed.
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// PendingParents are the parents whose status does not cover the current version of a route, such
	// as "HTTPRoute web: Gateway public".
	// +optional
	PendingParents []string `json:"pendingParents,omitempty"`
	// AcceptDeadline is the time until which the release waits for PendingParents on the way back and
	// at the end. It is unset when a version is to get more requests, which waits for them without
	// limit.
	// +optional
	AcceptDeadline *metav1.Time `json:"acceptDeadline,omitempty"`
	// GaveUp means that the release no longer waits for PendingParents.
	// +optional
	GaveUp bool `json:"gaveUp,omitempty"`
	// Problem is the problem that a user must fix before requests can be moved; unset if there is
	// none.
	// +optional
	Problem *TrafficProblem `json:"problem,omitempty"`
	// Ending is set once the gates of the last step have passed: the old pods go, and the routes get
	// their original backends back.
	// +optional
	Ending *TrafficEnding `json:"ending,omitempty"`
}

// TrafficAwaited is the event for which requests or pods wait before they move.
//
// +kubebuilder:validation:Enum=Services;Endpoints;Routes;Capacity;Drain;OldPodsDelay;OldPods
type TrafficAwaited string

// The events for which requests or pods wait.
const (
	// AwaitedServices: the two Services must exist and select their versions.
	AwaitedServices TrafficAwaited = "Services"
	// AwaitedEndpoints: endpoints must be ready, for at least readySeconds.
	AwaitedEndpoints TrafficAwaited = "Endpoints"
	// AwaitedRoutes: the status of a route must confirm that the written weights are in effect.
	AwaitedRoutes TrafficAwaited = "Routes"
	// AwaitedCapacity: a version needs more pods before it gets more requests.
	AwaitedCapacity TrafficAwaited = "Capacity"
	// AwaitedDrain: pods stay for drainSeconds after their share was lowered.
	AwaitedDrain TrafficAwaited = "Drain"
	// AwaitedOldPodsDelay: old pods stay for oldPodsDelaySeconds.
	AwaitedOldPodsDelay TrafficAwaited = "OldPodsDelay"
	// AwaitedOldPods: old pods must go before the routes get their original backends back.
	AwaitedOldPods TrafficAwaited = "OldPods"
)

// TrafficProblem is a problem that a user must fix.
type TrafficProblem struct {
	Type TrafficProblemType `json:"type"`
	// Object is the object to fix, such as "HTTPRoute shop/web".
	// +optional
	Object string `json:"object,omitempty"`
	// Message is a human readable message.
	// +optional
	Message string `json:"message,omitempty"`
}

// TrafficProblemType is a problem with the routes or Services of a release.
//
// +kubebuilder:validation:Enum=Disabled;NoGatewayAPI;NamespaceNotWatched;RouteNotFound;ServiceNotFound;ServiceNotNamed;HeldByAnother;NotGranted;NotShareable;NameTaken;NotAccepted
type TrafficProblemType string

// The problems.
const (
	// TrafficDisabled: the controller runs without --traffic.
	TrafficDisabled TrafficProblemType = "Disabled"
	// TrafficNoGatewayAPI: the cluster does not serve gateway.networking.k8s.io/v1.
	TrafficNoGatewayAPI TrafficProblemType = "NoGatewayAPI"
	// TrafficNamespaceNotWatched: the controller does not watch the namespace of the route, which may
	// exist.
	TrafficNamespaceNotWatched TrafficProblemType = "NamespaceNotWatched"
	// TrafficRouteNotFound: the route does not exist.
	TrafficRouteNotFound TrafficProblemType = "RouteNotFound"
	// TrafficServiceNotFound: the Service does not exist.
	TrafficServiceNotFound TrafficProblemType = "ServiceNotFound"
	// TrafficServiceNotNamed: no rule of the route refers to the Service.
	TrafficServiceNotNamed TrafficProblemType = "ServiceNotNamed"
	// TrafficHeldByAnother: another release shares the requests for this Service.
	TrafficHeldByAnother TrafficProblemType = "HeldByAnother"
	// TrafficNotGranted: no ReferenceGrant allows the release to refer to a route of another
	// namespace, or the route to refer to the two Services.
	TrafficNotGranted TrafficProblemType = "NotGranted"
	// TrafficNotShareable: the route, or the Service, can't be shared as it is: too many rules or
	// matches, weights too large, no selector.
	TrafficNotShareable TrafficProblemType = "NotShareable"
	// TrafficNameTaken: an object with the name of one that Sluice needs does not belong to Sluice.
	TrafficNameTaken TrafficProblemType = "NameTaken"
	// TrafficNotAccepted: no Gateway accepts the route, or one can't resolve its backends.
	TrafficNotAccepted TrafficProblemType = "NotAccepted"
)

// TrafficEnding is the end of a release with traffic.
type TrafficEnding struct {
	// Since is the time at which the gates of the last step had passed.
	Since metav1.Time `json:"since"`
	// WaitedSeconds is the time, in seconds, for which a controller has watched old pods being kept
	// since then. It is updated at intervals.
	// +optional
	WaitedSeconds int32 `json:"waitedSeconds,omitempty"`
}

// The defaults of Traffic.
const (
	DefaultTrafficReadySeconds = 2
	DefaultTrafficDrainSeconds = 10
)
