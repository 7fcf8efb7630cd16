package journeys

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestMetricsOfJSON: conditions on the JSON of a server decide: one version passes after so many
// good answers, the next is rejected by a bad one, and rolled back.
func TestMetricsOfJSON(t *testing.T) {
	w := newWorld(t)
	var rate atomic.Value
	rate.Store("0.001")
	server := httptest.NewServer(http.HandlerFunc(func(resp http.ResponseWriter, req *http.Request) {
		if req.Header.Get("X-Api-Key") != "k3y" || req.URL.Path != "/api/errors/web" || req.FormValue("revision") == "" {
			resp.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(resp, `{"window":{"errors":{"rate":%s}},"samples":[1,2,3]}`, rate.Load())
	}))
	t.Cleanup(server.Close)
	w.create(&corev1.Secret{ObjectMeta: named[corev1.Secret]("api").ObjectMeta, StringData: map[string]string{"header.X-Api-Key": "k3y"}})
	w.create(&v1alpha1.MetricProvider{ObjectMeta: named[v1alpha1.MetricProvider]("api").ObjectMeta, Spec: v1alpha1.MetricProviderSpec{
		HTTP: &v1alpha1.MetricServer{Address: server.URL + "/api", SecretRef: &v1alpha1.LocalReference{Name: "api"}},
	}})
	w.startController()
	w.deployed(deployment(4))
	gates := v1alpha1.GatePolicy{OnReject: v1alpha1.RejectRollback, Metrics: &v1alpha1.MetricsGate{
		Provider: "api", Interval: &metav1.Duration{Duration: time.Second},
		Metrics: []v1alpha1.GateMetric{{Name: "errors", MetricCheck: v1alpha1.MetricCheck{Query: &v1alpha1.QueryMetric{
			Query: "/errors/$(workload)?revision=$(revision)", Success: "result.window.errors.rate < 0.01 && size(result.samples) == 3", Count: new(int32(2)),
		}}}},
	}}
	w.create(release("web:2", step("50%", gates), step("100%")))
	w.await(all(web.completed, web.serves("web:2", 4)))
	rate.Store("0.2")
	w.releaseImage("web:3")
	g := w.metricGate(0, "rejected", decidedAs(v1alpha1.DecisionRejected))
	t.Logf("rejected: %s", g.Status.Message)
	w.await(all(web.phase(v1alpha1.PhaseCompleted), web.serves("web:2", 4)))
}
