package examples_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/santhosh-tekuri/jsonschema/v6"
	sigsyaml "sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/schema"
)

// schemaOf compiles a file of ../schemas, which refers to others by the addresses where they are
// published.
func schemaOf(t *testing.T, name string) *jsonschema.Schema {
	t.Helper()
	files, err := filepath.Glob("../schemas/*.json")
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(schema.Base+filepath.Base(file), valueOf(t, data)); err != nil {
			t.Fatal(err)
		}
	}
	compiled, err := compiler.Compile(schema.Base + name)
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// valueOf returns a YAML document as a schema sees it.
func valueOf(t *testing.T, document []byte) any {
	t.Helper()
	data, err := sigsyaml.YAMLToJSON(document)
	if err != nil {
		t.Fatalf("%v in:\n%s", err, document)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

var modeline = regexp.MustCompile(`^# yaml-language-server: \$schema=(\S+)\n`)

// TestEditorsTakeTheExamples: each manifest of Sluice's kinds names a schema in its first line,
// which takes it.
func TestEditorsTakeTheExamples(t *testing.T) {
	t.Parallel()
	for _, file := range manifestFiles(t) {
		text := fileOf(t, file).Data
		match := modeline.FindSubmatch(text)
		switch {
		case match == nil && bytes.Contains(text, []byte("apiVersion: rollouts.sluice.dev/")):
			t.Errorf("%s names no schema", file)
		case match != nil:
			compiled := schemaOf(t, strings.TrimPrefix(string(match[1]), schema.Base))
			for _, document := range documentsIn(t, file) {
				if err := compiled.Validate(valueOf(t, document)); err != nil {
					t.Errorf("%s: %v", file, err)
				}
			}
		}
	}
}

// TestEditorsTakeTheManifestsOfTheDocs: the schemas accept the manifests of README and docs.
func TestEditorsTakeTheManifestsOfTheDocs(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	compiled := schemaOf(t, schema.Any)
	for _, page := range append(pages, "../README.md") {
		for _, document := range manifestsOfPage(t, page) {
			if err := compiled.Validate(valueOf(t, document)); err != nil {
				t.Errorf("%s: %v", page, err)
			}
		}
	}
}

// TestEditorsRefuse has the mistakes that people make, each a change of an example that is right.
func TestEditorsRefuse(t *testing.T) {
	t.Parallel()
	const approvals, window, source = "releases/approvals.yaml", "releases/window.yaml", "sources/https.yaml"
	tests := map[string]struct{ file, old, with, at string }{
		"misspelt field":       {approvals, "replicas: 30%", "replica: 30%", "/spec/strategy/steps/1"},
		"misplaced field":      {approvals, "  strategy:", "  onFailure: Pause\n  strategy:", "/spec"},
		"misspelt metadata":    {approvals, "  name: web\nspec", "  name: web\n  label: {a: b}\nspec", "/metadata"},
		"no name":              {approvals, "  name: web\nspec", "  namespace: web\nspec", "/metadata"},
		"two types in a gate":  {approvals, "pullRequest: {}", "{pullRequest: {}, manual: {}}", "/spec/strategy/steps/2/gates/0"},
		"no type in a gate":    {approvals, "pullRequest: {}", "skippable: true", "/spec/strategy/steps/2/gates/0"},
		"type without braces":  {approvals, "pullRequest: {}", "pullRequest:", "/spec/strategy/steps/2/gates/0/pullRequest"},
		"field of a bare gate": {window, "manual: {}", "manual: {by: ada}", "/spec/strategy/steps/0/gates/0/manual"},
		"wrong enum":           {approvals, "  strategy:", "  strategy:\n    supersede: restart", "/spec/strategy/supersede"},
		"percentage":           {approvals, "replicas: 30%", "replicas: 30 %", "/spec/strategy/steps/1/replicas"},
		"more than all":        {approvals, "replicas: 60%", "replicas: 160%", "/spec/strategy/steps/2/replicas"},
		"fraction":             {approvals, "replicas: 1\n", "replicas: 1.5\n", "/spec/strategy/steps/0/replicas"},
		"negative":             {approvals, "replicas: 1\n", "replicas: -1\n", "/spec/strategy/steps/0/replicas"},
		"never all":            {approvals, "replicas: 100%", "replicas: 99%", "/spec/strategy/steps/3/replicas"},
		"duration in words":    {approvals, "duration: 5m", "duration: 5 minutes", "/spec/strategy/steps/2/gates/1/soak/duration"},
		"duration as a number": {approvals, "duration: 5m", "duration: 300", "/spec/strategy/steps/2/gates/1/soak/duration"},
		"negative duration":    {window, "duration: 1h", "duration: -1h", "/spec/strategy/steps/0/gates/1/window/duration"},
		"text for a number":    {approvals, "minApprovals: 2", "minApprovals: two", "/spec/strategy/steps/1/gates/0/pullRequest/minApprovals"},
		"another workload":     {approvals, "kind: Deployment", "kind: CloneSet", "/spec/workloadRef/kind"},
		"surge in place":       {approvals, "kind: Deployment\n    name: web\n  strategy:", "kind: StatefulSet\n    name: web\n  strategy:\n    maxSurge: 1", "/spec/strategy/maxSurge"},
		"back in place":        {approvals, "kind: Deployment\n    name: web\n  strategy:", "kind: DaemonSet\n    name: web\n  strategy:\n    stepBack: RemovePods", "/spec/strategy/stepBack"},
		"order of ordinals":    {approvals, "kind: Deployment\n    name: web\n  strategy:", "kind: StatefulSet\n    name: web\n  strategy:\n    order: [{age: OldestFirst}]", "/spec/strategy/order"},
		"another version":      {approvals, "sluice.dev/v1alpha1", "sluice.dev/v1", "/apiVersion"},
		"field of a source":    {source, "  prune: true", "  purge: true", "/spec"},
		"traffic as a number":  {approvals, "replicas: 1\n", "replicas: 1\n      traffic: 10\n", "/spec/strategy/steps/0/traffic"},
		"no match":             {approvals, "replicas: 1\n", "replicas: 1\n      matches: [{}]\n", "/spec/strategy/steps/0/matches/0"},
		"match of nothing":     {approvals, "replicas: 1\n", "replicas: 1\n      matches: [{headers: []}]\n", "/spec/strategy/steps/0/matches/0/headers"},
		"interval":             {source, "interval: 30s", "interval: 30", "/spec/interval"},
	}
	for name, wrong := range wrongTraffic {
		tests[name] = struct{ file, old, with, at string }{approvals, "  strategy:", "  strategy:\n    traffic: " + wrong[0], "/spec/strategy" + wrong[1]}
	}
	compiled := schemaOf(t, schema.Any)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			document := documentsIn(t, tt.file)[0]
			changed := bytes.Replace(document, []byte(tt.old), []byte(tt.with), 1)
			if bytes.Equal(document, changed) {
				t.Fatalf("%s has no %q", tt.file, tt.old)
			}
			wantRefusedAt(t, compiled.Validate(valueOf(t, changed)), tt.at)
		})
	}
}

