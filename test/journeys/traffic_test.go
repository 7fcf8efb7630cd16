package journeys

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// newTrafficWorld returns a world with a Service "web", a route "web" that sends it all requests
// for / and none of those for /api, and a controller that may share requests. No Gateway runs:
// routes take effect at once.
func newTrafficWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	cptest.GatewayAPI(t)
	w := worldOn(t, cptest.Access(t), cptest.Config(t), cptest.Namespace(t), trafficKinds()...)
	w.routeRequests()
	return w
}

// trafficKinds returns the further kinds of a release with traffic.
func trafficKinds() []client.ObjectList {
	routes := &unstructured.UnstructuredList{}
	routes.SetAPIVersion("gateway.networking.k8s.io/v1")
	routes.SetKind("HTTPRouteList")
	return []client.ObjectList{routes, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}}
}

// routeRequests makes the Service and the route, and lets controllers share their requests.
func (w *world) routeRequests() {
	w.Helper()
	w.options = func(o *app.Options) { o.Traffic = true }
	w.applyShipped("components/traffic/role.yaml")
	w.applyShipped("components/traffic/role_binding.yaml")
	w.create(userService())
	w.create(httpRoute())
}

// userService returns the Service as its user has it.
func userService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}}},
	}
}

// httpRoute returns the route as its user has it.
func httpRoute() *unstructured.Unstructured {
	backend := func(name string) map[string]any { return map[string]any{"name": name, "port": int64(80)} }
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{
			"hostnames": []any{"shop.example.com"},
			"rules": []any{
				map[string]any{
					"matches":     []any{map[string]any{"path": map[string]any{"type": "PathPrefix", "value": "/api"}}},
					"backendRefs": []any{backend("api")},
				},
				map[string]any{"backendRefs": []any{backend("web")}},
			},
		},
	}}
}

// sharing returns a release of web:2 whose steps are "pods/requests".
func sharing(image string, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	r := release(image, steps...)
	r.Spec.Strategy.Traffic = &v1alpha1.Traffic{
		Routes:       []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}},
		ReadySeconds: new(int32(0)), DrainSeconds: new(int32(0)),
	}
	return r
}

func stepOf(replicas, requests string, gates ...v1alpha1.GatePolicy) v1alpha1.Step {
	s := step(replicas, gates...)
	s.Traffic = requests
	return s
}

// keepsOld has a release keep all old pods until its end.
func keepsOld(r *v1alpha1.BatchRelease) *v1alpha1.BatchRelease {
	r.Spec.Strategy.Traffic.KeepOldPods = true
	return r
}

// gets wants the route to give the new version so many percent, and its status to say so.
func gets(percent int32) check {
	return func(s *scene) error {
		want := map[string]int32{"web-stable": hundred - percent, "web-canary": percent}
		for name, share := range want {
			if share == 0 {
				delete(want, name)
			}
		}
		if diff := cmp.Diff(want, shares(s.routes["web"], "web")); diff != "" {
			return fmt.Errorf("the route shares requests as (-want +got):\n%s", diff)
		}
		if told := s.releases["web"].Status.Traffic; told == nil || told.Weight != percent {
			return fmt.Errorf("want %d%% in the status, have %+v", percent, told)
		}
		return nil
	}
}

// routeOf returns the user's part of the route.
func routeOf(s *scene) any {
	route := s.routes["web"]
	if route == nil {
		return nil
	}
	return []any{route.Object["spec"], route.GetAnnotations()}
}

// givenBack checks that the route is as before, and that the Services are gone.
func givenBack(before any) check {
	return func(s *scene) error {
		if diff := cmp.Diff(before, routeOf(s)); diff != "" {
			return fmt.Errorf("the route is not what it was (-want +got):\n%s", diff)
		}
		if len(s.services) != 1 {
			return fmt.Errorf("want the user's Service alone, have %d", len(s.services))
		}
		return nil
	}
}

// routed returns the route before a release.
func (w *world) routed() any {
	w.Helper()
	return routeOf(w.await(func(s *scene) error {
		if s.routes["web"] == nil {
			return fmt.Errorf("want a route")
		}
		return nil
	}))
}

