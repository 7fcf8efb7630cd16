package app_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// startBlocked begins a release that shares requests and waits at a gate.
func startBlocked(t *testing.T) (client.Client, *v1alpha1.BatchRelease) {
	t.Helper()
	c, namespace := startTraffic(t)
	release := newTrafficRelease(t, namespace)
	create(t, c, release)
	awaitRelease(t, c, release, "blocking", blocking)
	return c, release
}

func readService(t *testing.T, c client.Client, namespace, name string) *corev1.Service {
	t.Helper()
	service := &corev1.Service{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, service); err != nil {
		t.Fatalf("read Service %s: %v", name, err)
	}
	return service
}

func patchService(t *testing.T, c client.Client, service *corev1.Service, change func(*corev1.Service)) {
	t.Helper()
	before := service.DeepCopy()
	change(service)
	if err := c.Patch(t.Context(), service, client.MergeFrom(before)); err != nil {
		t.Fatalf("patch Service %s: %v", service.Name, err)
	}
}

// TestSidesFollowTheService: a user's change of the Service in mid-release applies to its sides,
// too. A removed port stays there while a route refers to it, and goes with the release.
func TestSidesFollowTheService(t *testing.T) {
	t.Parallel()
	c, release := startBlocked(t)
	namespace := release.Namespace
	patchService(t, c, readService(t, c, namespace, "web"), func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Name: "http", Port: 8080, TargetPort: intstr.FromInt32(8080)}}
		s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: new(int32(60))}}
		s.Spec.PublishNotReadyAddresses, s.Spec.TrafficDistribution = true, new(corev1.ServiceTrafficDistributionPreferClose)
		s.Spec.InternalTrafficPolicy = new(corev1.ServiceInternalTrafficPolicyLocal)
	})
	follows := func() error {
		for _, name := range []string{"web-stable", "web-canary"} {
			spec := readService(t, c, namespace, name).Spec
			var ports []string
			for _, p := range spec.Ports {
				ports = append(ports, fmt.Sprint(p.Name, " ", p.Port, " ", p.TargetPort.String()))
			}
			if diff := cmp.Diff([]string{"port-8080 8080 8080", "http 80 8080"}, ports); diff != "" {
				return fmt.Errorf("ports of %s: -want +got:\n%s", name, diff)
			}
			if spec.SessionAffinity != corev1.ServiceAffinityClientIP || *spec.SessionAffinityConfig.ClientIP.TimeoutSeconds != 60 || !spec.PublishNotReadyAddresses ||
				spec.TrafficDistribution == nil || *spec.InternalTrafficPolicy != corev1.ServiceInternalTrafficPolicyLocal {
				return fmt.Errorf("want %s to forward as web does, got %+v", name, spec)
			}
		}
		return nil
	}
	cptest.Eventually(t, soon, follows)

	git := newRoute(namespace)
	refs := rulesIn(git)[0].(map[string]any)["backendRefs"].([]any)
	refs[0].(map[string]any)["port"] = int64(8080)
	gitopsTools["Argo CD"].apply(t, c, git)
	cptest.Eventually(t, soon, func() error {
		route := readRoute(t, c, namespace)
		if diff := cmp.Diff([]string{"web-stable 270", "web-canary 30", "api 100"}, backendsOf(route)); diff != "" {
			return fmt.Errorf("want the route shared again: -want +got:\n%s", diff)
		}
		if port := rulesIn(route)[0].(map[string]any)["backendRefs"].([]any)[1].(map[string]any)["port"]; port != int64(8080) {
			return fmt.Errorf("want the new port, got %v", port)
		}
		return nil
	})
	confirm(t, c, release)
	awaitRelease(t, c, release, "completed", completed)
	if diff := cmp.Diff(rulesIn(git)[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)["port"],
		rulesIn(readRoute(t, c, namespace))[0].(map[string]any)["backendRefs"].([]any)[0].(map[string]any)["port"]); diff != "" {
		t.Errorf("want the route with its new port: -want +got:\n%s", diff)
	}
	wantPatches(t, namespace, 2) // one for each side
}

