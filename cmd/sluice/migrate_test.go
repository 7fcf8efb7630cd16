package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const migratedTemplate = `apiVersion: argoproj.io/v1alpha1
kind: AnalysisTemplate
metadata: {name: success-rate}
spec:
  args: [{name: service}]
  metrics:
  - name: success-rate
    successCondition: result[0] >= 0.95
    provider: {prometheus: {query: 'success_rate{service="{{args.service}}"}'}}
`

// TestMigrateAnalysis: files, standard input, the parts of the output, and the exit codes.
func TestMigrateAnalysis(t *testing.T) {
	t.Parallel()
	root := writeFiles(t, map[string]string{
		"template.yaml": migratedTemplate,
		"rollout.yaml": "apiVersion: argoproj.io/v1alpha1\nkind: Rollout\nspec: {strategy: {canary: {steps: [{analysis: " +
			"{templates: [{templateName: success-rate}], args: [{name: service, value: web}]}}]}}}\n",
		"job.yaml":     "apiVersion: argoproj.io/v1alpha1\nkind: AnalysisTemplate\nspec: {metrics: [{name: x, provider: {job: {}}}]}\n",
		"service.yaml": "apiVersion: v1\nkind: Service\n",
		"broken.yaml":  "a: [\n",
		"large.yaml":   "# " + strings.Repeat("x", 10<<20),
		hostileName:    "a: [\n",
	})
	const server = "--prometheus=http://prometheus:9090"
	cases := map[string]struct {
		reason         string
		args           []string
		code           int
		stdout, stderr string // contained; nothing else if empty
	}{
		"Equal":     {"everything has an equal", []string{"template.yaml", server, "--arg=service=web"}, exitOK, "\ngates:\n- metrics:\n    metrics:\n    - arguments:\n      - name: service\n        value: web\n", "template.yaml:6:3: note: spec.metrics: five errors"},
		"Rollout":   {"a Rollout gives the arguments", []string{"template.yaml", "rollout.yaml", server}, exitOK, "value: web\n", ""},
		"Stdin":     {"- is standard input", []string{"-", server, "--arg=service=web"}, exitOK, "kind: MetricProvider\n", "stdin:6:3: note"},
		"Providers": {"kubectl applies providers", []string{"template.yaml", server, "--arg=service=web", "--only=providers"}, exitOK, "kind: MetricProvider\n", ""},
		"Gates":     {"steps take gates", []string{"template.yaml", server, "--arg=service=web", "--only=gates"}, exitOK, "gates:\n", ""},
		"LeftOut":   {"what is left out is an error", []string{"template.yaml", server}, exitError, "kind: MetricProvider\n", "template.yaml:5:10: left out: spec.args[0]: has no value: give --arg service=VALUE"},
		"Nothing":   {"nothing is left of it", []string{"job.yaml"}, exitError, "", "job.yaml:3:39: left out: spec.metrics[0].provider.job: has no equal among metrics: add a gate with job"},
		"Other":     {"there is no analysis", []string{"service.yaml"}, exitError, "", "there is no AnalysisTemplate, MetricTemplate or Canary in"},
		"Broken":    {"what can't be read stops all", []string{"template.yaml", "broken.yaml", server}, exitUsage, "", "broken.yaml:1:1: error: broken YAML"},
		"Hostile":   {"names are harmless", []string{hostileName}, exitUsage, "", "z.yaml\":1:1: error: broken YAML"},
		"Large":     {"files are small", []string{"large.yaml"}, exitUsage, "", "it is larger than 4 MiB: split it"},
		"NotThere":  {"nor are they missing", []string{"missing.yaml"}, exitUsage, "", "no such file"},
		"Folder":    {"nor folders", []string{"."}, exitUsage, "", "is a directory"},
		"Twice":     {"a file is given once", []string{"-", "-"}, exitUsage, "", "- is named twice"},
		"None":      {"nothing is read without a name", nil, exitUsage, "", "name a file with analyses"},
		"Part":      {"parts are few", []string{"template.yaml", "--only=metrics"}, exitUsage, "", "not one of all, providers, gates"},
		"Argument":  {"an argument has a value", []string{"template.yaml", "--arg=service"}, exitUsage, "", "is not name=value"},
		"Invisible": {"and can be seen", []string{"template.yaml", "--arg=service=\u202e"}, exitUsage, "", "is not name=value"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := []string{"migrate", "analysis"}
			for _, arg := range tc.args {
				if !strings.HasPrefix(arg, "-") {
					arg = filepath.Join(root, arg)
				}
				args = append(args, arg)
			}
			var stdout, stderr bytes.Buffer
			command := newRoot()
			command.SetIn(strings.NewReader(migratedTemplate))
			if code := execute(t.Context(), command, args, &stdout, &stderr); code != tc.code {
				t.Errorf("%s: want exit code %d, got %d: %s", tc.reason, tc.code, code, stderr.String())
			}
			if !strings.Contains(stdout.String(), tc.stdout) || tc.stdout == "" && stdout.Len() > 0 || !strings.Contains(stderr.String(), tc.stderr) {
				t.Errorf("%s: want %q and %q, got %q and %q", tc.reason, tc.stdout, tc.stderr, stdout.String(), stderr.String())
			}
			if part := strings.Contains(stdout.String(), "gates:\n"); tc.code == exitOK && part == (name == "Providers") || strings.Contains(stdout.String(), "MetricProvider\n") && name == "Gates" {
				t.Errorf("%s: got the other part, too: %q", tc.reason, stdout.String())
			}
			wantHarmless(t, args, stdout.String()+stderr.String(), false)
		})
	}
}

// TestMigrateDevice: a file without an end is refused.
func TestMigrateDevice(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there is no /dev/zero")
	}
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"migrate", "analysis", "/dev/zero"}, &stdout, &stderr); code != exitUsage || !strings.Contains(stderr.String(), "larger than 4 MiB") {
		t.Errorf("want it refused, got %d: %s", code, stderr.String())
	}
}
