package spec

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// lines returns a text for each of a number of objects.
func lines(n int, format string) string {
	var text strings.Builder
	for i := range n {
		text.WriteString(strings.ReplaceAll(format, "#", fmt.Sprint(i)))
	}
	return text.String()
}

// TestSmallFilesThatTakeMuch: a few bytes that concern all other objects cost no more than these.
// Each took minutes, or gigabytes.
func TestSmallFilesThatTakeMuch(t *testing.T) {
	t.Parallel()
	const (
		kind    = "---\napiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\n"
		member  = kind + "metadata: {name: r#, labels: {a: b}}\nspec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: r#}}\n"
		sharing = kind + "metadata: {name: r#, labels: {a: b}}\nspec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: r#}, " +
			"strategy: {traffic: {routes: [{kind: HTTPRoute, name: r#, service: r#}]}}, template: {spec: {containers: [{name: web, image: 'web:1'}]}}}\n"
		train   = kind + "metadata: {name: t#}\nspec:\n  strategy: {steps: [{replicas: 100%}]}\n  members:\n"
		job     = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: j}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a, command: [LONG]}]}}}\n"
		gate    = "{job: {name: j}},"
		content = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c#}\ndata: {a: LONG}\n"
	)
	config := strategy + template + "config: [" + lines(20, "{configMap: c#},") + "]\n"
	jobs := "strategy: {steps: [" + strings.Repeat("{replicas: 1, gates: ["+strings.Repeat(gate, 10)+"]},", 49) + "{replicas: 100%}]}\n" + template
	matches := "matches: [" + strings.Repeat("{headers: ["+lines(16, "{name: h#, value: "+strings.Repeat("x", 1000)+"},")+"]},", 8) + "]"
	steps := strings.ReplaceAll(train, "#", "") + "  - {name: g, selector: {a: b}}\n"
	steps = strings.Replace(steps, "[{replicas: 100%}]", "["+strings.Repeat("{replicas: 50%, "+matches+"},", 20)+"{replicas: 100%}]", 1)
	var many string
	for i := range 1000 {
		many += "---\n" + release(fmt.Sprintf("r%d", i), config)
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"a content that all releases name": {map[string]string{"r.yaml": many, "c.yaml": strings.ReplaceAll(lines(20, content), "LONG", strings.Repeat("x", 50_000))}, ""},
		"contents that are not there": {map[string]string{"r.yaml": many, "c.yaml": strings.ReplaceAll(lines(2000, strings.ReplaceAll(content, "c#", "x#")), "LONG", "x")},
			"ConfigMap shop/c0 is not in the repository"},
		"selectors that select all": {map[string]string{"r.yaml": lines(1900, member), "t.yaml": lines(40, train+strings.ReplaceAll(lines(200, "  - {name: g#, selector: {a: b}}\n"), "#", ""))},
			"is a member already"},
		"selectors that select none": {map[string]string{"r.yaml": lines(1900, member), "t.yaml": lines(40, train) + lines(200, "  - {name: g#, selector: {a: c}}\n")},
			"has these labels"},
		"too many members": {map[string]string{"r.yaml": lines(1900, member), "s.yaml": strings.ReplaceAll(lines(1900, member), "name: r", "name: s"), "t.yaml": strings.ReplaceAll(train, "#", "") + "  - {name: g, selector: {a: b}}\n"},
			"selects more than 2000 releases, the most that a train can have"},
		"steps of many bytes": {map[string]string{"r.yaml": lines(1000, sharing), "t.yaml": steps}, "1000 members get them: all members together can get 33554432"},
		"gates of no Job":     {map[string]string{"r.yaml": "---\n" + release("a", jobs) + "---\n" + release("b", jobs) + "---\n" + release("c", jobs)}, "template is missing, and Job shop/j"},
		"gates of a long Job": {map[string]string{"r.yaml": "---\n" + release("a", jobs) + "---\n" + release("b", jobs) + "---\n" + release("c", jobs) + "---\n" + release("d", jobs) + "---\n" + release("e", jobs),
			"j.yaml": strings.ReplaceAll(job, "LONG", strings.Repeat("x", 30_000))}, "the Jobs of all gates have"},
	} {
		t.Run(name, func(t *testing.T) {
			late := time.AfterFunc(20*time.Second, func() { t.Error("it takes more than 20 s") })
			result := read(t, tt.files)
			late.Stop()
			if found := slices.ContainsFunc(result.Errors, func(e Error) bool { return strings.Contains(e.Message, tt.want) }); found != (tt.want != "") {
				t.Errorf("want an error with %q, got %.500s", tt.want, fmt.Sprint(result.Errors))
			}
		})
	}
}
