package kube

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/google/go-cmp/cmp"
)

func TestWritesAreCounted(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Header.Get("Answer") {
		case "conflict":
			w.WriteHeader(http.StatusConflict)
		case "invalid":
			w.WriteHeader(http.StatusUnprocessableEntity)
		case "gone":
			w.WriteHeader(http.StatusNotFound)
		case "busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case "hangs up":
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(server.Close)
	registry := prometheus.NewPedanticRegistry()
	c := http.Client{Transport: NewWrites(registry).Count()(server.Client().Transport)}
	const shop = "/namespaces/shop/"
	for _, r := range []struct{ method, path, answer string }{
		{http.MethodGet, "/api/v1" + shop + "pods", ""},
		{http.MethodDelete, "/api/v1" + shop + "pods/web-1", ""},
		{http.MethodDelete, "/api/v1" + shop + "pods/web-1", "gone"},
		{http.MethodPatch, "/apis/rollouts.sluice.dev/v1alpha1" + shop + "batchreleases/web/status?fieldManager=x", "conflict"},
		{http.MethodPatch, "/apis/rollouts.sluice.dev/v1alpha1" + shop + "batchreleases/status", ""}, // a release of that name
		{http.MethodPatch, "/apis/apps/v1" + shop + "deployments/web?dryRun=All", ""},
		{http.MethodPatch, "/apis/apps/v1" + shop + "deployments/web", "invalid"},
		{http.MethodPost, "/apis/networking.k8s.io/v1" + shop + "ingresses", "busy"},
		{http.MethodPost, "/apis/events.k8s.io/v1" + shop + "events", ""},
		{http.MethodPut, "/apis/coordination.k8s.io/v1" + shop + "leases/l", ""},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", ""},
		{http.MethodPost, "/apis/example.com/v1" + shop + "anythings", ""},
		{http.MethodPost, "/apis/example.com/v1/others/x/status", ""},
		{http.MethodPost, "/", "hangs up"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), r.method, server.URL+r.path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Answer", r.answer)
		if answer, err := c.Do(req); err == nil {
			_ = answer.Body.Close()
		}
	}
	got := map[string]float64{}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, metric := range families[0].GetMetric() {
		if n := metric.GetCounter().GetValue(); n > 0 {
			got[metric.GetLabel()[0].GetValue()+" "+metric.GetLabel()[2].GetValue()+" "+metric.GetLabel()[1].GetValue()] = n
		}
	}
	want := map[string]float64{
		"Pod delete Written": 1, "Pod delete Gone": 1, "BatchRelease/status patch Outdated": 1, "BatchRelease patch Written": 1, "Deployment patch Refused": 1,
		"Ingress create Failed": 1, "Other create Written": 2, "Other create Failed": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("writes (-want +got):\n%s", diff)
	}
	if problems, err := promlint.NewWithMetricFamilies(families).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("got %v %v", problems, err)
	}
}
