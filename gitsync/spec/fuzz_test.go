package spec

import (
	"encoding/json"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

func addSeeds(f *testing.F) {
	f.Helper()
	for _, seed := range []string{
		release("web", strategy+template),
		release("web", template+"strategy:\n  steps:\n  - replicas: 1\n    gates:\n    - soak: {duration: 1m}\n    - window: {schedule: '0 9-17 * * 1-5', timeZone: Europe/Berlin}\n  - replicas: 100%"),
		deployment("web", "web:1") + "---\n" + release("web", strategy),
		statefulSet("db", "db:1", "1Gi") + "---\n" + releaseOf("StatefulSet", "db", strategy),
		daemonSet("log", "log:1") + "---\n" + releaseOf("DaemonSet", "log", "strategy: {maxUnavailable: 10%, steps: [{replicas: 100%}]}\n"),
		releaseOf("DaemonSet", "x", template+"strategy: {maxSurge: 1, stepBack: RemovePods, podReplacement: Terminated, steps: [{replicas: 100%}]}\n"),
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: x}\nspec: {selector: {matchExpressions: [{key: a, operator: b}]}, volumeClaimTemplates: [null, {spec: {resources: {requests: {storage: 1e400}}}}]}\n",
		sharing("a", route) + "---\n" + sharing("b", route) + "---\napiVersion: gateway.networking.k8s.io/v1\nkind: HTTPRoute\nmetadata: {name: web}\nspec: {rules: [{backendRefs: [{name: web}]}]}\n",
		withTraffic("{kind: Ingress, name: \"a\\nb\", service: ../web, namespace: 5}", "traffic: -1%\n    matches: [{path: {type: RegularExpression, value: '(a*)*{1000}('}, headers: [{name: ü, value: \"\\0\"}]}]"),
		bomb(4),
		"a: &a\n  b: *a\n",
		"\xef\xbb\xbf%YAML 1.1\r\n---\r\na: 1\r\n...\r\n",
		"--- {kind: BatchRelease, apiVersion: rollouts.sluice.dev/v1alpha1, spec: }\n",
		"a: |\n  ---\n<<: [*x, {}]\n? [a]\n: !!binary aGVsbG8=\n",
		"[[[[[[[[[[", "{? ", "- - - - -", "a: !!float .nan", "a: 0x_1", "~: ~", "'': ''",
	} {
		f.Add([]byte(seed))
	}
}

// FuzzRead: reading any file ends without panic, with objects that can be applied, or with an
// error on a line of the file.
func FuzzRead(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		files := fstest.MapFS{"x.yaml": {Data: data}}
		reader := NewReader(Options{Namespace: "shop", Limits: Limits{Documents: 20, Values: 1000}})
		result, err := reader.Read(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		lines := 1
		for _, b := range data {
			if b == '\n' {
				lines++
			}
		}
		for _, e := range result.Errors {
			if e.File != "x.yaml" || e.Line < 0 || e.Line > lines || e.Message == "" || !utf8.ValidString(e.Message) {
				t.Errorf("error %#v of a file with %d lines", e, lines)
			}
		}
		for _, r := range result.Releases {
			claims, has := r.Claims()
			if changed := ChangedClaims(claims, claims); has && len(changed) > 0 || has && r.WorkloadKind != "StatefulSet" {
				t.Errorf("claims %v of %s differ from themselves: %v", claims, r.WorkloadKind, changed)
			}
			if _, err := json.Marshal(r.Object()); err != nil || r.Name == "" || r.TemplateDigest == "" {
				t.Errorf("release %#v: %v", r, err)
			}
		}
		again, err := reader.Read(files, ".")
		if err != nil || len(again.Releases) != len(result.Releases) || len(again.Errors) != len(result.Errors) {
			t.Errorf("a second Read differs: %v, %v", again, err)
		}
	})
}

// FuzzKustomization: building any kustomization ends without panic, and reads no other file.
func FuzzKustomization(f *testing.F) {
	addSeeds(f)
	for _, seed := range []string{
		"resources: [r.yaml, d.yaml]\nnamePrefix: x-\nimages: [{name: web, newTag: '2'}]\n",
		"resources: [r.yaml]\npatches: [{target: {kind: BatchRelease}, patch: '[{op: remove, path: /spec}]'}]\n",
		"resources: [r.yaml]\nreplacements: [{source: {kind: Deployment}, targets: [{select: {kind: BatchRelease}, fieldPaths: [spec.x]}]}]\n",
		"resources: [r.yaml, d.yaml, s.yaml]\nnamePrefix: x-\ncommonLabels: {a: b}\n",
		"resources: [r.yaml, r.yaml]\nconfigMapGenerator: [{name: x, literals: [a=b]}]\nvars: []\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		files := fstest.MapFS{
			"kustomization.yaml": {Data: data},
			"r.yaml":             {Data: []byte(release("web", strategy))},
			"d.yaml":             {Data: []byte(deployment("web", "web:1"))},
			"s.yaml":             {Data: []byte(statefulSet("web", "web:1", "1Gi") + "---\n" + releaseOf("StatefulSet", "web", strategy))},
		}
		result, err := newTestReader().Read(files, ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range result.Errors {
			if e.File == "" || e.Message == "" {
				t.Errorf("error %#v", e)
			}
		}
	})
}
