package handback_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout/traffic"
	"github.com/sluice-dev/sluice/rollout/traffic/route"
)

// routed is a release in the middle that shares requests by an HTTPRoute and an Ingress, with the Deployment that it holds.
type routed struct {
	*testing.T
	client    client.Client
	clock     clock.Clock
	namespace string
	release   *v1alpha1.BatchRelease
	// before are the routes as the user has written them.
	before map[v1alpha1.TrafficRouteKind]*unstructured.Unstructured
}

const (
	httpRoute = `
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: web}
spec:
  rules:
  - backendRefs: [{name: web, port: 80, weight: 3}, {name: api, port: 80}]`
	ingress = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, annotations: {team: shop}}
spec:
  ingressClassName: nginx
  rules:
  - {host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}`
)

func newRouted(t *testing.T) *routed {
	t.Helper()
	cptest.GatewayAPI(t)
	r := &routed{T: t, client: cptest.Client(t), clock: clock.RealClock{}, namespace: cptest.Namespace(t), before: map[v1alpha1.TrafficRouteKind]*unstructured.Unstructured{}}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:2"}}},
	}
	raw, err := json.Marshal(template)
	if err != nil {
		t.Fatal(err)
	}
	r.release = &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "shop", Finalizers: []string{v1alpha1.Finalizer}},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Template:    &runtime.RawExtension{Raw: raw},
			Strategy: v1alpha1.ReleaseStrategy{
				Steps: []v1alpha1.Step{{Replicas: intstr.FromInt32(1), Traffic: "10%"}, {Replicas: intstr.FromString("100%")}},
				Traffic: &v1alpha1.Traffic{ReadySeconds: new(int32(0)), DrainSeconds: new(int32(0)), Routes: []v1alpha1.TrafficRoute{
					{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}, {Kind: v1alpha1.RouteIngress, Name: "web", Service: "web"},
				}},
			},
		},
	}
	r.create(r.release)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: "web", Annotations: map[string]string{
			v1alpha1.HoldAnnotation: `{"release":"shop","uid":"` + string(r.release.UID) + `","stable":"gone","strategy":"{\"type\":\"RollingUpdate\"}"}`,
		}},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(0)), Paused: true, Template: template,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType},
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	r.create(deployment)
	for kind, text := range map[v1alpha1.TrafficRouteKind]string{v1alpha1.RouteHTTP: httpRoute, v1alpha1.RouteIngress: ingress} {
		object := cptest.Decode(t, text)[0]
		object.SetNamespace(r.namespace)
		r.create(object)
		r.before[kind] = object.DeepCopy()
		r.share(kind, object)
	}
	return r
}

// share has a route share requests as the controller does.
func (r *routed) share(kind v1alpha1.TrafficRouteKind, object *unstructured.Unstructured) {
	r.Helper()
	share := traffic.Share{Weight: 10}
	shared, problem := route.KindOf(kind).Share(object, r.use(), share)
	if problem != nil {
		r.Fatalf("share %s: %s", kind, problem.Message)
	}
	if kind == v1alpha1.RouteIngress {
		canary, problem := route.CanaryIngress(object, r.use(), share, *metav1.NewControllerRef(r.release, v1alpha1.GroupVersion.WithKind("BatchRelease")))
		if problem != nil {
			r.Fatalf("make canary: %s", problem.Message)
		}
		r.create(canary)
	}
	if err := r.client.Update(r.Context(), shared); err != nil {
		r.Fatalf("share %s: %v", kind, err)
	}
}

func (r *routed) use() route.Use {
	key := client.ObjectKeyFromObject(r.release)
	return route.Use{Namespace: r.namespace, Service: "web", Holder: route.Holder{Release: key.String(), UID: string(r.release.UID)}}
}

func (r *routed) create(object client.Object) {
	r.Helper()
	if err := r.client.Create(r.Context(), object); err != nil {
		r.Fatalf("create %T: %v", object, err)
	}
}

// annotate sets the annotation of the HTTPRoute.
func (r *routed) annotate(text string) {
	r.Helper()
	object := r.get(v1alpha1.RouteHTTP)
	object.SetAnnotations(map[string]string{v1alpha1.TrafficAnnotation: text})
	if err := r.client.Update(r.Context(), object); err != nil {
		r.Fatalf("annotate route: %v", err)
	}
}

func (r *routed) get(kind v1alpha1.TrafficRouteKind) *unstructured.Unstructured {
	r.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(route.GroupVersionKind(kind))
	if err := r.client.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: "web"}, object); err != nil {
		r.Fatalf("read %s: %v", kind, err)
	}
	return object
}

// run runs the command, and returns what it says without the namespace, and what it could not do.
func (r *routed) run(options handback.Options) ([]string, error) {
	r.Helper()
	var said []string
	options.Namespace = r.namespace
	err := handback.New(r.client, r.clock, options, func(line string) { said = append(said, strings.ReplaceAll(line, r.namespace+"/", "")) }).Run(r.Context())
	return said, err
}

func (r *routed) must(options handback.Options) []string {
	r.Helper()
	said, err := r.run(options)
	if err != nil {
		r.Fatalf("hand back: %v", err)
	}
	return said
}

// wantHeld wants the Deployment to be held, or not to be.
func (r *routed) wantHeld(want bool) {
	r.Helper()
	var d appsv1.Deployment
	if err := r.client.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: "web"}, &d); err != nil {
		r.Fatalf("read Deployment: %v", err)
	}
	if _, held := d.Annotations[v1alpha1.HoldAnnotation]; held != want {
		r.Errorf("want the Deployment to be held: %v, its annotations are %v", want, d.Annotations)
	}
}

func (r *routed) wantFinalizers(want ...string) {
	r.Helper()
	if err := r.client.Get(r.Context(), client.ObjectKeyFromObject(r.release), r.release); err != nil {
		r.Fatalf("read release: %v", err)
	}
	if !slices.Equal(r.release.Finalizers, want) {
		r.Errorf("want finalizers %v, got %v", want, r.release.Finalizers)
	}
}

// wantRestored wants the routes to be as the user has written them, and nothing of the release beside them.
func (r *routed) wantRestored() {
	r.Helper()
	for _, kind := range slices.Sorted(maps.Keys(r.before)) {
		before, now := r.before[kind], r.get(kind)
		if diff := cmp.Diff(
			[]any{before.Object["spec"], before.GetAnnotations()}, []any{now.Object["spec"], now.GetAnnotations()}); diff != "" {
			r.Errorf("want the %s as it was (-want +got):\n%s", kind, diff)
		}
	}
	canary := &unstructured.Unstructured{}
	canary.SetGroupVersionKind(route.GroupVersionKind(v1alpha1.RouteIngress))
	err := r.client.Get(r.Context(), client.ObjectKey{Namespace: r.namespace, Name: "web-canary"}, canary)
	if !apierrors.IsNotFound(err) {
		r.Errorf("want no second Ingress, got %v", err)
	}
}

// TestRoutesFirst: routes get back what they had before pods that they send requests to may go. A dry run says so, and changes nothing.
func TestRoutesFirst(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	want := []string{
		"HTTPRoute web: would be restored: its requests go to Service web again, and no longer to web-stable and web-canary",
		"Ingress web: would be restored: its requests go to Service web again, and no longer to web-stable and web-canary",
		"Deployment web: would be handed back: ",
	}
	said := r.must(handback.Options{DryRun: true})
	wantLines(t, slices.Insert(slices.Clone(want), 2, "would wait until the status of the routes tells that they are in effect, and then 0s"), said)
	r.wantHeld(true)
	for kind, before := range r.before {
		if now := r.get(kind); cmp.Equal(before.Object["spec"], now.Object["spec"]) {
			t.Errorf("want the %s as it was held after a dry run", kind)
		}
	}

	for i := range want {
		want[i] = strings.NewReplacer("would be restored", "restored", "would be handed back", "handed back").Replace(want[i])
	}
	wantLines(t, want, r.must(handback.Options{Names: []handback.Name{{Name: "web"}}}))
	r.wantHeld(false)
	r.wantRestored()
	if diff := cmp.Diff([]string{"nothing to do: no workload is held"}, r.must(handback.Options{})); diff != "" {
		t.Errorf("a second run says (-want +got):\n%s", diff)
	}
}

// wantLines wants lines that begin so first.
func wantLines(t *testing.T, want, said []string) {
	t.Helper()
	for i, line := range want {
		if len(said) <= i || !strings.HasPrefix(said[i], line) {
			t.Fatalf("want line %d to begin with %q, got\n%s", i+1, line, strings.Join(said, "\n"))
		}
	}
}

// vanishing is a client to which a route goes away once it has been listed, or right before it is written.
type vanishing struct {
	client.Client
	list, patch func()
}

func (c vanishing) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	err := c.Client.List(ctx, list, options...)
	if c.list != nil && list.GetObjectKind().GroupVersionKind().Kind == "HTTPRouteList" {
		c.list()
	}
	return err
}

func (c vanishing) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if c.patch != nil && object.GetObjectKind().GroupVersionKind().Kind == "HTTPRoute" {
		c.patch()
	}
	return c.Client.Patch(ctx, object, patch, options...)
}

// TestRouteGoesMeanwhile: a route that somebody deletes while the command runs has nothing to be given back, and keeps no workload held.
func TestRouteGoesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, when := range map[string]func(c *vanishing, goes func()){
		"AfterTheList":   func(c *vanishing, goes func()) { c.list = goes },
		"BeforeTheWrite": func(c *vanishing, goes func()) { c.patch = goes },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			c := vanishing{Client: r.client}
			when(&c, func() {
				if err := client.IgnoreNotFound(c.Client.Delete(t.Context(), r.before[v1alpha1.RouteHTTP].DeepCopy())); err != nil {
					t.Errorf("delete route: %v", err)
				}
			})
			r.client = c
			r.must(handback.Options{})
			r.wantHeld(false)
			err := c.Client.Get(t.Context(), client.ObjectKeyFromObject(r.before[v1alpha1.RouteHTTP]), r.before[v1alpha1.RouteHTTP].DeepCopy())
			if !apierrors.IsNotFound(err) {
				t.Errorf("want the route to have gone meanwhile, got %v", err)
			}
		})
	}
}

// TestRoutesOfOthers: a workload with another name than those that are given keeps its routes.
func TestRoutesOfOthers(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	if said, err := r.run(handback.Options{Names: []handback.Name{{Name: "shop"}}}); err == nil || len(said) > 0 {
		t.Errorf("want no workload shop to be found, and nothing to be done, got %q, %v", said, err)
	}
	if object := r.get(v1alpha1.RouteHTTP); object.GetAnnotations()[v1alpha1.TrafficAnnotation] == "" {
		t.Error("want the route to be held still")
	}
}

// TestCanaryOfAnother: an Ingress of the name of the second one stays if it belongs to something else of the UID that the annotation names: anybody
// who may write a route can write that.
func TestCanaryOfAnother(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]func(*metav1.OwnerReference){
		"Kind":  func(owner *metav1.OwnerReference) { owner.Kind = "ReleaseSource" },
		"Group": func(owner *metav1.OwnerReference) { owner.APIVersion = "example.org/v1" },
		"Name":  func(owner *metav1.OwnerReference) { owner.Name = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRouted(t)
			canary := r.get(v1alpha1.RouteIngress)
			key := client.ObjectKey{Namespace: r.namespace, Name: "web-canary"}
			if err := r.client.Get(t.Context(), key, canary); err != nil {
				t.Fatalf("read second Ingress: %v", err)
			}
			owners := canary.GetOwnerReferences()
			foreign(&owners[0])
			canary.SetOwnerReferences(owners)
			canary.SetFinalizers([]string{"example.com/kept"}) // the garbage collector finds no such owner
			if err := r.client.Update(t.Context(), canary); err != nil {
				t.Fatalf("give second Ingress away: %v", err)
			}
			real := r.client
			r.client = hooked{Client: real, write: func(kind, name string) error {
				if kind == "Ingress" && name == key.Name {
					t.Error("want the Ingress of another left alone")
				}
				return nil
			}}
			r.must(handback.Options{})
			if err := real.Get(t.Context(), key, canary); err != nil {
				t.Errorf("want the Ingress of another to stay: %v", err)
			}
		})
	}
}

// TestRouteThatCanNotBeRestored: the workload keeps its pods, and the objects their finalizers, until somebody has restored the route.
func TestRouteThatCanNotBeRestored(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	held := r.get(v1alpha1.RouteHTTP).GetAnnotations()[v1alpha1.TrafficAnnotation]
	for _, text := range []string{"{", "[]", `{"web": {"release": 3}}`, strings.Replace(held, `"weight":10`, `"weight":-1`, 1)} {
		r.annotate(text)
		said, err := r.run(handback.Options{RemoveFinalizers: true})
		if err == nil || !strings.Contains(err.Error(), "make it refer to Service web, and remove its annotation") || !strings.Contains(err.Error(), "not handed back: a route of its release") {
			t.Errorf("%s: want to be told what to do, got %q, %v", text, said, err)
		}
		r.wantHeld(true)
		r.wantFinalizers(v1alpha1.Finalizer)
	}
	r.annotate(held)
	r.must(handback.Options{RemoveFinalizers: true})
	r.wantHeld(false)
	r.wantFinalizers()
	r.wantRestored()
}

// TestUnreadableRoute: what can't be read, and what no release names, is told and left alone.
func TestUnreadableRoute(t *testing.T) {
	t.Parallel()
	r := newRouted(t)
	other := cptest.Decode(t, httpRoute)[0]
	other.SetName("other")
	other.SetNamespace(r.namespace)
	other.SetAnnotations(map[string]string{v1alpha1.TrafficAnnotation: `{"x\u001b": {"release": "` + r.use().Holder.Release + `"}}`})
	r.create(other)

	said := strings.Join(r.must(handback.Options{}), "\n")
	if want := "HTTPRoute other: left alone: its annotation rollouts.sluice.dev/traffic can't be read, and no release names it"; !strings.Contains(said, want) {
		t.Errorf("want %q, got\n%s", want, said)
	}
	r.wantHeld(false)
	r.wantRestored()
}
