package rollout

import (
	"context"
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/workload"
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

// A Service with publishNotReadyAddresses has ready endpoints for pods that are not, and for those that go.
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

// In the middle of a release the cache alone is asked for the Deployment, and has no labels of its pods.
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
			r := &Reconciler{live: server}
			cached := unstripped()
			cached.UID = "u"
			stripped(t, cached)
			v := &view{process: newProcess(clock.RealClock{}), release: &v1alpha1.BatchRelease{}, workload: &workload.Deployment{Deployment: cached}}
			v.release.Spec.WorkloadRef.Kind = "Deployment"
			user, problem, err := r.userService(t.Context(), v, "web")
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
