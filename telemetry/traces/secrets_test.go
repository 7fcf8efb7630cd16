package traces

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel"
)

// TestLibraryLogsNoVariables: OpenTelemetry logs variables that it can't read, unless prevented.
// The test is not parallel, because the logger is the process's.
func TestLibraryLogsNoVariables(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer hunter2")
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "https://ada:hunter2@%zz")
	var log lines
	otel.SetLogger(log.logger())
	mustNew(t, Options{Endpoint: "http://127.0.0.1:1"}).Shutdown(t.Context())
	if said := strings.Join(log.written(), "\n"); strings.Contains(said, "hunter2") {
		t.Errorf("want no token and no password in the log, got %s", said)
	}
}
