package cluster

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/sluice-dev/sluice/test/cluster/clients"
)

// slow is how long the data plane may take at most until a change of a route, or of endpoints, is
// in effect, on a busy machine: twice as long as Traefik waits from one change to the next. A
// release waits for drainSeconds, 10 by default, after the status of the route has the change; that
// has to be enough for requests, too, that have been sent just before.
const slow = 5 * time.Second

// TestDataPlaneFollowsRoutes: releases rely on a data plane that shares requests as a route says,
// follows it while pods come and go, and loses none of them. It tests the data plane alone, so that
// it takes -every-scenario.
func TestDataPlaneFollowsRoutes(t *testing.T) {
	if !*everyScenario {
		t.Skip("without -every-scenario")
	}
	c := open(t)
	c.importImage("examples/service", nil, shopImage+"v1", shopImage+"v2")
	s := c.startSplit()
	for _, stage := range []struct {
		name    string
		happens func(*split)
	}{
		{"a share", (*split).wantShare},
		{"a change", (*split).wantChange},
		{"a change after a change", (*split).wantSecondChange},
		{"backends that do not answer", (*split).wantBackends},
		{"a new Service", (*split).wantNewService},
		{"a pod that goes", (*split).wantPodGone},
		{"requests with a header", (*split).wantMatched},
		{"an instance that is killed", (*split).wantSurvived},
	} {
		t.Run(stage.name, func(t *testing.T) {
			here := *s
			here.cluster = s.as(t)
			before := s.load.Counts()
			stage.happens(&here)
			if now := s.load.Counts().Since(before); now.Failed > 0 {
				t.Errorf("want no request to fail, %d of %d did, the first of them:\n%v", now.Failed, now.Sent, now.Failures)
			}
			s.route = here.route
		})
	}
	now := s.load.Counts()
	t.Logf("%d requests sent, %d failed, answered by %v", now.Sent, now.Failed, now.Versions)
}

// wantShare checks that one of ten requests is one of ten, within a point.
func (s *split) wantShare() {
	begin := time.Now()
	got := s.answered(s.load, 10_000)
	s.Logf("%.0f requests a second, %.2f%% of them to v2", float64(got.Sent)/time.Since(begin).Seconds(), got.Share("v2"))
	if share := got.Share("v2"); share < 9 || share > 11 {
		s.Errorf("v2 has answered %.2f%%, want 10%% within a point", share)
	}
}

// wantChange checks that a version with weight 0, or without a backend, gets no request soon after
// the route's status confirms that, on kept connections or on new ones.
func (s *split) wantChange() {
	for _, change := range []struct {
		what, gone string
		rule       gatewayv1.HTTPRouteRule
	}{
		{"v1 has weight 0", "v1", rule(backend("v1", 0), backend("v2", 100))},
		{"v2 is left out", "v2", rule(backend("v1", 100))},
	} {
		written, observed := s.put(change.rule)
		s.wantGone(change.what, change.gone, written, observed)
	}
}

// wantSecondChange checks that the status alone is not enough: Traefik writes it first, and
// applies the change two seconds after the one before.
func (s *split) wantSecondChange() {
	s.put(rule(backend("v1", 50), backend("v2", 50)))
	s.put(rule(backend("v1", 51), backend("v2", 49)))
	written, observed := s.put(rule(backend("v2", 100)))
	s.wantGone("v1 is left out", "v1", written, observed)
}

func (s *split) wantGone(what, version string, written, observed time.Time) {
	s.Helper()
	last := s.left(version)
	s.Logf("%s: in the status after %v, the last request after %v", what, observed.Sub(written), last.Sub(written))
	if late := last.Sub(observed); late > slow {
		s.Errorf("%s: it got a request %v after the status had that, want at most %v", what, late, slow)
	}
}

