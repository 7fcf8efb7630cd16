package main

import (
	"bytes"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-dev/sluice/internal/app"
	"github.com/sluice-dev/sluice/telemetry/traces"
)

// TestWhereTracesGo: flags come before the variables of OpenTelemetry, and those for traces before
// those for everything.
func TestWhereTracesGo(t *testing.T) {
	t.Parallel()
	const (
		base   = "OTEL_EXPORTER_OTLP_"
		of     = base + "TRACES_"
		secret = "https://ada:hunter2@collector.example.com"
	)
	pem := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(pem, []byte("no certificate"), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	valid := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(valid, encodePEM(server.Certificate().Raw), 0o600); err != nil {
		t.Fatalf("write file: %v", err)
	}
	type env map[string]string
	tests := map[string]struct {
		flags         otlpFlags
		env           env
		want          traces.Options
		warning, fail string
	}{
		"nothing":                  {},
		"a flag":                   {otlpFlags{endpoint: "https://c:4318"}, nil, traces.Options{Endpoint: "https://c:4318/v1/traces", Protocol: traces.HTTP}, "", ""},
		"... with a slash":         {otlpFlags{endpoint: "https://c/otlp/"}, nil, traces.Options{Endpoint: "https://c/otlp/v1/traces", Protocol: traces.HTTP}, "", ""},
		"... with the whole path":  {otlpFlags{endpoint: "https://c/v1/traces"}, nil, traces.Options{Endpoint: "https://c/v1/traces", Protocol: traces.HTTP}, "", ""},
		"... of grpc":              {otlpFlags{endpoint: "https://c:4317", protocol: "grpc"}, nil, traces.Options{Endpoint: "https://c:4317", Protocol: traces.GRPC}, "", ""},
		"... before variables":     {otlpFlags{endpoint: "https://c"}, env{of + "ENDPOINT": "https://d", "OTEL_SDK_DISABLED": "true"}, traces.Options{Endpoint: "https://c/v1/traces", Protocol: traces.HTTP}, "", ""},
		"plain http":               {flags: otlpFlags{endpoint: "http://c"}, fail: "--otlp-endpoint: "},
		"... allowed":              {otlpFlags{endpoint: "http://c", insecure: true}, nil, traces.Options{Endpoint: "http://c/v1/traces", Protocol: traces.HTTP, Insecure: true}, "", ""},
		"... allowed elsewhere":    {otlpFlags{endpoint: "http://c"}, env{base + "INSECURE": "true"}, traces.Options{Endpoint: "http://c/v1/traces", Protocol: traces.HTTP, Insecure: true}, "", ""},
		"a password":               {flags: otlpFlags{endpoint: secret}, fail: "password"},
		"an unknown protocol":      {flags: otlpFlags{endpoint: "https://c", protocol: "http/json"}, fail: "--otlp-protocol: "},
		"a variable":               {otlpFlags{}, env{base + "ENDPOINT": "https://d"}, traces.Options{Endpoint: "https://d/v1/traces", Protocol: traces.HTTP}, "", ""},
		"... for traces, as it is": {otlpFlags{}, env{base + "ENDPOINT": "https://d", of + "ENDPOINT": "https://e/x"}, traces.Options{Endpoint: "https://e/x", Protocol: traces.HTTP}, "", ""},
		"... with more of them": {
			otlpFlags{}, env{base + "ENDPOINT": "http://d", base + "PROTOCOL": "http/protobuf", of + "PROTOCOL": "grpc", of + "INSECURE": "True", base + "TIMEOUT": "1500"},
			traces.Options{Endpoint: "http://d", Protocol: traces.GRPC, Insecure: true, Timeout: 1500 * time.Millisecond}, "", "",
		},
		"switched off":                     {env: env{base + "ENDPOINT": "https://d", "OTEL_SDK_DISABLED": "true"}},
		"... for traces":                   {env: env{base + "ENDPOINT": "https://d", "OTEL_TRACES_EXPORTER": "none"}},
		"a variable that is wrong":         {env: env{base + "ENDPOINT": "http://d"}, warning: "OTEL_EXPORTER_OTLP_ENDPOINT: "},
		"... with a password":              {env: env{of + "ENDPOINT": secret}, warning: "TRACES_ENDPOINT: "},
		"... a protocol":                   {env: env{base + "ENDPOINT": "https://d", base + "PROTOCOL": "http/json"}, warning: "OTEL_EXPORTER_OTLP_PROTOCOL: "},
		"... a time":                       {env: env{base + "ENDPOINT": "https://d", base + "TIMEOUT": "10s"}, warning: "TIMEOUT"},
		"... a file":                       {env: env{base + "ENDPOINT": "https://d", base + "CERTIFICATE": pem}, warning: "no certificate"},
		"... a file that is not there":     {env: env{base + "ENDPOINT": "https://d", base + "CERTIFICATE": pem + "x"}, warning: "read OTEL_EXPORTER_OTLP_CERTIFICATE"},
		"... a key without its file":       {env: env{base + "ENDPOINT": "https://d", base + "CLIENT_KEY": pem}, warning: "CLIENT_CERTIFICATE"},
		"... a header":                     {env: env{base + "ENDPOINT": "https://d", base + "HEADERS": "a=b,Authorization: Bearer hunter2"}, warning: "HEADERS: entry 2"},
		"... a token alone":                {env: env{base + "ENDPOINT": "https://d", of + "HEADERS": "hunter2/hunter2=="}, warning: "TRACES_HEADERS: entry 1"},
		"... an escape":                    {env: env{base + "ENDPOINT": "https://d", base + "HEADERS": "a=%zzhunter2"}, warning: "HEADERS: entry 1"},
		"... beside a flag, a header":      {otlpFlags{endpoint: "https://c", protocol: "grpc"}, env{base + "HEADERS": "hunter2"}, traces.Options{}, "OTEL_EXPORTER_OTLP_HEADERS: entry 1", ""},
		"... a protocol that does not fit": {otlpFlags{endpoint: "https://c/v1/traces"}, env{base + "PROTOCOL": "grpc"}, traces.Options{}, "OTEL_EXPORTER_OTLP_PROTOCOL does not fit --otlp-endpoint", ""},
		"... a time, too":                  {otlpFlags{endpoint: "https://c"}, env{of + "TIMEOUT": "10s"}, traces.Options{}, "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT is", ""},
		"... a file, too":                  {otlpFlags{endpoint: "https://c"}, env{of + "CERTIFICATE": pem}, traces.Options{}, "OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: ", ""},
		"... a protocol, too":              {otlpFlags{endpoint: "https://c"}, env{base + "PROTOCOL": "http/json"}, traces.Options{}, "OTEL_EXPORTER_OTLP_PROTOCOL: ", ""},
		"... a key without http":           {otlpFlags{endpoint: "http://127.0.0.1"}, env{base + "CERTIFICATE": valid}, traces.Options{}, "CERTIFICATE: ", ""},
		"... an address beside a protocol": {otlpFlags{protocol: "grpc"}, env{base + "ENDPOINT": "http://d"}, traces.Options{}, "OTEL_EXPORTER_OTLP_ENDPOINT: ", ""},
		"... and a flag, too":              {otlpFlags{endpoint: "http://c"}, env{base + "HEADERS": "hunter2"}, traces.Options{}, "", "--otlp-endpoint: "},
		"a protocol that nobody uses":      {flags: otlpFlags{protocol: "http/json"}, fail: "--otlp-protocol: "},
		"headers that do not count":        {env: env{of + "ENDPOINT": "https://d", base + "HEADERS": "hunter2", of + "HEADERS": "a=b"}, want: traces.Options{Endpoint: "https://d", Protocol: traces.HTTP}},
		"headers":                          {env: env{of + "ENDPOINT": "https://d", base + "HEADERS": " a = Basic%20eA==, x-b=c,"}, want: traces.Options{Endpoint: "https://d", Protocol: traces.HTTP}},
		"... that nobody asked for traces": {env: env{base + "PROTOCOL": "http/json", base + "TIMEOUT": "10s"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got app.Options
			warning, err := test.flags.apply(&got, func(name string) string { return test.env[name] })
			for what, pair := range map[string]struct {
				is   error
				want string
			}{"the warning": {warning, test.warning}, "the error": {err, test.fail}} {
				if (pair.is == nil) != (pair.want == "") || pair.is != nil && !strings.Contains(pair.is.Error(), pair.want) {
					t.Errorf("%s is %v, want one with %q", what, pair.is, pair.want)
				}
				if pair.is != nil && strings.Contains(pair.is.Error(), "hunter2") {
					t.Errorf("%s tells a password: %v", what, pair.is)
				}
			}
			if diff := cmp.Diff(test.want, got.Traces, cmpopts.IgnoreFields(traces.Options{}, "Logger")); diff != "" {
				t.Errorf("options (-want +got):\n%s", diff)
			}
		})
	}
}

func encodePEM(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate})
}

// TestTraceFlagsAreChecked: a wrong flag is reported before anything runs.
func TestTraceFlagsAreChecked(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]string{
		"--otlp-endpoint=http://collector.example.com":      "plain http",
		"--trace-url=javascript:alert({traceID})":           "http or https",
		"--trace-url=https://jaeger.example.com/":           "{traceID}",
		"--trace-url=https://a:b@jaeger.example.com/":       "password",
		"--trace-url=https://{traceID}.example.com/":        "http or https",
		"--trace-url=https://example.com/\u202e{traceID}\n": "http or https",
	} {
		var stdout, stderr bytes.Buffer
		if code := run(t.Context(), []string{"controller", flag}, &stdout, &stderr); code != exitUsage {
			t.Errorf("%q: want exit code %d, got %d", flag, exitUsage, code)
		}
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q: want to be told of %q, got %q", flag, want, stderr.String())
		}
	}
}
