package spec

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

// TestHostileCharts: a chart takes no more than it may, whatever its author thinks of, and is an
// error of its file.
func TestHostileCharts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds of processor time for each of several bombs")
	}
	t.Parallel()
	const chartFile = "web/Chart.yaml"
	pool := sandbox.NewPool(sandbox.Options{Limits: sandbox.Limits{Time: 2 * time.Second}})
	with := func(template string) map[string]string { return map[string]string{"web/templates/x.yaml": template} }
	vendored := func(archive string) map[string]string {
		return map[string]string{"web/charts/redis-1.2.3.tgz": archive}
	}
	nested := redis(nil)
	for range 40 {
		nested = redis(map[string]string{"redis/charts/redis-1.2.3.tgz": nested})
	}
	const exceeds = "building the chart takes more than"
	cases := map[string]struct {
		more map[string]string
		want []string
	}{
		"loop":               {with(`{{ range until 2000000000 }}x{{ end }}`), []string{chartFile, exceeds}},
		"loops":              {with(`{{ range $i := until 100000 }}{{ range until 100000 }}{{ end }}{{ end }}`), []string{chartFile, exceeds}},
		"long text":          {with(`{{ repeat 2000000000 "x" }}`), []string{chartFile, exceeds}},
		"doubling":           {with(`{{ $x := "0123456789" }}{{ range until 40 }}{{ $x = print $x $x }}{{ end }}{{ $x }}`), []string{chartFile, exceeds}},
		"includes":           {with(`{{ define "a" }}{{ include "a" . }}{{ include "a" . }}{{ end }}{{ include "a" . }}`), []string{"web/"}},
		"tree of includes":   {with(`{{ define "a" }}{{ if lt (len .) 40 }}{{ include "a" (append . 1) }}{{ include "a" (append . 1) }}{{ end }}{{ end }}{{ include "a" (list 1) }}`), []string{chartFile, exceeds}},
		"endless template":   {with(`{{ define "a" }}{{ template "a" . }}{{ end }}{{ template "a" . }}`), []string{"web/"}},
		"tpl of itself":      {with(`{{ $t := "{{ tpl .t . }}" }}{{ tpl $t (dict "t" $t "Template" .Template) }}`), []string{"web/"}},
		"tpl of long text":   {with(`{{ tpl (repeat 20000000 "{{ 1 }}") . }}`), []string{chartFile, exceeds}},
		"regular expression": {with(`{{ $a := repeat 10000000 "a" }}{{ range until 100000 }}{{ regexMatch "(a*)*b" $a }}{{ end }}`), []string{chartFile, exceeds}},
		"keys":               {with(`{{ range until 1000 }}{{ genPrivateKey "rsa" }}{{ end }}`), []string{chartFile, exceeds}},
		"output": {with(`{{ range until 600000 }}apiVersion: v1
kind: ConfigMap
metadata: {name: x}
---
{{ end }}`), []string{"web/"}},
		"objects": {with(`{{ range until 1999 }}apiVersion: v1
kind: ConfigMap
metadata: {name: x{{ . }}}
---
{{ end }}
{{- define "list" }}{{ end }}`), nil},
		"too many objects":          {with("apiVersion: v1\nkind: List\nitems:\n{{ range until 2100 }}- {apiVersion: v1, kind: ConfigMap, metadata: {name: x{{ . }}}}\n{{ end }}"), []string{chartFile, "the chart makes more than 2000 objects"}},
		"aliases in output":         {with("kind: Deployment\n" + bomb(9)), []string{"web/templates/x.yaml", "the aliases of the document make more than"}},
		"aliases in values":         {map[string]string{"web/values.yaml": bomb(9)}, []string{"web/"}},
		"aliases in Chart":          {map[string]string{chartFile: "apiVersion: v2\nname: web\nversion: 1.0.0\n" + bomb(9)}, []string{"web/"}},
		"huge values":               {map[string]string{"web/values.yaml": "a: " + strings.Repeat("[", 1_000_000)}, []string{"web/"}},
		"huge files":                {map[string]string{"web/a.bin": strings.Repeat("x", 3<<20), "web/b.bin": strings.Repeat("x", 3<<20), "web/c.bin": strings.Repeat("x", 3<<20)}, []string{chartFile, "the files of the chart are larger than"}},
		"deep schema":               {map[string]string{"web/values.schema.json": strings.Repeat(`{"not":`, 100_000) + "{}" + strings.Repeat("}", 100_000)}, []string{"web/"}},
		"schema of itself":          {map[string]string{"web/values.schema.json": `{"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}`}, []string{"web/"}},
		"archive bomb":              {vendored(redis(map[string]string{"redis/a": strings.Repeat("x", 200<<20)})), []string{chartFile, "larger than the maximum size"}},
		"archives in archives":      {vendored(nested), nil},
		"archive out of its folder": {vendored(archiveOf(map[string]string{"redis/../../../etc/cron.d/x": "x"}, nil)), []string{chartFile, "parent directory"}},
		"absolute archive":          {vendored(archiveOf(map[string]string{"redis//etc/cron.d/x": "x"}, nil)), []string{chartFile, "absolute"}},
		"archive with links":        {vendored(archiveOf(map[string]string{"redis/Chart.yaml": "apiVersion: v2\nname: redis\nversion: 1.2.3\n"}, map[string]string{"redis/templates/passwd.yaml": "/etc/passwd"})), nil},
		"no archive":                {vendored("\x1f\x8b not really"), []string{chartFile}},
		"values of a map":           {map[string]string{"web/values.yaml": "- 1\n"}, []string{chartFile, "cannot load values.yaml"}},
		"set of itself":             {with(`{{ $_ := set .Values "self" .Values }}{{ toYaml .Values }}`), nil},
		"merge of itself":           {with(`{{ $d := dict }}{{ $_ := set $d "d" $d }}{{ $_ := mergeOverwrite $d (deepCopy $d) }}`), []string{"web/"}},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			reader := NewReader(Options{Namespace: "shop", Builder: pool.For(t.Context(), sandbox.Owner{Tenant: name}), Helm: &v1alpha1.HelmChart{ReleaseName: "web"}})
			result, err := reader.Read(chartFiles(tt.more), "web")
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == nil {
				wantErrors(t, result)
				return
			}
			got := fmt.Sprint(result.Errors)
			for _, want := range tt.want {
				if !strings.Contains(got, want) {
					t.Errorf("want %q in %.500s", want, got)
				}
			}
			if len(result.Errors) == 0 || len(got) > 2000 {
				t.Errorf("want one short error, got %d bytes", len(got))
			}
		})
	}
}