// wantBackends checks that no other backend takes over for one that does not answer. So a Service
// gets weight only once it has ready endpoints, and one without weight is left out: Traefik
// reports unresolved references, whatever their weight.
func (s *split) wantBackends() {
	s.makeService("empty", "nobody")
	for _, c := range []struct {
		path     string
		rule     gatewayv1.HTTPRouteRule
		resolved metav1.ConditionStatus
		want     map[int]int
	}{
		{"/empty", rule(backend("v1", 90), backend("empty", 10)), metav1.ConditionTrue, map[int]int{200: 18, 503: 2}},
		{"/missing", rule(backend("v1", 90), backend("missing", 10)), metav1.ConditionFalse, map[int]int{200: 18, 500: 2}},
		{"/zero-missing", rule(backend("v1", 90), backend("missing", 0)), metav1.ConditionFalse, map[int]int{200: 20}},
		{"/zero", rule(backend("v1", 0)), metav1.ConditionTrue, map[int]int{503: 10}},
		{"/none", rule(), metav1.ConditionTrue, map[int]int{503: 10}},
	} {
		route := s.makeRoute(c.path[1:], under(c.path, c.rule))
		s.await(c.path+" is answered as it should", func() error { return s.wantStatuses(c.path, c.want) })
		s.await(c.path+" is said to stand as it should", func() error {
			accepted, resolved, err := s.standing(route)
			if err != nil || accepted != metav1.ConditionTrue || resolved != c.resolved {
				return errors.Join(fmt.Errorf("accepted %s and resolved %s, want True and %s", accepted, resolved, c.resolved), err)
			}
			return nil
		})
		if err := s.Delete(s.Context(), route); err != nil {
			s.Error(err)
		}
	}
}

// wantNewService checks that a route loses no request if the data plane knows the endpoints of its
// Service. Otherwise it may, for two seconds, until Traefik has read them. A release waits for
// readySeconds after a Service has endpoints, 2 by default.
func (s *split) wantNewService() {
	s.makeService("new", "v2")
	s.makeRoute("new", under("/new", rule(backend("new", 1))))
	s.await("Traefik knows it", func() error { return s.wantStatuses("/new", map[int]int{http.StatusOK: 10}) })
	s.put(rule(backend("v1", 50), backend("new", 50)))
	s.await("it gets half", func() error {
		if share := s.answered(s.load, 500).Share("v2"); share < 45 || share > 55 {
			return fmt.Errorf("v2 has answered %.2f%%, want half", share)
		}
		return nil
	})
}

// wantPodGone checks that a terminating pod answers requests for two seconds more, though its
// endpoint is unready at once. It drains for five.
func (s *split) wantPodGone() {
	s.put(rule(backend("v1", 50), backend("v2", 50)))
	for range 2 {
		pods, err := s.pods(shared, "app=v2")
		if err != nil {
			s.Fatal(err)
		}
		if err := s.Delete(s.Context(), &pods[0]); err != nil {
			s.Fatal(err)
		}
		s.await("the pod is gone", func() error {
			err := s.Get(s.Context(), client.ObjectKeyFromObject(&pods[0]), &pods[0])
			if err == nil {
				return errors.New("it is there")
			}
			return client.IgnoreNotFound(err)
		})
		s.await("another pod is ready", s.readyPods(shared, "app=v2", 2))
	}
}

// wantMatched checks that a rule with a header goes before the rule with the same path that has
// none.
func (s *split) wantMatched() {
	header := gatewayv1.HTTPHeaderMatch{Name: "canary", Value: "yes"}
	written, observed := s.put(under("/", rule(backend("v2", 1)), header), under("/", rule(backend("v1", 100))))
	s.wantGone("v2 is for requests with a header", "v2", written, observed)
	matched := clients.Start(s.Context(), clients.Options{
		URL: s.instance.URL, Clients: 8, Interval: interval, Header: http.Header{"Canary": {"yes"}},
	})
	defer matched.Stop()
	before := s.load.Counts()
	with := s.answered(matched, 400)
	without := s.load.Counts().Since(before)
	if with.Failed > 0 || with.Share("v2") != 100 || without.Share("v1") != 100 {
		s.Errorf("with the header %+v, want all from v2; without it %+v, want all from v1", with, without)
	}
}

// wantSurvived checks that another instance serves while one is killed, and the first again once
// it has read the routes. Requests are moved before: a killed instance loses its open requests,
// whatever a release does.
func (s *split) wantSurvived() {
	second, err := s.plane.Start(s.Context())
	if err != nil {
		s.Fatal(err)
	}
	s.load.To(second.URL)
	s.instance.Kill()
	s.answered(s.load, 1000)
	if err := s.instance.Start(s.Context()); err != nil {
		s.Fatal(err)
	}
	s.load.To(s.instance.URL)
	second.Stop()
	s.answered(s.load, 1000)
}