// TestTrafficCanary: the weight of the new version grows step by step, and then the route is as
// before.
func TestTrafficCanary(t *testing.T) {
	w := newTrafficWorld(t)
	w.startController()
	w.deployed(deployment(10, rolling(1, 0)))
	before := w.routed()
	w.create(sharing("web:2", stepOf("10%", "1%"), stepOf("10%", "10%"), stepOf("50%", "50%"), stepOf("100%", "100%")))
	w.await(all(web.blocksAt(0), gets(1), web.runs(pods{"web:1": 10, "web:2": 1})))
	w.confirm("web")
	w.await(all(web.blocksAt(1), gets(10), web.runs(pods{"web:1": 9, "web:2": 1})))
	w.confirm("web")
	w.await(all(web.blocksAt(2), gets(50), web.runs(pods{"web:1": 5, "web:2": 5})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10), givenBack(before)))
}

// wantNoneElseScaled wants no ReplicaSet to have been scaled by anybody else while the workload was
// held (T2).
func (w *world) wantNoneElseScaled() {
	w.Helper()
	for writer, n := range w.findings(web).scalings {
		if writer != v1alpha1.OwnerRollout {
			w.Errorf("%s scaled %d times while the workload was held", writer, n)
		}
	}
}

// autoscale sets spec.replicas as an HPA does.
func (w *world) autoscale(replicas int32) {
	w.Helper()
	d := deployment(0)
	d.Namespace = w.namespace
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: replicas}}
	if err := w.SubResource("scale").Update(w.Context(), d, client.WithSubResourceBody(scale)); err != nil {
		w.Fatalf("scale: %v", err)
	}
}

// TestTrafficBack: a jump back takes requests back at once, and leaves the pods; in the end a
// rollback does, and the pods go after.
func TestTrafficBack(t *testing.T) {
	w := newTrafficWorld(t)
	w.startController()
	w.deployed(deployment(4, rolling(1, 0)))
	before := w.routed()
	w.create(keepsOld(sharing("web:2", stepOf("100%", "0%"), stepOf("100%", "50%"), stepOf("100%", "100%", manual()))))
	for index := range int32(2) {
		w.await(web.blocksAt(index))
		w.confirm("web")
	}
	w.await(all(web.blocksAt(2), gets(100), web.runs(pods{"web:1": 4, "web:2": 4})))
	w.jumpTo(1)
	w.await(all(jumped(2, 1, "nextStepIndex"), web.blocksAt(1), gets(50), web.runs(pods{"web:1": 4, "web:2": 4})))
	w.jumpTo(0)
	w.await(all(jumped(1, 0, "nextStepIndex"), web.blocksAt(0), gets(0), web.runs(pods{"web:1": 4, "web:2": 4})))
	w.jumpTo(1)
	w.await(all(web.blocksAt(1), gets(50)))
	w.rollBack()
	w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, ""), web.serves("web:1", 4), givenBack(before)))
}

// writesOfTraffic is about how many writes a release of two steps with requests takes.
const writesOfTraffic = 22

// TestTrafficKilled: Killed at any write (each with -every-moment, else one in 15), before it or
// after it, the next process goes on to the same end.
func TestTrafficKilled(t *testing.T) {
	for name, when := range map[string]moment{"Before": before, "After": after} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, write := range moments(t.Name(), writesOfTraffic) {
				t.Run(momentName(write, writesOfTraffic), func(t *testing.T) {
					w := newTrafficWorld(t)
					w.deployed(deployment(4, rolling(1, 0)))
					route := w.routed()
					w.create(sharing("web:2", stepOf("25%", "25%"), stepOf("100%", "100%")))
					first := w.startControllerUntil(w.nthWrite(write, when))
					w.awaitConfirming(either(first.died, all(web.completed, givenBack(route))))
					first.kill()
					w.startController()
					w.awaitConfirming(all(web.completed, web.serves("web:2", 4), givenBack(route)))
				})
			}
		})
	}
}

// nthWrite returns when the nth write to the namespace is sent.
func (w *world) nthWrite(n int64, when moment) killAt {
	var sent atomic.Int64 // several are sent at once
	return func(r *http.Request) moment {
		if !w.changes(r) || sent.Add(1) != n {
			return goOn
		}
		return when
	}
}