// TestChartReadsNothingElse: neither files of the machine, nor its environment, nor files beside
// the chart, nor the target of a link get into a release.
func TestChartReadsNothingElse(t *testing.T) {
	t.Parallel()
	show := func(value string) map[string]string {
		return map[string]string{
			"web/templates/deployment.yaml": strings.Replace(chartDeployment, "{{ .Values.image | quote }}", `"web:{{ `+value+` }}"`, 1),
			"secret.txt":                    "secret-of-the-repository", "web/.git/config": "secret-of-git",
		}
	}
	for _, value := range []string{
		`.Files.Get "../../etc/passwd"`, `.Files.Get "/etc/passwd"`, `.Files.Get "../secret.txt"`, `.Files.Get ".git/config"`, `(.Files.Glob "../*").AsConfig`,
		`(.Files.Glob "/etc/*").AsSecrets`, `.Files.Lines "../secret.txt" | join ""`, `.Files.GetBytes "/proc/self/environ" | toString`,
	} {
		result := readWeb(t, chartFiles(show(value)), v1alpha1.HelmChart{})
		if len(result.Errors) > 0 || len(result.Releases) != 1 {
			t.Errorf("%s: %v", value, result.Errors)
			continue
		}
		if got := fmt.Sprint(result.Releases[0].Object()); strings.Contains(got, "secret-of") || strings.Contains(got, "root:") {
			t.Errorf("%s shows %s", value, got)
		}
	}
	for name, target := range map[string]string{"web/templates/link.yaml": "../../secret.txt", "web/charts/linked": "/etc", "web/values-link.yaml": "/etc/passwd"} {
		files := chartFiles(nil)
		files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		wantErrors(t, readWeb(t, files, v1alpha1.HelmChart{}), name+": a symbolic link or submodule is not followed")
	}
	files := chartFiles(nil)
	files["envs/linked"] = &fstest.MapFile{Data: []byte("/etc"), Mode: fs.ModeSymlink}
	wantErrors(t, readWeb(t, files, v1alpha1.HelmChart{ValuesFiles: []string{"../envs/linked/passwd"}}),
		`web/Chart.yaml: spec.helm.valuesFiles[0]: "../envs/linked/passwd" leads through "envs/linked"`)
}

