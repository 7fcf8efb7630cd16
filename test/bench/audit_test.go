package main

import (
	"net/http"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

const (
	sluiceAgent = "sluice/v0.1.0"
	nativeAgent = "kube-controller-manager/v1.36.0 (linux/amd64) kubernetes/1234567/deployment-controller"
)

// TestDurationOfHandOver has a watch that told of the pod at 1.00 s and of the ReplicaSet at 2.00
// s.
func TestDurationOfHandOver(t *testing.T) {
	t.Parallel()
	ready := func(at time.Duration) controlplane.Request {
		return controlplane.Request{
			Verb: "patch", UserAgent: "kwok/v0.7.0", Resource: "pods/status", Name: "web-1", Code: http.StatusOK, Received: began.Add(at),
		}
	}
	scaled := func(at time.Duration) controlplane.Request {
		return controlplane.Request{
			Verb: "patch", UserAgent: sluiceAgent, Resource: "replicasets", Name: "web", Code: http.StatusOK, Received: began.Add(at),
		}
	}
	with := func(r controlplane.Request, change func(*controlplane.Request)) controlplane.Request {
		change(&r)
		return r
	}
	cases := map[string]struct {
		reason   string
		requests []controlplane.Request
		want     time.Duration
	}{
		"Both":      {"both ends are when the API server got the request", []controlplane.Request{ready(990 * ms), scaled(1010 * ms)}, 20 * ms},
		"AsTold":    {"at the very time the watch told of it", []controlplane.Request{ready(1000 * ms), scaled(2000 * ms)}, 1000 * ms},
		"NoAudit":   {"without requests it is what the watch saw", nil, 1000 * ms},
		"PodOnly":   {"or half of it", []controlplane.Request{ready(900 * ms)}, 1100 * ms},
		"LastPod":   {"the last write before the watch told of it made the change", []controlplane.Request{ready(980 * ms), ready(100 * ms), scaled(1010 * ms)}, 30 * ms},
		"Later":     {"a later one did not", []controlplane.Request{ready(990 * ms), ready(1001 * ms), scaled(1010 * ms), scaled(2001 * ms)}, 20 * ms},
		"OtherName": {"nor did one of another object", []controlplane.Request{ready(980 * ms), with(ready(990*ms), func(r *controlplane.Request) { r.Name = "web-2" }), scaled(1010 * ms)}, 30 * ms},
		"Refused":   {"nor one that failed", []controlplane.Request{ready(980 * ms), scaled(1010 * ms), with(scaled(1500*ms), func(r *controlplane.Request) { r.Code = http.StatusConflict })}, 30 * ms},
		"Read":      {"nor one that only reads", []controlplane.Request{ready(980 * ms), scaled(1010 * ms), with(scaled(1500*ms), func(r *controlplane.Request) { r.Verb = "get" })}, 30 * ms},
		"Native":    {"nor the native controller's, which scales nothing in a release", []controlplane.Request{ready(980 * ms), scaled(1010 * ms), with(scaled(1500*ms), func(r *controlplane.Request) { r.UserAgent = nativeAgent })}, 30 * ms},
		"Created":   {"nor the creation of the pod, which does not make it ready", []controlplane.Request{ready(980 * ms), scaled(1010 * ms), with(ready(990*ms), func(r *controlplane.Request) { r.Resource = "pods" })}, 30 * ms},
	}
	h := handOver{
		pod:  change{at: began.Add(time.Second), object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}}},
		next: change{at: began.Add(2 * time.Second), object: &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := newClock(tc.requests, fromSluice).duration(h); got != tc.want {
				t.Errorf("%s: want %v, got %v", tc.reason, tc.want, got)
			}
		})
	}
}