// wantPatches wants the controller of a namespace to have changed Services so often.
func wantPatches(t *testing.T, namespace string, times int) {
	t.Helper()
	counts, err := cptest.Access(t).CountRequests(func(r controlplane.Request) bool {
		return strings.HasPrefix(r.UserAgent, "sluice/"+namespace) && r.Namespace == namespace && r.Resource == "services"
	})
	if err != nil || counts["patch"] != times {
		t.Errorf("want %d changes of Services, got %v, %v", times, counts, err)
	}
}

// TestEditedSideIsPutBack: every edit of a side's Service is reverted, also while the release is
// stopped.
func TestEditedSideIsPutBack(t *testing.T) {
	t.Parallel()
	c, release := startBlocked(t)
	before := map[string]*corev1.Service{}
	for _, name := range []string{"web-stable", "web-canary"} {
		before[name] = readService(t, c, release.Namespace, name)
	}
	suspend := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))
	for what, change := range map[string]func(*corev1.Service){
		"a key of the selector more": func(s *corev1.Service) { s.Spec.Selector["tier"] = "front" },
		"a key of the selector less": func(s *corev1.Service) { delete(s.Spec.Selector, "app") },
		"the selector":               func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "shop"} },
		"the revision":               func(s *corev1.Service) { s.Spec.Selector["pod-template-hash"] = "0" },
		"a label":                    func(s *corev1.Service) { delete(s.Labels, v1alpha1.TrafficLabel) },
		"the port that it leads to":  func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(9) },
		"the type":                   func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort },
		"external addresses":         func(s *corev1.Service) { s.Spec.ExternalIPs = []string{"192.0.2.1"} },
		"the affinity":               func(s *corev1.Service) { s.Spec.SessionAffinity = corev1.ServiceAffinityClientIP },
	} {
		for name, was := range before {
			patchService(t, c, readService(t, c, release.Namespace, name), change)
			cptest.Eventually(t, soon, func() error {
				is := readService(t, c, release.Namespace, name)
				if diff := cmp.Diff(was.Spec, is.Spec) + cmp.Diff(was.Labels, is.Labels); diff != "" {
					return fmt.Errorf("want %s of %s put back: -before +now:\n%s", what, name, diff)
				}
				return nil
			})
		}
		if err := c.Patch(t.Context(), release.DeepCopy(), suspend); err != nil { // from the second on
			t.Fatalf("suspend: %v", err)
		}
	}
}

// TestAnnotationTakenAway: a route that refers to the sides of a release that names it is the
// release's, also where somebody takes away what says so.
func TestAnnotationTakenAway(t *testing.T) {
	t.Parallel()
	c, release := startBlocked(t)
	strip := func(route *unstructured.Unstructured) {
		t.Helper()
		route.SetAnnotations(nil)
		if err := c.Update(t.Context(), route); err != nil {
			t.Fatalf("take the annotation away: %v", err)
		}
	}
	shared := readRoute(t, c, release.Namespace)
	strip(shared.DeepCopy())
	cptest.Eventually(t, soon, func() error {
		if diff := cmp.Diff(userOf(shared), userOf(readRoute(t, c, release.Namespace))); diff != "" {
			return fmt.Errorf("want it put back: -before +now:\n%s", diff)
		}
		return nil
	})
	strip(readRoute(t, c, release.Namespace))
	if err := c.Delete(t.Context(), release); err != nil {
		t.Fatalf("delete: %v", err)
	}
	cptest.Eventually(t, soon, func() error {
		if diff := cmp.Diff([]string{"web 3", "api 1"}, backendsOf(readRoute(t, c, release.Namespace))); diff != "" {
			return fmt.Errorf("want the route given back: -want +got:\n%s", diff)
		}
		return nil
	})
}
