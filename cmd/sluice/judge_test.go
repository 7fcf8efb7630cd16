package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/judge"
)

// judgedGate returns a Gate that has compared two versions, of which the new one is worse.
func judgedGate(t *testing.T) *v1alpha1.Gate {
	t.Helper()
	evidence := judge.New()
	rules := judge.Default()
	for range 20 {
		look := judge.Look{New: judge.Count{Requests: 1000, Errors: 50}, NewPods: 4}
		for range 4 {
			look.Old = append(look.Old, judge.Part{Count: judge.Count{Requests: 250, Errors: 2}, Pods: 1})
		}
		var err error
		if evidence, err = evidence.Add(look); err != nil {
			t.Fatal(err)
		}
	}
	text, err := evidence.MarshalText()
	if err != nil || evidence.Verdict(rules).Outcome != judge.Worse {
		t.Fatalf("evidence comes to %s, %v", evidence.Verdict(rules).Outcome, err)
	}
	g := &v1alpha1.Gate{}
	g.APIVersion, g.Kind, g.Name = v1alpha1.GroupVersion.String(), "Gate", "web-7f-1-0-0"
	g.Status.Metrics = []v1alpha1.MetricStatus{{Name: "errors", Outcome: v1alpha1.MetricFailed, Compared: &v1alpha1.Compared{
		Rules:  v1alpha1.ComparedRules{Alpha: "0.01", Beta: "0.05", Worse: "2", Floor: "0"},
		Bounds: []v1alpha1.ComparedBound{{Evidence: string(text)}},
	}}}
	return g
}

// TestReplayOfGates: the evidence of a Gate, or of a list of them, is judged again from a file. A
// Gate that says something else than its evidence fails the command.
func TestReplayOfGates(t *testing.T) {
	t.Parallel()
	raw := func(text string) string {
		name := filepath.Join(t.TempDir(), "gates.yaml")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	file := func(content any) string {
		text, err := yaml.Marshal(content)
		if err != nil {
			t.Fatal(err)
		}
		return raw(string(text))
	}
	forged := judgedGate(t)
	forged.Status.Metrics[0].Outcome = v1alpha1.MetricPassed
	hostile := judgedGate(t)
	hostile.Name, hostile.Status.Metrics[0].Compared.Bounds[0].Bound = "web\x1b[2J", "\x1b]8;;https://evil.test\x07"
	guard := judgedGate(t)
	guard.Spec.Index, guard.Status.Metrics[0].Outcome = v1alpha1.GuardIndex, ""
	passed := judgedGate(t)
	passed.Spec.Policy.Metrics = &v1alpha1.MetricsGate{Metrics: []v1alpha1.GateMetric{{Name: "errors"}}}
	passed.Status.Decision = v1alpha1.DecisionPassed
	asked, forced, dry := passed.DeepCopy(), passed.DeepCopy(), passed.DeepCopy()
	asked.Status.Undecided, forced.Status.Force, dry.Spec.Policy.Metrics.Metrics[0].DryRun = true, &v1alpha1.Force{}, true
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{judgedGate(t)}}
	for name, tc := range map[string]struct {
		file string
		code int
		out  string
		err  string
	}{
		"gate":          {file(judgedGate(t)), 0, "Worse", ""},
		"list":          {file(list), 0, "1000 of 20000", ""},
		"another claim": {file(forged), 1, "Worse", `its evidence comes to "Failed", and its status says "Passed"`},
		"open guard":    {file(guard), 1, "Worse", `its evidence comes to "Failed", and its status says "no verdict yet"`},
		"passed":        {file(passed), 1, "Worse", `it has passed, and its evidence comes to "Failed"`},
		"approved":      {file(asked), 0, "Worse", ""},
		"forced":        {file(forced), 0, "Worse", ""},
		"dry run":       {file(dry), 0, "Worse", ""},
		"many":          {raw("items:\n" + strings.Repeat("- {}\n", 3_000_000)), 1, "", "more than 250000 values"},
		"aliases":       {raw("a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b, *b]\nitems: [" + strings.Repeat("*c, ", 10_000) + "]\n"), 1, "", "aliases"},
		"escapes":       {raw("kind: Gate\nmetadata: \"\\e]0;owned\\a\"\n"), 1, "", "--replay: "},
		"hostile":       {file(hostile), 0, "Worse", ""},
		"nothing":       {file(map[string]any{}), 1, "", "has no Gate: give what kubectl get gates -o yaml prints"},
		"no YAML":       {file("x: [") + "-", 1, "", "no such file"},
		"endless":       {"/dev/zero", 1, "", "has more than 16777216 bytes"},
	} {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"judge", "--replay=" + tc.file}, &stdout, &stderr)
		if code != tc.code || !strings.Contains(stdout.String(), tc.out) || !strings.Contains(stderr.String(), tc.err) {
			t.Errorf("%s: exit %d, %s%s", name, code, &stdout, &stderr)
		}
		if strings.ContainsAny(fmt.Sprint(stdout.String(), stderr.String()), "\x1b\x07") {
			t.Errorf("%s: control characters reach the terminal", name)
		}
	}
}
