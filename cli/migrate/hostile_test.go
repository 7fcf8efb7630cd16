package migrate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/internal/plain"
)

// hostile is a text that would forge a document and a finding, set the title of a terminal, turn
// its text round, and command a workflow.
const hostile = "x\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: owned}\n# \x1b]0;owned\x07\u202e\u2028\u0085::error file=y::forged ##[set-env name=PATH]"

// shown attacks as hostile does, with visible characters and line breaks alone.
const shown = "x\"'\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: owned}\n...\n- }}{{ &a *a !!binary |\n ::error file=y::forged ##[set-env name=PATH]"

// texts replaces each text of a document by another one, once at a time.
func texts(t *testing.T, data []byte, another string, try func([]byte)) {
	t.Helper()
	for i := 0; ; i++ {
		var value any
		if err := yaml.Unmarshal(data, &value); err != nil {
			t.Fatal(err)
		}
		left := i
		value = replaced(value, another, &left)
		if left >= 0 {
			return
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		try(bytes.ReplaceAll(text, []byte("\u0085"), []byte(`\u0085`))) // which is an end of a line in YAML
	}
}

// replaced replaces the text after so many others, counting down.
func replaced(value any, another string, left *int) any {
	switch value := value.(type) {
	case string:
		*left--
		if *left == -1 {
			return another
		}
	case map[string]any:
		for _, key := range sorted(value) {
			value[key] = replaced(value[key], another, left)
		}
	case []any:
		for i := range value {
			value[i] = replaced(value[i], another, left)
		}
	}
	return value
}

func sorted(of map[string]any) []string {
	var keys []string
	for key := range of {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// TestTextsWriteNoYAML: no text of the input writes YAML, forges a line or steers a terminal.
func TestTextsWriteNoYAML(t *testing.T) {
	t.Parallel()
	for _, one := range examples(t) {
		t.Run(one.name, func(t *testing.T) {
			t.Parallel()
			for i, file := range one.files {
				documents := strings.Split(string(file.Data), "\n---\n")
				for j := range documents {
					for _, another := range []string{hostile, shown} {
						texts(t, []byte(documents[j]), another, func(text []byte) {
							parts := slices.Clone(documents)
							parts[j] = string(text)
							files := slices.Clone(one.files)
							files[i] = File{file.Name, []byte(strings.Join(parts, "\n---\n"))}
							result, unread := Analyses(files, one.options)
							if unread != nil {
								return
							}
							output := wantValid(t, result)
							if strings.Contains(output, "\nkind: Secret") || strings.Contains(output, "\x1b") {
								t.Errorf("want no document of the text, got:\n%s", output)
							}
						})
					}
				}
			}
		})
	}
}

// TestNamesStayOnTheirLine: names of files and fields stay on their line.
func TestNamesStayOnTheirLine(t *testing.T) {
	t.Parallel()
	text := `{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "x"}, "spec": {` + strconv.QuoteToASCII(hostile) + `: 1}}`
	result, unread := Analyses([]File{{hostile, []byte(text)}}, Options{})
	if unread != nil || len(result.Findings) != 1 {
		t.Fatalf("want the field reported, got %v, %v", result, unread)
	}
	wantValid(t, result)
	if line := result.Findings[0].String(); plain.Line(line) != line || !strings.Contains(line, "left out: spec.x --- apiVersion") {
		t.Errorf("want a harmless line, got %q", line)
	}
}

// TestSecretsStayOut: values of headers that may be secret, and addresses with a password, are
// neither in the output nor in a finding.
func TestSecretsStayOut(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-the-test"
	inputs := map[string]string{
		"header":  metricOf(`{"web": {"url": "http://x/y", "headers": [{"key": "X-Api-Key", "value": "` + secret + `"}]}}`),
		"bearer":  metricOf(`{"prometheus": {"address": "http://x", "query": "up", "headers": [{"key": "authorization", "value": "Bearer ` + secret + `"}]}}`),
		"basic":   metricOf(`{"prometheus": {"address": "http://x", "query": "up", "authentication": {"basicAuth": {"username": "u", "password": "` + secret + `"}}}}`),
		"address": metricOf(`{"prometheus": {"address": "http://u:` + secret + `@x", "query": "up"}}`),
		"url":     metricOf(`{"web": {"url": "http://u:` + secret + `@x/y"}}`),
	}
	for _, one := range examples(t) {
		for _, file := range one.files {
			if strings.Contains(string(file.Data), secret) {
				inputs[one.name] = string(file.Data)
			}
		}
	}
	if len(inputs) < 6 {
		t.Error("want an example of Flagger with a secret")
	}
	for name, text := range inputs {
		result, unread := Analyses([]File{{"x.yaml", []byte(text)}}, Options{})
		if unread != nil {
			t.Fatalf("%s: %v", name, unread)
		}
		if output := wantValid(t, result) + list(result); strings.Contains(output, secret) || result.Count(LeftOut) == 0 {
			t.Errorf("%s: want the secret reported, and in no output, got:\n%s", name, output)
		}
	}
}

// metricOf returns a template with a metric of a provider.
func metricOf(provider string) string {
	return `{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "x"}, "spec": {"metrics": [
		{"name": "m", "successCondition": "result == 1", "provider": ` + provider + `}]}}`
}

// TestHostileSizes: input that grows, or is large, is refused or cut short.
func TestHostileSizes(t *testing.T) {
	t.Parallel()
	bomb := "a0: &a0 [x, x]\n"
	for i := 1; i < 30; i++ {
		bomb += fmt.Sprintf("a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	for name, input := range map[string]struct{ text, says string }{
		"aliases":     {bomb, "aliases of the document make more than"},
		"itself":      {"a: &a\n  b: *a\n", "aliases of the document make more than"},
		"deep":        {strings.Repeat("[", 20_000), "exceeded max depth"},
		"deep blocks": {"a:\n" + strings.Repeat("- ", 20_000) + "x", "exceeded max depth"},
		"values":      {strings.Repeat("- {}\n", 300_000), "more than 250000 values"},
		"documents":   {strings.Repeat("---\na: 1\n", 3000), "more than 2000 documents"},
		"twice":       {"kind: a\nkind: b\n", `key "kind" already set`},
		"UTF-16":      {"\xff\xfea\x00", "UTF-16"},
		"broken":      {"a: [", "broken YAML"},
	} {
		_, unread := Analyses([]File{{"x.yaml", []byte(input.text)}}, Options{})
		if len(unread) == 0 || !strings.Contains(unread[0].Message, input.says) || unread[0].File != "x.yaml" || unread[0].Line == 0 {
			t.Errorf("%s: want an error with %q and a place, got %v", name, input.says, unread)
		}
	}
}

// TestManyOfEverything: input beyond a limit is reported, and the rest is translated.
func TestManyOfEverything(t *testing.T) {
	t.Parallel()
	metric := func(i int) string {
		return fmt.Sprintf(`{"name": "m", "interval": "%dm", "count": 2, "successCondition": "result == %d", "provider": {"prometheus": {"address": "http://a:%d", "query": "up"}}}`, i%50+1, i, i%1200+1)
	}
	many := func(n int, of func(int) string) string {
		var all []string
		for i := range n {
			all = append(all, of(i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	template := func(field string) string {
		return `{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "x"}, "spec": {` + field + `}}`
	}
	for name, input := range map[string]struct{ text, says string }{
		"metrics":   {template(`"metrics": ` + many(1500, metric)), "only 1000 metrics are translated at a time"},
		"arguments": {template(`"args": ` + many(300, func(i int) string { return fmt.Sprintf(`{"name": "a%d"}`, i) })), "is one of more than 100 arguments"},
		"dry runs":  {template(`"dryRun": ` + many(300, func(int) string { return `{"metricName": ".*"}` })), "set dryRun of the metrics in the gate"},
		"fields":    {template(strings.Join(strings.Split(strings.Trim(many(3000, func(i int) string { return fmt.Sprintf(`"f%d": 1`, i) }), "[]"), ","), ",")), "there are 2000 more findings"},
	} {
		result, unread := Analyses([]File{{"x.yaml", []byte(input.text)}}, Options{})
		if unread != nil {
			t.Fatalf("%s: %v", name, unread)
		}
		wantValid(t, result)
		if !strings.Contains(list(result), input.says) {
			t.Errorf("%s: want %q reported, got:\n%.2000s", name, input.says, list(result))
		}
		if len(result.Findings) > maxFindings+1 {
			t.Errorf("%s: want %d findings at most, got %d", name, maxFindings+1, len(result.Findings))
		}
	}
}

// TestTextsThatGrow: small input is not made large, and takes no long time.
func TestTextsThatGrow(t *testing.T) {
	t.Parallel()
	unfit := strings.Repeat("#", 1<<20)
	argument := `"args": [{"name": "a", "value": "` + unfit + `"}], `
	many := strings.Repeat("{{args.a}}", 10_000)
	template := func(field string) string {
		return `{"apiVersion": "argoproj.io/v1alpha1", "kind": "AnalysisTemplate", "metadata": {"name": "x"}, "spec": {` + field + `}}`
	}
	metric := func(provider string) string {
		return `"metrics": [{"name": "m", "successCondition": "result == 1", "provider": ` + provider + `}]`
	}
	for name, input := range map[string]struct{ text, says string }{
		"query":   {template(argument + metric(`{"prometheus": {"address": "http://a", "query": "`+many+`"}}`)), "query: is too long once"},
		"address": {template(argument + metric(`{"prometheus": {"address": "http://`+many+`", "query": "up"}}`)), "address: is too long once"},
		"url":     {template(argument + metric(`{"web": {"url": "http://a/`+many+`"}}`)), "url: is too long once"},
		"unknown": {template(metric(`{"prometheus": {"address": "http://a", "query": "` + strings.Repeat("{{args.none}}", 1000) + `"}}`)), "names an argument that the template does not have"},
		"pattern": {template(`"dryRun": [{"metricName": "(x?){1000}y"}, {"metricName": "` + strings.Repeat("x?", 1000) + `"}], ` + metric(`{"prometheus": {"address": "http://a", "query": "up"}}`)), "repeats something many times"},
	} {
		result, unread := Analyses([]File{{"x.yaml", []byte(input.text)}}, Options{})
		if unread != nil {
			t.Fatalf("%s: %v", name, unread)
		}
		if output := wantValid(t, result); len(output) > 1<<20 || !strings.Contains(list(result), input.says) {
			t.Errorf("%s: got %d characters; want %q reported, got:\n%.2000s", name, len(output), input.says, list(result))
		}
	}
}

// FuzzAnalyses: any input is refused, or gives valid output.
func FuzzAnalyses(f *testing.F) {
	for _, path := range []string{"argo-arguments/template", "argo-conditions/template", "argo-servers/template", "argo-background/rollout", "flagger-templates/canary", "flagger-templates/templates"} {
		data, err := os.ReadFile("testdata/" + path + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if result, unread := Analyses([]File{{"x.yaml", data}}, Options{Prometheus: "http://prometheus"}); unread == nil {
			wantValid(t, result)
		}
	})
}
