package rollout

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

func port(name string, number, target int32) corev1.ServicePort {
	return corev1.ServicePort{Name: name, Protocol: corev1.ProtocolTCP, Port: number, TargetPort: intstr.FromInt32(target)}
}

// TestPortsOfASide: a side has the ports of the user's Service, and those that it had before.
func TestPortsOfASide(t *testing.T) {
	t.Parallel()
	udp := port("dns", 53, 53)
	udp.Protocol = corev1.ProtocolUDP
	exposed := port("http", 80, 8080)
	exposed.NodePort = 30080
	for name, tc := range map[string]struct {
		reason             string
		users, known, want []corev1.ServicePort
	}{
		"made": {
			"no node port, and one port needs no name", []corev1.ServicePort{exposed}, nil, []corev1.ServicePort{port("http", 80, 8080)},
		},
		"as it was": {
			"nothing changes", []corev1.ServicePort{port("", 80, 8080)}, []corev1.ServicePort{port("", 80, 8080)}, []corev1.ServicePort{port("", 80, 8080)},
		},
		"leads elsewhere": {
			"the user's word counts for a port that both have",
			[]corev1.ServicePort{port("http", 80, 9090)}, []corev1.ServicePort{port("web", 80, 8080)}, []corev1.ServicePort{port("http", 80, 9090)},
		},
		"another port": {
			"the route may have the one before",
			[]corev1.ServicePort{port("new", 8080, 8080)}, []corev1.ServicePort{port("http", 80, 8080)},
			[]corev1.ServicePort{port("new", 8080, 8080), port("http", 80, 8080)},
		},
		"of the same name": {
			"requests come by the one before", []corev1.ServicePort{port("http", 8080, 8080)}, []corev1.ServicePort{port("http", 80, 8080)},
			[]corev1.ServicePort{port("port-8080", 8080, 8080), port("http", 80, 8080)},
		},
		"without names": {
			"the API asks for names", []corev1.ServicePort{port("", 8080, 8080)}, []corev1.ServicePort{port("", 80, 8080)},
			[]corev1.ServicePort{port("port-8080", 8080, 8080), port("port-80", 80, 8080)},
		},
		"of another protocol": {
			"which is another port", []corev1.ServicePort{port("http", 53, 53)}, []corev1.ServicePort{udp}, []corev1.ServicePort{port("http", 53, 53), udp},
		},
		"a name that is taken": {
			"names differ", []corev1.ServicePort{port("http", 8080, 1), port("port-8080", 9090, 1)}, []corev1.ServicePort{port("http", 80, 1)},
			[]corev1.ServicePort{port("port-8080", 8080, 1), port("port-9090", 9090, 1), port("http", 80, 1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := portsWith(tc.users, tc.known)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(got, portsWith(tc.users, got)); diff != "" {
				t.Errorf("want no change by a second look: -first +second:\n%s", diff)
			}
		})
	}
}

// TestPortsOfASideAreBounded: a Service whose port changes again and again has sides that don't
// grow for ever, and keep the ports that it lost last.
func TestPortsOfASideAreBounded(t *testing.T) {
	t.Parallel()
	var ports []corev1.ServicePort
	for number := int32(1); number <= 3*mostLost; number++ {
		ports = portsWith([]corev1.ServicePort{port("http", number, 8080)}, ports)
	}
	var want, got []int32
	for number := int32(3 * mostLost); number >= 2*mostLost; number-- {
		want = append(want, number)
	}
	for _, p := range ports {
		got = append(got, p.Port)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSideIsCompared: changes by users, to a Service of a side or to their own, are detected
// against the written spec, and so is the risk that requests go astray.
func TestSideIsCompared(t *testing.T) {
	t.Parallel()
	release := &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u"}}
	v4, v6 := corev1.IPv4Protocol, corev1.IPv6Protocol
	for name, tc := range map[string]struct {
		change      func(user, side *corev1.Service)
		same, leads bool
	}{
		"as written":                  {func(_, _ *corev1.Service) {}, true, true},
		"what the API server adds":    {func(_, s *corev1.Service) { s.Spec.ClusterIP, s.Annotations = "10.0.0.1", map[string]string{"a": "b"} }, true, true},
		"a label of somebody":         {func(_, s *corev1.Service) { s.Labels["team"] = "shop" }, true, true},
		"our label":                   {func(_, s *corev1.Service) { delete(s.Labels, v1alpha1.TrafficLabel) }, false, true},
		"a key more":                  {func(_, s *corev1.Service) { s.Spec.Selector["tier"] = "front" }, false, false},
		"a key less":                  {func(_, s *corev1.Service) { delete(s.Spec.Selector, "app") }, false, false},
		"the user's selector":         {func(u, _ *corev1.Service) { u.Spec.Selector["tier"] = "front" }, false, false},
		"external addresses":          {func(_, s *corev1.Service) { s.Spec.ExternalIPs = []string{"192.0.2.1"} }, false, false},
		"the type":                    {func(_, s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, false, false},
		"the user's type":             {func(u, _ *corev1.Service) { u.Spec.Type = corev1.ServiceTypeLoadBalancer }, true, true},
		"the user's ports":            {func(u, _ *corev1.Service) { u.Spec.Ports[0].Port = 8080 }, false, true},
		"a port more":                 {func(_, s *corev1.Service) { s.Spec.Ports = append(s.Spec.Ports, port("more", 9, 9)) }, true, true},
		"the user's affinity":         {func(u, _ *corev1.Service) { u.Spec.SessionAffinity = corev1.ServiceAffinityClientIP }, false, true},
		"addresses that aren't ready": {func(u, _ *corev1.Service) { u.Spec.PublishNotReadyAddresses = true }, false, true},
		"both IP families":            {func(u, _ *corev1.Service) { u.Spec.IPFamilies = append(u.Spec.IPFamilies, v6) }, false, true},
		"another first IP family":     {func(u, _ *corev1.Service) { u.Spec.IPFamilies = []corev1.IPFamily{v6, v4} }, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			user := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{
				Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{port("http", 80, 8080)}, IPFamilies: []corev1.IPFamily{v4},
			}}
			w := traffic.PointSide{Name: traffic.CanarySide, Revision: "v2"}
			side := newSide(release, user, w)
			tc.change(user, side)
			before := fmt.Sprint(user, side)
			wanted := withSide(side, newSide(release, user, w))
			if sameSide(side, wanted) != tc.same || leads(side, wanted) != tc.leads {
				t.Errorf("want it the same: %t, leading to the same pods: %t, got\n%+v\nof\n%+v", tc.same, tc.leads, side.Spec, wanted.Spec)
			}
			if again := withSide(wanted, newSide(release, user, w)); !sameSide(wanted, again) {
				t.Errorf("want no change by a second look: -first +second:\n%s", cmp.Diff(wanted, again))
			}
			if before != fmt.Sprint(user, side) {
				t.Error("what was compared was changed")
			}
		})
	}
}
