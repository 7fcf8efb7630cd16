package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluice-dev/sluice/test/cluster/clients"
	"github.com/sluice-dev/sluice/test/dataplane"
	"github.com/sluice-dev/sluice/test/node"
)

const (
	// shared is the namespace of a service in two versions.
	shared = "shared"
	// The load on a service behind a data plane: some 1,500 requests a second.
	senders  = 64
	interval = 40 * time.Millisecond
)

// split is a service in two versions, each with a Deployment and a Service of its own, and a route
// that shares requests among them. Its data plane is this machine's.
type split struct {
	*cluster

	plane    *dataplane.DataPlane
	instance *dataplane.Instance
	route    *gatewayv1.HTTPRoute
	load     *clients.Load
}

// needDataPlane returns the path of Traefik, and skips the test if there is none.
func (c *cluster) needDataPlane() string {
	c.Helper()
	traefik := os.Getenv(node.TraefikEnv)
	if traefik == "" {
		c.Skip("needs a data plane that reaches pods: make test-node")
	}
	return traefik
}

// openDataPlane starts a data plane with one instance, whose Gateway is in a namespace of its own,
// and skips the test if there can be none.
func (c *cluster) openDataPlane(namespace string) (*dataplane.DataPlane, *dataplane.Instance) {
	c.Helper()
	traefik := c.needDataPlane()
	cfg, err := clientcmd.BuildConfigFromFlags("", os.Getenv(clientcmd.RecommendedConfigPathEnvVar))
	if err != nil {
		c.Fatalf("read kubeconfig: %v", err)
	}
	if err := errors.Join(gatewayv1.Install(c.Scheme()), dataplane.InstallCRDs(c.Context(), cfg)); err != nil {
		c.Fatal(err)
	}
	options := dataplane.Options{Traefik: traefik, Config: cfg, Namespace: namespace, Dir: c.TempDir()}
	plane, err := dataplane.New(c.Context(), options)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		if err := plane.Close(context.WithoutCancel(c.Context())); err != nil {
			c.Errorf("close the data plane: %v", err)
		}
	})
	instance, err := plane.Start(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	return plane, instance
}

// startSplit starts a data plane and two versions of a service behind it, and puts them under load:
// nine of ten requests go to v1.
func (c *cluster) startSplit() *split {
	c.Helper()
	plane, instance := c.openDataPlane(shared + "-gateway")
	s := &split{cluster: c, plane: plane, instance: instance}
	s.apply(fmt.Sprintf("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: %s\n", shared))
	for _, version := range []string{"v1", "v2"} {
		s.startVersion(version)
	}
	s.route = s.makeRoute("shared", rule(backend("v1", 90), backend("v2", 10)))
	s.await("the route serves", func() error { return s.wantStatuses("/", map[int]int{http.StatusOK: 10}) })
	s.load = clients.Start(context.WithoutCancel(c.Context()), clients.Options{URL: instance.URL, Clients: senders, Interval: interval})
	c.Cleanup(s.load.Stop)
	return s
}

// startVersion starts two pods of a version of the service, behind a Service of that name.
func (s *split) startVersion(version string) {
	s.Helper()
	head := strings.Replace(deploymentHead, "replicas: 6", "replicas: 2", 1)
	s.run(fmt.Sprintf(head+podTemplate, version, version), "kubectl", "apply", "--namespace", shared, "--filename", "-")
	s.makeService(version, version)
	s.await(version+" is ready", s.readyPods(shared, "app="+version, 2))
}

// makeService makes a Service of the pods of a version.
func (s *split) makeService(name, version string) {
	s.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: shared},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": version},
			Ports:    []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
		},
	}
	if err := s.Create(s.Context(), service); err != nil {
		s.Fatalf("make Service: %v", err)
	}
}

// makeRoute makes a route with rules.
func (s *split) makeRoute(name string, rules ...gatewayv1.HTTPRouteRule) *gatewayv1.HTTPRoute {
	s.Helper()
	route := &gatewayv1.HTTPRoute{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: shared},
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{s.plane.ParentRef()}},
			Rules:           rules,
		},
	}
	if err := s.Create(s.Context(), route); err != nil {
		s.Fatalf("make HTTPRoute: %v", err)
	}
	return route
}

