package charts_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/cli/install"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// TestTracesOfChart: the values for traces become the flags of the controller, and none without an
// endpoint.
func TestTracesOfChart(t *testing.T) {
	t.Parallel()
	chosen := install.Default("latest")
	chosen.Args = []string{
		"--otlp-endpoint=http://collector.observability:4317", "--otlp-protocol=grpc", "--otlp-insecure", "--trace-url=https://jaeger.example.com/trace/{traceID}",
	}
	objects, err := install.Objects(chosen)
	if err != nil {
		t.Fatalf("make manifests: %v", err)
	}
	set := []string{
		"telemetry.otlp.endpoint=http://collector.observability:4317", "telemetry.otlp.protocol=grpc", "telemetry.otlp.insecure=true",
		`telemetry.otlp.traceURL=https://jaeger.example.com/trace/\{traceID\}`,
	}
	rendered := cptest.Decode(t, template(t, chosen.Namespace, "--set="+strings.Join(set, ",")))
	if diff := cmp.Diff(comparable(objects), comparable(rendered)); diff != "" {
		t.Errorf("-install +chart:\n%s", diff)
	}
}
