package migrate

import "strings"

const (
	successRate     = "request-success-rate"
	requestDuration = "request-duration"
)

// defaultMesh is the mesh that Flagger takes if none is named.
const defaultMesh = "istio"

// builtIn are the queries of Flagger for its own metrics, by the provider of traffic (package
// pkg/metrics/observers of Flagger 1.43).
var builtIn = map[string]map[string]string{
	"istio": {
		successRate: `sum(rate(istio_requests_total{reporter="destination",destination_workload_namespace="{{ namespace }}",destination_workload=~"{{ target }}",response_code!~"5.*"}[{{ interval }}]))` +
			` / sum(rate(istio_requests_total{reporter="destination",destination_workload_namespace="{{ namespace }}",destination_workload=~"{{ target }}"}[{{ interval }}])) * 100`,
		requestDuration: `histogram_quantile(0.99, sum(rate(istio_request_duration_milliseconds_bucket{reporter="destination",destination_workload_namespace="{{ namespace }}",` +
			`destination_workload=~"{{ target }}"}[{{ interval }}])) by (le))`,
	},
	"linkerd": {
		successRate: `sum(rate(response_total{namespace="{{ namespace }}",deployment=~"{{ target }}",classification!="failure",direction="inbound"}[{{ interval }}]))` +
			` / sum(rate(response_total{namespace="{{ namespace }}",deployment=~"{{ target }}",direction="inbound"}[{{ interval }}])) * 100`,
		requestDuration: `histogram_quantile(0.99, sum(rate(response_latency_ms_bucket{namespace="{{ namespace }}",deployment=~"{{ target }}",direction="inbound"}[{{ interval }}])) by (le))`,
	},
	"kubernetes": {
		successRate: `sum(rate(http_request_duration_seconds_count{kubernetes_namespace="{{ namespace }}",kubernetes_pod_name=~"{{ target }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)",status!~"5.*"}[{{ interval }}]))` +
			` / sum(rate(http_request_duration_seconds_count{kubernetes_namespace="{{ namespace }}",kubernetes_pod_name=~"{{ target }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"}[{{ interval }}])) * 100`,
		requestDuration: `histogram_quantile(0.99, sum(rate(http_request_duration_seconds_bucket{kubernetes_namespace="{{ namespace }}",` +
			`kubernetes_pod_name=~"{{ target }}-[0-9a-zA-Z]+(-[0-9a-zA-Z]+)"}[{{ interval }}])) by (le)) * 1000`,
	},
	"nginx": {
		successRate: `sum(rate(nginx_ingress_controller_requests{namespace="{{ namespace }}",ingress="{{ ingress }}",canary!="",status!~"5.*"}[{{ interval }}]))` +
			` / sum(rate(nginx_ingress_controller_requests{namespace="{{ namespace }}",ingress="{{ ingress }}",canary!=""}[{{ interval }}])) * 100`,
		requestDuration: `sum(rate(nginx_ingress_controller_response_duration_seconds_sum{namespace="{{ namespace }}",ingress="{{ ingress }}",canary!=""}[{{ interval }}]))` +
			` / sum(rate(nginx_ingress_controller_response_duration_seconds_count{namespace="{{ namespace }}",ingress="{{ ingress }}",canary!=""}[{{ interval }}])) * 1000`,
	},
}

// builtIn returns Flagger's own query for a metric without one.
func (c *canary) builtIn(o *object, name string) (string, bool) {
	if name != successRate && name != requestDuration {
		o.report(LeftOut, "", "has neither templateRef nor query: there is nothing to measure")
		return "", false
	}
	mesh := c.mesh
	if mesh == "" {
		o.report(Note, "name", "is taken for Flagger's query for Istio: if Flagger runs with another -mesh-provider, set spec.provider of the Canary")
		mesh = defaultMesh
	}
	if strings.HasPrefix(mesh, "gatewayapi") { // for which Flagger asks the pods, too
		mesh = "kubernetes"
	}
	query, is := builtIn[mesh][name]
	if !is {
		o.report(LeftOut, "name", "is a query of Flagger's own that is not known here: write it as query (docs.flagger.app/faq#metrics), or compare the versions (docs/judge.md)")
	}
	return query, is
}