// wrongTraffic are values of strategy.traffic, and where each is wrong.
var wrongTraffic = map[string][2]string{
	"route twice":           {"{routes: [{kind: HTTPRoute, name: web, service: web}, {kind: HTTPRoute, name: web, service: web}]}", "/traffic/routes"},
	"route of no name":      {"{routes: [{kind: HTTPRoute, name: Web, service: web}]}", "/traffic/routes/0/name"},
	"traffic of no step":    {"{routes: [{kind: HTTPRoute, name: web, service: web}]}", ""},
	"no routes":             {"{routes: []}", "/traffic/routes"},
	"another kind":          {"{routes: [{kind: TCPRoute, name: web, service: web}]}", "/traffic/routes/0/kind"},
	"Ingress elsewhere":     {"{routes: [{kind: Ingress, name: web, service: web, namespace: edge}]}", "/traffic/routes/0"},
	"delay of nothing":      {"{routes: [{kind: Ingress, name: web, service: web}], oldPodsDelaySeconds: 60}", "/traffic"},
	"delay of nothing kept": {"{routes: [{kind: Ingress, name: web, service: web}], keepOldPods: false, oldPodsDelaySeconds: 60}", "/traffic/keepOldPods"},
}

// wantRefusedAt looks for the place among those of the innermost causes.
func wantRefusedAt(t *testing.T, err error, want string) {
	t.Helper()
	refused := &jsonschema.ValidationError{}
	if !errors.As(err, &refused) {
		t.Fatalf("want it refused, got %v", err)
	}
	if !slices.Contains(refusedAt(refused), want) {
		t.Errorf("want it refused at %s, got %v", want, err)
	}
}

func refusedAt(err *jsonschema.ValidationError) []string {
	if len(err.Causes) == 0 {
		return []string{"/" + strings.Join(err.InstanceLocation, "/")}
	}
	var places []string
	for _, cause := range err.Causes {
		places = append(places, refusedAt(cause)...)
	}
	return places
}

// TestEditorsReadAFreeze: the schema accepts the same freezes as the controller.
func TestEditorsReadAFreeze(t *testing.T) {
	t.Parallel()
	compiled := schemaOf(t, "freeze.json")
	for _, text := range []string{
		"reason: quarter end",
		"{reason: x, until: 2027-01-04T09:00:00+01:00, namespaces: [shop], selector: {matchLabels: {tier: front}}}",
		"{reason: x, selector: {matchExpressions: [{key: tier, operator: NotIn, values: [a]}, {key: b, operator: Exists}]}}",
		"{}", "reason: ''", "reason: 1", "{reason: x, namespaces: shop}", "{reason: x, ends: 2027-01-04T09:00:00Z}",
		"{reason: x, until: monday}", "{reason: x, until: 2027-01-04}", "{reason: x, selector: {tier: front}}",
		"{reason: x, selector: {matchLabels: {tier: 1}}}", "{reason: x, selector: {matchExpressions: [{key: a, operator: Like}]}}", "[]",
	} {
		_, problems := spec.ReadFreeze(fstest.MapFS{spec.FreezeFile: {Data: []byte(text)}})
		if err := compiled.Validate(valueOf(t, []byte(text))); (err == nil) != (problems == nil) {
			t.Errorf("%s: the controller says %v, the schema %v", text, problems, err)
		}
	}
}

// jsonOf returns an object as a schema sees it.
func jsonOf(object any) (any, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(data))
}
