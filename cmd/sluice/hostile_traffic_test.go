package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// evilLink is what a terminal takes for a link to elsewhere, and for letters from right to left.
const evilLink = evilWords + "\x1b]8;;https://evil.test\x1b\\\u202eknil\u2066\x1b]8;;\x1b\\\n::error::forged\n"

// TestHostileTrafficStatus: a tenant writes all that the API server allows into the status of a
// release with traffic, into its gates, routes and Deployment. Commands that show it, or hand it
// back, print lines of text of a bounded length.
func TestHostileTrafficStatus(t *testing.T) {
	t.Parallel()
	cptest.GatewayAPI(t)
	s := &shop{T: t, namespace: cptest.Namespace(t), kubeconfig: cptest.Access(t).Kubeconfig, client: cptest.Client(t)}
	tree := newTree(t)
	routed := strings.Replace(plannedWeb, "steps: [{replicas: 1}", "traffic: {routes: [{kind: HTTPRoute, name: web, service: web}]}, steps: [{replicas: 10%, traffic: 10%}", 1)
	tree.commit("Second version", routed)
	tree.commit("Third version", strings.Replace(routed, "web:2", "web:3", 1))
	labels := map[string]string{"app": "web"}
	s.create(&appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: new(int32(4)), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate("web", 1)},
	})
	release := s.hostileRelease()
	s.create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: labels, Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	})
	s.httpRoute(s.namespace, "web", "web")
	for name, of := range map[string]struct {
		words  string
		number int64
	}{
		"escapes": {evilLink, -1 << 31}, "long": {strings.Repeat(evilLink, 150), 1<<31 - 1}, "digits": {strings.Repeat("9", 40<<10), -1},
	} {
		s.hostileStatus(release, of.words, of.number)
		s.hostileRoute(of.words, of.number)
		for _, args := range [][]string{
			{"get", "web"}, {"list", "-o", "wide"}, {"status", "web", "--watch=false"}, {"history", "web"},
			{"plan", filepath.Join(tree.root, "deploy"), "--cluster"}, {"plan", filepath.Join(tree.root, "deploy"), "--cluster", "-o", "markdown"},
			{"handback", "--all", "--dry-run", "--force"},
		} {
			got := s.as("", args...)
			wantHarmless(t, args, got.stdout+got.stderr, false)
			for line := range strings.Lines(got.stdout + got.stderr) {
				if len(line) > 10_000 {
					t.Errorf("%s: sluice %v: want no line of %d bytes: %.100q", name, args, len(line), line)
				}
			}
		}
	}
}

// hostileRelease makes a release with traffic, whose Deployment says that it is held by somebody
// with an evil name.
func (s *shop) hostileRelease() *v1alpha1.BatchRelease {
	s.Helper()
	release := &v1alpha1.BatchRelease{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"},
		Spec: v1alpha1.BatchReleaseSpec{
			WorkloadRef: v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
			Strategy: v1alpha1.ReleaseStrategy{
				Steps:   []v1alpha1.Step{{Replicas: intstr.FromString("10%"), Traffic: "10%"}, {Replicas: intstr.FromString("100%")}},
				Traffic: &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}}},
			},
		},
	}
	s.create(release)
	return release
}

// hostileStatus writes the status of the release, and its annotations.
func (s *shop) hostileStatus(release *v1alpha1.BatchRelease, words string, number int64) {
	s.Helper()
	many := make([]string, max(200_000/len(words), 1))
	for i := range many {
		many[i] = words
	}
	gates := make([]map[string]any, min(len(many), 1000))
	for i := range gates {
		gates[i] = map[string]any{"name": words, "type": words[:min(len(words), 200)], "decision": "Waiting"}
	}
	condition := map[string]any{
		"type": "Stalled", "status": "True", "reason": "TrafficBlocked", "message": words[:min(len(words), 30_000)], "lastTransitionTime": "0001-01-01T00:00:01Z",
	}
	status := map[string]any{
		"observedGeneration": 1<<63 - 1, "phase": "RollingUpdate", "state": "Shifting", "currentStepIndex": 1, "currentStepState": "Blocking", "batch": words,
		"message": words, "reason": words, "commit": words, "commitAuthor": words, "commitSubject": words, "updateRevision": words, "stableRevision": words,
		"replicas": number, "updatedReplicas": number, "targetReplicas": number, "attempt": number, "gates": gates, "conditions": []any{condition},
		"traffic": map[string]any{
			"weight": number, "targetWeight": -1 - number, "matches": number, "stableRevision": words, "canaryRevision": words, "awaits": "Routes", "awaitsObject": words,
			"since": "9999-12-31T23:59:59Z", "pendingParents": many, "acceptDeadline": "0001-01-01T00:00:01Z",
			"problem": map[string]any{"type": "NotAccepted", "object": words, "message": words},
			"ending":  map[string]any{"since": "0001-01-01T00:00:01Z", "waitedSeconds": number},
		},
	}
	if err := s.client.Status().Patch(s.Context(), release.DeepCopy(), merge(string(s.encode(map[string]any{"status": status})))); err != nil {
		s.Fatalf("write status: %v", err)
	}
	s.patch("web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		v1alpha1.CommitAnnotation: words, v1alpha1.AuthorAnnotation: words, v1alpha1.FreezeAnnotation: string(s.encode(v1alpha1.Freeze{Reason: words[:min(len(words), 50_000)]})),
	}}})
}

// hostileRoute writes what holds the route, who accepts it, and what holds the Deployment.
func (s *shop) hostileRoute(words string, number int64) {
	s.Helper()
	holds := map[string]any{
		"web": map[string]any{"release": s.namespace + "/web", "uid": words[:min(len(words), 1000)], "weight": number}, words[:min(len(words), 1000)]: words[:min(len(words), 1000)],
		"api": map[string]any{"release": s.namespace + "/" + words[:min(len(words), 1000)], "weight": 5},
	}
	for i := range 50 {
		holds[fmt.Sprintf("api-%d", i)] = map[string]any{"release": fmt.Sprintf("%s/gone-%d", s.namespace, i), "uid": words[:min(len(words), 1000)], "weight": 5}
	}
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("gateway.networking.k8s.io/v1")
	object.SetKind("HTTPRoute")
	object.SetNamespace(s.namespace)
	object.SetName("web")
	s.write(object, map[string]any{"annotations": map[string]any{v1alpha1.TrafficAnnotation: string(s.encode(holds))}})
	parents := []any{map[string]any{
		"controllerName": "evil.test/gateway", "parentRef": map[string]any{"name": "public"},
		"conditions": []any{map[string]any{
			"type": "Accepted", "status": "False", "reason": "Evil", "message": words[:min(len(words), 30_000)], "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": 1,
		}},
	}}
	if err := s.client.Status().Patch(s.Context(), object, merge(string(s.encode(map[string]any{"status": map[string]any{"parents": parents}})))); err != nil {
		s.Fatalf("write status of route: %v", err)
	}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"}}
	held := plan.Hold{
		Release: words[:min(len(words), 50_000)], UID: "x", Stable: words[:min(len(words), 50_000)],
		Change:       plan.ExternalChange{Kind: words[:min(len(words), 1000)], Message: words[:min(len(words), 1000)]},
		HeldWorkload: v1alpha1.HeldWorkload{Strategy: words[:min(len(words), 50_000)]},
	}
	s.write(web, map[string]any{"annotations": map[string]any{v1alpha1.HoldAnnotation: string(s.encode(held))}})
}
