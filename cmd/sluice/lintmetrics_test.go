package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

const comparingRelease = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: web, namespace: shop}
spec:
  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}
  strategy:
    steps:
    - replicas: 10%
      gates:
      - metrics:
          provider: prometheus
          metrics:
          - name: errors
    - replicas: 100%
`

const sharedMetrics = `apiVersion: rollouts.sluice.dev/v1alpha1
kind: MetricProvider
metadata: {name: prometheus, namespace: shop}
spec:
  prometheus: {address: ADDRESS}
  metrics:
  - name: errors
    compare:
      requests: sum by (pod) (requests{workload="$(workload)"})
      errors: sum by (pod) (errors{workload="$(workload)"})
`

// TestLintForecasts: lint asks a server for the traffic of the last hour, and says how long each
// comparison takes.
func TestLintForecasts(t *testing.T) {
	t.Setenv(metricsToken, "t0k3n")
	for name, tc := range map[string]struct {
		requests, errors string
		status, code     int
		says             string
	}{
		"Soon":     {"200", "2", http.StatusOK, exitOK, "release.yaml:13:13: notice: spec.strategy.steps[0].gates[0].metrics.metrics[0]: 200 requests a second, of which 1 % fail, 10 % to the new version: at this traffic about "},
		"Late":     {"0.2", "0.0001", http.StatusOK, exitError, "warning: spec.strategy.steps[0].gates[0].metrics.metrics[0]: 0.2 requests a second, of which 0.05 % fail"},
		"NoErrors": {"200", "0", http.StatusOK, exitError, "set floor to a share that is good enough"},
		"Idle":     {"", "", http.StatusOK, exitError, "no forecast: requests counts none in the last hour"},
		"BadQuery": {"200", "2", http.StatusBadRequest, exitError, "error: spec.strategy.steps[0].gates[0].metrics.metrics[0]: the server can't evaluate the query: parse error"},
		"Refused":  {"200", "2", http.StatusUnauthorized, exitError, "refuses the credentials: 401"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(resp http.ResponseWriter, req *http.Request) {
				query, value := req.FormValue("query"), tc.requests
				if strings.Contains(query, "errors{") {
					value = tc.errors
				}
				if req.Header.Get("Authorization") != "Bearer t0k3n" || !strings.HasSuffix(query, `{workload="web"}))[1h:1m]))`) {
					t.Errorf("asked %s with Authorization %s", query, req.Header.Get("Authorization"))
				}
				resp.Header().Set("Content-Type", "application/json")
				resp.WriteHeader(tc.status)
				result := ""
				if value != "" {
					result = fmt.Sprintf(`{"metric":{},"value":[1700000000,%q]}`, value)
				}
				if tc.status != http.StatusOK {
					fmt.Fprint(resp, `{"status":"error","errorType":"bad_data","error":"parse error"}`)
					return
				}
				fmt.Fprintf(resp, `{"status":"success","data":{"resultType":"vector","result":[%s]}}`, result)
			}))
			defer server.Close()
			folder := writeFiles(t, map[string]string{"shop/release.yaml": comparingRelease, "shop/web.yaml": lintedDeployment,
				"provider.yaml": strings.ReplaceAll(sharedMetrics, "ADDRESS", server.URL)})
			var out, stderr bytes.Buffer
			code := run(t.Context(), []string{"lint", "--strict", folder + "/shop", "--metrics-provider", folder + "/provider.yaml"}, &out, &stderr)
			if text := out.String() + stderr.String(); code != tc.code || !strings.Contains(text, tc.says) {
				t.Errorf("got %d, want %d and %q:\n%s", code, tc.code, tc.says, text)
			}
		})
	}
}

// TestLintWithProvider: lint checks the metrics of a gate against the file of their provider.
func TestLintWithProvider(t *testing.T) {
	t.Parallel()
	const file = "--metrics-provider=FOLDER/provider.yaml"
	for name, tc := range map[string]struct {
		old, new string // in the release and in the provider
		flag     string
		code     int
		says     string
	}{
		"AnotherName": {"provider: prometheus", "provider: prom", file, exitOK,
			"release.yaml:11:11: warning: spec.strategy.steps[0].gates[0].metrics.provider: no forecast: the gate asks MetricProvider prom, and the file of --metrics-provider has prometheus"},
		"NoMetric": {"          - name: errors", "          - name: error", file, exitError,
			`release.yaml:13:13: error: spec.strategy.steps[0].gates[0].metrics.metrics[0].name: Invalid value: "error": has neither compare nor query, and provider prometheus has no metric of that name: it has errors`},
		"NoArgument": {"errors\n    compare:", "errors\n    arguments: [{name: job}]\n    compare:", file, exitError,
			"error: spec.strategy.steps[0].gates[0].metrics.metrics[0].arguments: Required value: give job"},
		"LastStep": {"10%", "100%", file, exitError,
			"error: spec.strategy.steps[0].gates[0].metrics.metrics[0]: Forbidden: after the last step no pod of the old version is left"},
		"NoFile": {"", "", "--metrics=http://127.0.0.1:1", exitOK,
			"no forecast: give the file of MetricProvider prometheus, whose metrics the gate names, with --metrics-provider"},
		"NotAProvider": {"kind: MetricProvider", "kind: Gate", file, exitError, `provider.yaml: the file has Gate "prometheus": give one with a MetricProvider`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := strings.Replace(comparingRelease, tc.old, tc.new, 1)
			if name == "LastStep" {
				release = strings.TrimSuffix(release, "    - replicas: 100%\n")
			}
			folder := writeFiles(t, map[string]string{"shop/release.yaml": release, "shop/web.yaml": lintedDeployment,
				"provider.yaml": strings.Replace(strings.ReplaceAll(sharedMetrics, "ADDRESS", "http://127.0.0.1:1"), tc.old, tc.new, 1)})
			var out, stderr bytes.Buffer
			code := run(t.Context(), []string{"lint", folder + "/shop", strings.ReplaceAll(tc.flag, "FOLDER", folder)}, &out, &stderr)
			if text := out.String() + stderr.String(); code != tc.code || !strings.Contains(text, tc.says) {
				t.Errorf("got %d, want %d and %q:\n%s", code, tc.code, tc.says, text)
			}
		})
	}
}
