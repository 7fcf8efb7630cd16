package rollout

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

// routedServer is an API server with the Deployment ofTomorrow and one Service.
type routedServer struct {
	client.Reader

	service corev1.Service
}

func (s *routedServer) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch object := into.(type) {
	case *unstructured.Unstructured:
		return json.Unmarshal([]byte(ofTomorrow), &object.Object)
	case *corev1.Service:
		if key.Name == s.service.Name {
			s.service.DeepCopyInto(object)
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: "services"}, key.Name)
}

// TestEndpointsThatAnswer: a Service with publishNotReadyAddresses has ready endpoints for pods
// that are not, and for those that go.
func TestEndpointsThatAnswer(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		ready, serving, going *bool
		want                  bool
	}{
		"ready":                      {new(true), new(true), new(false), true},
		"nothing is said":            {nil, nil, nil, true},
		"not ready":                  {new(false), new(false), new(false), false},
		"going":                      {new(false), new(true), new(true), false},
		"not ready, but published":   {new(true), new(false), new(false), false},
		"going, and still published": {new(true), new(true), new(true), false},
	} {
		if got := answers(&discoveryv1.EndpointConditions{Ready: tc.ready, Serving: tc.serving, Terminating: tc.going}); got != tc.want {
			t.Errorf("%s: it answers: %t, want %t", name, got, tc.want)
		}
	}
}

// TestForgedEndpointSlices: EndpointSlices of other owners than the native controller are ignored,
// and those of the controller count each pod once.
func TestForgedEndpointSlices(t *testing.T) {
	t.Parallel()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "web-canary", UID: "s", Labels: map[string]string{v1alpha1.RevisionLabel: "v2"},
	}}
	pod := func(uid types.UID) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{
			Addresses: []string{"10.0.0.1"}, TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "shop", Name: string(uid), UID: uid},
		}
	}
	type change = func(*discoveryv1.EndpointSlice)
	slice := func(endpoints []discoveryv1.Endpoint, changes ...change) discoveryv1.EndpointSlice {
		one := discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{
			Labels:          map[string]string{discoveryv1.LabelManagedBy: sliceController, v1alpha1.RevisionLabel: "v2"},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(service, corev1.SchemeGroupVersion.WithKind("Service"))},
		}, Endpoints: endpoints}
		for _, change := range changes {
			change(&one)
		}
		return one
	}
	label := func(key, value string) change { return func(s *discoveryv1.EndpointSlice) { s.Labels[key] = value } }
	family := func(is discoveryv1.AddressType) change {
		return func(s *discoveryv1.EndpointSlice) { s.AddressType = is }
	}
	unlabelled := func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelManagedBy) }
	owner := func(change func(*metav1.OwnerReference)) change {
		return func(s *discoveryv1.EndpointSlice) { change(&s.OwnerReferences[0]) }
	}
	many := func(n int) (all []discoveryv1.Endpoint) {
		for i := range n {
			all = append(all, pod(types.UID(fmt.Sprint(i))))
		}
		return all
	}
	aimed := func(change func(*corev1.ObjectReference)) []discoveryv1.Endpoint {
		one := pod("p")
		change(one.TargetRef)
		return []discoveryv1.Endpoint{one}
	}
	own, forged := slice(many(2)), many(100)
	for name, tc := range map[string]struct {
		slices []discoveryv1.EndpointSlice
		ready  int32
		empty  bool
	}{
		"none":                     {nil, 0, false},
		"its own":                  {[]discoveryv1.EndpointSlice{own}, 2, false},
		"its own, without pods":    {[]discoveryv1.EndpointSlice{slice(nil)}, 0, true},
		"its own, of two families": {[]discoveryv1.EndpointSlice{own, own}, 2, false},
		"its own, of two families, in several slices": {[]discoveryv1.EndpointSlice{
			slice([]discoveryv1.Endpoint{pod("a"), pod("b")}, family(discoveryv1.AddressTypeIPv4)), slice([]discoveryv1.Endpoint{pod("c")}, family(discoveryv1.AddressTypeIPv4)),
			slice([]discoveryv1.Endpoint{pod("a"), pod("b"), pod("c")}, family(discoveryv1.AddressTypeIPv6)),
		}, 3, false},
		"... of which one has none yet":          {[]discoveryv1.EndpointSlice{own, slice(nil, family(discoveryv1.AddressTypeIPv6))}, 2, false},
		"... which have none":                    {[]discoveryv1.EndpointSlice{slice(nil), slice(nil, family(discoveryv1.AddressTypeIPv6))}, 0, true},
		"... of which one is about what was":     {[]discoveryv1.EndpointSlice{own, slice(many(2), family(discoveryv1.AddressTypeIPv6), label(v1alpha1.RevisionLabel, "v1"))}, 0, false},
		"... of which one was left to go":        {[]discoveryv1.EndpointSlice{slice(nil), slice(nil, label(v1alpha1.RevisionLabel, "v1"))}, 0, false},
		"made by hand":                           {[]discoveryv1.EndpointSlice{own, slice(forged, unlabelled)}, 2, false},
		"... of pods that are gone":              {[]discoveryv1.EndpointSlice{slice(nil), slice(forged, unlabelled)}, 0, true},
		"... of another version":                 {[]discoveryv1.EndpointSlice{own, slice(forged, unlabelled, label(v1alpha1.RevisionLabel, "v1"))}, 2, false},
		"... alone":                              {[]discoveryv1.EndpointSlice{slice(forged, unlabelled)}, 0, false},
		"mirrored from Endpoints":                {[]discoveryv1.EndpointSlice{own, slice(forged, label(discoveryv1.LabelManagedBy, "endpointslicemirroring-controller.k8s.io"))}, 2, false},
		"of another Service of the name":         {[]discoveryv1.EndpointSlice{own, slice(forged, owner(func(o *metav1.OwnerReference) { o.UID = "before" }))}, 2, false},
		"of an owner that is not its controller": {[]discoveryv1.EndpointSlice{own, slice(forged, owner(func(o *metav1.OwnerReference) { o.Controller = nil }))}, 2, false},
		"of nobody":                              {[]discoveryv1.EndpointSlice{own, slice(forged, func(s *discoveryv1.EndpointSlice) { s.OwnerReferences = nil })}, 2, false},
		"its own, of what it selected before":    {[]discoveryv1.EndpointSlice{own, slice(many(2), label(v1alpha1.RevisionLabel, "v1"))}, 0, false},
		"addresses that are no pods":             {[]discoveryv1.EndpointSlice{own, slice([]discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}})}, 2, false},
		"pods without identity":                  {[]discoveryv1.EndpointSlice{own, slice(aimed(func(r *corev1.ObjectReference) { r.UID = "" }))}, 2, false},
		"pods of another namespace":              {[]discoveryv1.EndpointSlice{own, slice(aimed(func(r *corev1.ObjectReference) { r.Namespace = "blog" }))}, 2, false},
		"other objects than pods":                {[]discoveryv1.EndpointSlice{own, slice(aimed(func(r *corev1.ObjectReference) { r.Kind = "Node" }))}, 2, false},
		"a pod a thousand times":                 {[]discoveryv1.EndpointSlice{slice(slices.Repeat(many(1), 1000))}, 1, false},
	} {
		if ready, empty := endpointsIn(service, tc.slices); ready != tc.ready || empty != tc.empty {
			t.Errorf("%s: want %d ready, empty %t; got %d, %t", name, tc.ready, tc.empty, ready, empty)
		}
	}
}

