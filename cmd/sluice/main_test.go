package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// nowhere is a kubeconfig whose server answers nobody.
const nowhere = `apiVersion: v1
kind: Config
clusters: [{name: nowhere, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: nowhere, context: {cluster: nowhere, namespace: shop}}]
current-context: nowhere
`

func TestRun(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		t.Fatalf("write kubeconfig: %v", err)
	}
	cases := map[string]struct {
		reason         string
		args           []string
		code           int
		stdout, stderr string // contained
	}{
		"Help":         {"no command shows what there is", nil, exitOK, "controller", ""},
		"VersionFlag":  {"the version is a line for scripts", []string{"--version"}, exitOK, buildVersion() + "\n", ""},
		"Version":      {"the command says more", []string{"version"}, exitOK, "commit ", ""},
		"FlagHelp":     {"flags say their units and defaults", []string{"controller", "--help"}, exitOK, "host:port", ""},
		"UnknownWord":  {"a typo is the caller's error", []string{"contoller"}, exitUsage, "", `"contoller"`},
		"UnknownFlag":  {"so is a flag that is not there", []string{"controller", "--color"}, exitUsage, "", "--color"},
		"ExtraWord":    {"and a word too many", []string{"controller", "now"}, exitUsage, "", `"now"`},
		"LogLevel":     {"flags are checked before anything runs", []string{"controller", "--log-level=loud"}, exitUsage, "", "none of debug, info, warn, error"},
		"LogFormat":    {"each of them", []string{"controller", "--log-format=xml"}, exitUsage, "", "neither json nor console"},
		"Address":      {"a port alone is not an address", []string{"controller", "--metrics-address=8080"}, exitUsage, "", "--metrics-address"},
		"ProbeAddress": {"nor for the probes", []string{"controller", "--probe-address=8081"}, exitUsage, "", "--probe-address"},
		"NoKubeconfig": {"a file that is not there is no usage error", []string{"controller", "--kubeconfig=" + kubeconfig + ".not"}, exitError, "", "find cluster"},
		"NoContext":    {"a context must exist", []string{"controller", "--kubeconfig=" + kubeconfig, "--context=elsewhere"}, exitError, "", "elsewhere"},
		"NoServer":     {"a server that does not answer ends it", []string{"controller", "--kubeconfig=" + kubeconfig, "--metrics-address=0", "--probe-address=0"}, exitError, "", "set up controller"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), tc.args, &stdout, &stderr)
			if code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s", tc.reason, tc.code, code, stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) {
				t.Errorf("%s: want %q in the output, got %q", tc.reason, tc.stdout, stdout.String())
			}
			if !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q in the errors, got %q", tc.reason, tc.stderr, stderr.String())
			}
		})
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var output bytes.Buffer
	logger, err := (&logFlags{format: "json", level: "info"}).logger(&output)
	if err != nil {
		t.Fatalf("make logger: %v", err)
	}
	logger.V(1).Info("detail")
	logger.Error(errors.New("refused"), "write status", "gate", "web-0")

	var line struct{ Level, Msg, Gate, Error string }
	if err := json.Unmarshal(output.Bytes(), &line); err != nil {
		t.Fatalf("want one JSON object at level info, got %q: %v", output.String(), err)
	}
	if line.Level != "error" || line.Msg != "write status" || line.Gate != "web-0" || line.Error != "refused" {
		t.Errorf("want level, message, value and error in the line, got %q", output.String())
	}
}

// TestLeaseNamespace: the Lease is in the namespace of the kubeconfig's context unless told otherwise.
func TestLeaseNamespace(t *testing.T) {
	t.Parallel()
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(nowhere), 0o600); err != nil {
		t.Fatalf("write kubeconfig: %v", err)
	}
	for given, want := range map[string]string{"": "shop", "sluice-system": "sluice-system"} {
		flags := controllerFlags{kubeconfig: kubeconfig}
		flags.app.LeaseNamespace = given
		if _, err := flags.connect(); err != nil {
			t.Fatalf("connect: %v", err)
		}
		if got := flags.app.LeaseNamespace; got != want {
			t.Errorf("--leader-elect-namespace=%q: want %q, got %q", given, want, got)
		}
	}
}