// rule shares requests among backends.
func rule(backends ...gatewayv1.HTTPBackendRef) gatewayv1.HTTPRouteRule {
	return gatewayv1.HTTPRouteRule{BackendRefs: backends}
}

// under returns the rule for the requests below a path, with a header if there is one.
func under(path string, r gatewayv1.HTTPRouteRule, header ...gatewayv1.HTTPHeaderMatch) gatewayv1.HTTPRouteRule {
	r.Matches = []gatewayv1.HTTPRouteMatch{{
		Path:    &gatewayv1.HTTPPathMatch{Type: new(gatewayv1.PathMatchPathPrefix), Value: &path},
		Headers: header,
	}}
	return r
}

func backend(service string, weight int32) gatewayv1.HTTPBackendRef {
	return gatewayv1.HTTPBackendRef{BackendRef: gatewayv1.BackendRef{
		BackendObjectReference: gatewayv1.BackendObjectReference{Name: gatewayv1.ObjectName(service), Port: new(gatewayv1.PortNumber(80))},
		Weight:                 &weight,
	}}
}

// put writes the rules of the route, and returns when that was done, and when the status had it.
func (s *split) put(rules ...gatewayv1.HTTPRouteRule) (written, observed time.Time) {
	s.Helper()
	before := s.route.DeepCopy()
	s.route.Spec.Rules = rules
	if err := s.Patch(s.Context(), s.route, client.MergeFrom(before)); err != nil {
		s.Fatalf("write HTTPRoute: %v", err)
	}
	written = time.Now()
	s.await("the status has it", func() error {
		accepted, resolved, err := s.standing(s.route)
		if err == nil && (accepted != metav1.ConditionTrue || resolved != metav1.ConditionTrue) {
			return fmt.Errorf("the route is not served: %v", s.route.Status.Parents)
		}
		return err
	})
	return written, time.Now()
}

// standing reads what the data plane says of a route as it is.
func (s *split) standing(route *gatewayv1.HTTPRoute) (accepted, resolved metav1.ConditionStatus, err error) {
	if err := s.Get(s.Context(), client.ObjectKeyFromObject(route), route); err != nil {
		return "", "", err
	}
	if len(route.Status.Parents) != 1 {
		return "", "", fmt.Errorf("%d parents say something", len(route.Status.Parents))
	}
	said := func(condition gatewayv1.RouteConditionType) metav1.ConditionStatus {
		c := apimeta.FindStatusCondition(route.Status.Parents[0].Conditions, string(condition))
		if c == nil || c.ObservedGeneration != route.Generation {
			err = fmt.Errorf("nothing is said of generation %d: %v", route.Generation, c)
			return ""
		}
		return c.Status
	}
	return said(gatewayv1.RouteConditionAccepted), said(gatewayv1.RouteConditionResolvedRefs), err
}

func (s *split) wantStatuses(path string, want map[int]int) error {
	return wantStatuses(s.instance.URL+path, want)
}

// wantStatuses sends requests, one after the other, and wants so many of each status.
func wantStatuses(url string, want map[int]int) error {
	all := 0
	for _, n := range want {
		all += n
	}
	got := map[int]int{}
	for range all {
		answer, err := http.Get(url)
		if err != nil {
			return err
		}
		answer.Body.Close()
		got[answer.StatusCode]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		return fmt.Errorf("statuses (-want +got):\n%s", diff)
	}
	return nil
}

// answered waits for so many more answers, and returns what came of all requests meanwhile.
func (c *cluster) answered(load *clients.Load, more int) clients.Counts {
	c.Helper()
	before := load.Counts()
	c.await(fmt.Sprintf("%d requests", more), func() error {
		if sent := load.Counts().Sent - before.Sent; sent < more {
			return fmt.Errorf("%d were sent", sent)
		}
		return nil
	})
	return load.Counts().Since(before)
}

// left waits until a version gets no requests any more, and returns when it got the last.
func (s *split) left(version string) (last time.Time) {
	s.Helper()
	s.await(version+" gets no requests any more", func() error {
		last = s.load.Counts().Last[version]
		if ago := time.Since(last); ago < time.Second {
			return fmt.Errorf("it got one %v ago", ago)
		}
		return nil
	})
	return last
}