// TestServiceThatHasTheNameOfASide: no message asks to delete the Service of another release,
// which gets requests.
func TestServiceThatHasTheNameOfASide(t *testing.T) {
	t.Parallel()
	owned := func(by string, owner string) corev1.Service {
		return corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-canary", OwnerReferences: []metav1.OwnerReference{
			{Kind: by, Name: owner, UID: "another", Controller: new(true)},
		}}}
	}
	for name, tc := range map[string]struct {
		service corev1.Service
		want    v1alpha1.TrafficProblemType
	}{
		"a user's":                   {corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-canary"}}, v1alpha1.TrafficNameTaken},
		"another controller's":       {owned("Canary", "blog"), v1alpha1.TrafficNameTaken},
		"another release's":          {owned("BatchRelease", "blog"), v1alpha1.TrafficHeldByAnother},
		"a release's before, as web": {owned("BatchRelease", "web"), v1alpha1.TrafficNameTaken},
	} {
		v := &view{release: &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "own"}}}
		if problem := taken(v, &tc.service); problem.Type != tc.want || problem.Object != "Service shop/web-canary" {
			t.Errorf("%s: want %s, got %+v", name, tc.want, problem)
		}
	}
}

// TestServiceSelectsThePodsOfAWorkloadFromTheCache: in the middle of a release the cache alone is
// asked for the Deployment, and has no labels of its pods.
func TestServiceSelectsThePodsOfAWorkloadFromTheCache(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		service  string
		selector map[string]string
		want     v1alpha1.TrafficProblemType
	}{
		"it selects the pods":    {"web", map[string]string{"app": "web"}, ""},
		"it selects other pods":  {"web", map[string]string{"app": "shop"}, v1alpha1.TrafficNotShareable},
		"it selects no pods":     {"web", nil, v1alpha1.TrafficNotShareable},
		"there is no such thing": {"shop", map[string]string{"app": "web"}, v1alpha1.TrafficServiceNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := &routedServer{}
			server.service.Name, server.service.Spec.Selector = tc.service, tc.selector
			r := newReconciler(&cluster{live: server})
			cached := unstripped()
			cached.UID = "u"
			stripped(t, cached)
			v := &view{process: newProcess(clock.RealClock{}), release: &v1alpha1.BatchRelease{}, workload: &deployment.Object{Deployment: cached}}
			v.process.traffic = newTrafficProcess(clock.RealClock{})
			v.traffic = trafficSeen{users: map[string]*corev1.Service{}, live: map[string]bool{}}
			v.release.Spec.WorkloadRef.Kind = "Deployment"
			user, problem, err := r.sides.userService(t.Context(), v, "web")
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tc.want == "" && (user == nil || problem != nil):
				t.Errorf("it can't have sides: %v", problem)
			case tc.want != "" && (problem == nil || problem.Type != tc.want):
				t.Errorf("want problem %s, got %v", tc.want, problem)
			}
		})
	}
}