// TestChartFetchesNothing: no address in a chart is asked, and no program is run.
func TestChartFetchesNothing(t *testing.T) {
	traps := setTraps(t)
	schema := func(text string) map[string]string { return map[string]string{"web/values.schema.json": text} }
	attacks := map[string]struct {
		more  map[string]string
		files []string
	}{
		"schema":           {schema(`{"$ref": "%s/x.json"}`), nil},
		"beside a schema":  {schema(`{"$id": "%s/a.json", "properties": {"image": {"$ref": "b.json"}}}`), nil},
		"schema of schema": {schema(`{"$schema": "%s/x.json"}`), nil},
		"schema of a part": {map[string]string{"web/charts/redis-1.2.3.tgz": redis(map[string]string{"redis/values.schema.json": `{"$ref": "` + traps.url + `/x.json"}`})}, nil},
		"file":             {schema(`{"$ref": "file:///etc/passwd"}`), nil},
		"repository":       {map[string]string{"web/Chart.yaml": strings.ReplaceAll(chartWith("redis", ""), "oci://127.0.0.1/charts", "%s")}, nil},
		"registry":         {map[string]string{"web/Chart.yaml": strings.ReplaceAll(chartWith("redis", ""), "oci://127.0.0.1/charts", "oci:%s")}, nil},
		"lock":             {map[string]string{"web/Chart.lock": "dependencies: [{name: redis, version: 1.0.0, repository: '%s'}]\n"}, nil},
		"requirements":     {map[string]string{"web/requirements.yaml": "dependencies: [{name: redis, version: 1.0.0, repository: '%s'}]\n"}, nil},
		"plug-in":          {map[string]string{"web/plugin.yaml": "name: x\nversion: 1.0.0\ncommand: sh\nhooks: {install: sh}\n", "web/templates/x.yaml": "{{ exec \"sh\" }}"}, nil},
		"file of a chart":  {map[string]string{"web/templates/x.yaml": `a: {{ .Files.Get "%s/x" }}`}, nil},
		"values":           {nil, []string{"%s/values.yaml"}},
		"name":             {map[string]string{"web/templates/x.yaml": `a: {{ getHostByName "%s" }}`}, nil},
		"hook":             {map[string]string{"web/templates/x.yaml": "apiVersion: batch/v1\nkind: Job\nmetadata: {name: x, annotations: {helm.sh/hook: pre-install}}\n"}, nil},
	}
	place := func(text string) string { return strings.ReplaceAll(text, "%s", traps.url) }
	for name, attack := range attacks {
		files := chartFiles(attack.more)
		for _, file := range files {
			file.Data = []byte(place(string(file.Data)))
		}
		var values []string
		for _, file := range attack.files {
			values = append(values, place(file))
		}
		result := readWeb(t, files, v1alpha1.HelmChart{ValuesFiles: values})
		for _, release := range result.Releases {
			if strings.Contains(fmt.Sprint(release.Object(), release.WorkloadObject()), "secret-of-the-node") {
				t.Errorf("%s: a release holds what was fetched", name)
			}
		}
		traps.check(t, name)
	}
}
