package spec

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// chartFiles returns a repository with a chart, a release beside it, and values of an environment.
func chartFiles(more map[string]string) fstest.MapFS {
	files := map[string]string{
		"web/Chart.yaml":                "apiVersion: v2\nname: web\nversion: 1.0.0\n",
		"web/values.yaml":               "image: web:1\nreplicas: 1\n",
		"web/templates/_helpers.tpl":    "{{- define \"web.name\" -}}{{ .Release.Name }}{{- end }}\n",
		"web/templates/deployment.yaml": chartDeployment,
		"web/templates/NOTES.txt":       "Deployment {{ .Release.Name }} is there.\n",
		"web/templates/test.yaml":       "apiVersion: v1\nkind: Pod\nmetadata:\n  name: test\n  annotations: {helm.sh/hook: test}\n",
		"web/crds/crd.yaml":             "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: crd}\n",
		"web/release.yaml":              release("web", strategy),
		"envs/production.yaml":          "image: web:2\n",
	}
	maps.Copy(files, more)
	return tree(files)
}

const chartDeployment = `# The web server.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "web.name" . }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: {{ .Values.image | quote }}
`

func chartReader(helm *v1alpha1.HelmChart) *Reader {
	reader := newTestReader()
	reader.RenderWith(helm)
	return reader
}

// readWeb reads a repository whose source renders the chart in its folder web.
func readWeb(t *testing.T, files fs.FS, helm v1alpha1.HelmChart) *Result {
	t.Helper()
	helm.ReleaseName = "web"
	result, err := chartReader(&helm).Read(files, "web")
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// TestChart: a chart is rendered with the values of an environment, and gives the template to the
// release that stands beside it. Hooks, notes and definitions are left out.
func TestChart(t *testing.T) {
	t.Parallel()
	result := readWeb(t, chartFiles(nil), v1alpha1.HelmChart{
		ValuesFiles: []string{"../envs/production.yaml"}, Values: &runtime.RawExtension{Raw: []byte(`{"replicas":7}`)},
	})
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
	web := result.Releases[0]
	if got := fmt.Sprint(web.Object()); !strings.Contains(got, "image:web:2") {
		t.Errorf("want the image of the environment, got %s", got)
	}
	if got := fmt.Sprint(web.WorkloadObject()); !strings.Contains(got, "replicas:7") {
		t.Errorf("want the replicas of spec.helm.values, got %s", got)
	}
	if web.File != "web/release.yaml" || web.TemplateFile != "web/templates/deployment.yaml" || web.Kustomization != "web/Chart.yaml" {
		t.Errorf("got %q, %q and %q", web.File, web.TemplateFile, web.Kustomization)
	}
	if place := web.WorkloadPlace(); place.Line != 3 {
		t.Errorf("want the line of the kind in the template, got %d", place.Line)
	}
	if len(result.LeftOut) != 0 || len(result.Notices) != 0 {
		t.Errorf("nothing of a rendered chart is left out, got %v, %v", result.LeftOut, result.Notices)
	}
}

// TestChartWithRelease: the release may be a template, whose steps are values.
func TestChartWithRelease(t *testing.T) {
	t.Parallel()
	files := chartFiles(map[string]string{
		"web/templates/release.yaml": release("{{ .Release.Name }}", "strategy: {steps: [{replicas: {{ .Values.first }}}, {replicas: 100%}]}\n"),
		"envs/production.yaml":       "first: 25%\n",
	})
	delete(files, "web/release.yaml")
	result := readWeb(t, files, v1alpha1.HelmChart{ValuesFiles: []string{"../envs/production.yaml"}})
	wantErrors(t, result)
	wantReleases(t, result, "shop/web")
	if web := result.Releases[0]; web.File != "web/templates/release.yaml" || !strings.Contains(fmt.Sprint(web.Object()), "replicas:25%") {
		t.Errorf("got %s with %v", web.File, web.Object())
	}
}

// TestChartLeftOut: without spec.helm a chart is left out, with a notice.
func TestChartLeftOut(t *testing.T) {
	t.Parallel()
	result, err := newTestReader().Read(chartFiles(nil), "web")
	if err != nil {
		t.Fatal(err)
	}
	if len(result.Notices) != 1 || !strings.Contains(result.Notices[0].Message, "spec.helm") {
		t.Errorf("want a notice about spec.helm, got %v", result.Notices)
	}
}

// TestNoChart: spec.helm on a folder without a chart is an error of the source.
func TestNoChart(t *testing.T) {
	t.Parallel()
	_, err := chartReader(&v1alpha1.HelmChart{ReleaseName: "web"}).Read(chartFiles(nil), "envs")
	if !errors.Is(err, ErrNoChart) || !strings.Contains(err.Error(), "\"envs\" has no Chart.yaml") {
		t.Errorf("got %v", err)
	}
}

// TestChartKept: a chart that did not change is not rendered again, and with other values it is.
func TestChartKept(t *testing.T) {
	t.Parallel()
	reader := chartReader(&v1alpha1.HelmChart{ReleaseName: "web"})
	var made [3]*Release
	for i := range made {
		if i == 2 {
			reader.RenderWith(&v1alpha1.HelmChart{ReleaseName: "web", Values: &runtime.RawExtension{Raw: []byte(`{"image":"web:3"}`)}})
		}
		result, err := reader.Read(chartFiles(nil), "web")
		if err != nil || len(result.Releases) != 1 {
			t.Fatalf("%v, %v", err, result.Errors)
		}
		made[i] = result.Releases[0]
	}
	if made[0] != made[1] {
		t.Error("the chart was rendered again")
	}
	if !strings.Contains(fmt.Sprint(made[2].Object()), "web:3") {
		t.Errorf("other values change nothing: %v", made[2].Object())
	}
}

// TestBrokenChartDeletesNothing: any release may be in a chart that can't be rendered.
func TestBrokenChartDeletesNothing(t *testing.T) {
	t.Parallel()
	for _, more := range []map[string]string{
		{"web/templates/deployment.yaml": "{{ fail \"no\" }}"},
		{"web/templates/deployment.yaml": "{{ if }}"},
		{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies: [{name: gone, version: 1.x.x, repository: 'oci://127.0.0.1/charts'}]\n"},
	} {
		result := readWeb(t, chartFiles(more), v1alpha1.HelmChart{})
		if len(result.Releases) != 0 || len(result.Errors) == 0 || len(result.Doubts) == 0 || !result.Doubts[0].MayHold("anything") {
			t.Errorf("%v: got releases %v, errors %v, doubts %v", more, result.Releases, result.Errors, result.Doubts)
		}
	}
}

// TestChartErrors: an error of a chart names file and line.
func TestChartErrors(t *testing.T) {
	t.Parallel()
	with := func(line string) map[string]string {
		return map[string]string{"web/templates/x.yaml": "# first\n" + line + "\n"}
	}
	cases := map[string]struct {
		more  map[string]string
		files []string
		want  string
	}{
		"syntax":                 {with("{{ if }}"), nil, "web/templates/x.yaml:2: "},
		"unknown function":       {with(`{{ env "HOME" }}`), nil, "web/templates/x.yaml:2: "},
		"required":               {with(`a: {{ required "set a password" .Values.password }}`), nil, "web/templates/x.yaml:2: set a password"},
		"no value":               {with(`a: {{ .Values.a.b }}`), nil, "web/templates/x.yaml:2: at <.Values.a.b>: nil pointer"},
		"fail in a helper":       {map[string]string{"web/templates/_x.tpl": "{{ define \"x\" }}\n{{ .Values.a.b.c }}\n{{ end }}", "web/templates/x.yaml": "{{ include \"x\" . }}"}, nil, "web/templates/_x.tpl:2: "},
		"broken output":          {with("kind: Deployment\n  a: [\n{{ 1 }}"), nil, "web/templates/x.yaml: line 3 of what web/templates/x.yaml makes: broken YAML"},
		"lookup":                 {with(`a: {{ lookup "v1" "Secret" "kube-system" "token" }}`), nil, "web/templates/x.yaml:2: "},
		"lookup in a helper":     {map[string]string{"web/templates/_x.tpl": "{{ define \"x\" }}\n{{ lookup \"v1\" \"Pod\" \"\" \"\" }}{{ end }}", "web/templates/x.yaml": "{{ include \"x\" . }}"}, nil, "web/templates/_x.tpl:2: "},
		"DNS":                    {with(`a: {{ getHostByName "kubernetes.default" }}`), nil, "web/templates/x.yaml:2: "},
		"values that are broken": {map[string]string{"envs/production.yaml": "a: 1\nb: [\n"}, []string{"../envs/production.yaml"}, "envs/production.yaml:2: broken YAML"},
		"own values":             {map[string]string{"web/values.yaml": "a: 1\nb: [\n"}, nil, "web/values.yaml:2: broken YAML"},
		"no values file":         {nil, []string{"../envs/staging.yaml"}, `web/Chart.yaml: spec.helm.valuesFiles[0]: the repository has no envs/staging.yaml`},
		"values outside":         {nil, []string{"../../etc/passwd"}, `web/Chart.yaml: spec.helm.valuesFiles[0]: "../../etc/passwd" leads out of the repository`},
		"absolute values":        {nil, []string{"/etc/passwd"}, `web/Chart.yaml: spec.helm.valuesFiles[0]: "/etc/passwd" leads out of the repository`},
		"values at a URL":        {nil, []string{"https://127.0.0.1/values.yaml"}, `web/Chart.yaml: spec.helm.valuesFiles[0]: "https://127.0.0.1/values.yaml" is not in the repository`},
		"Sluice's own values":    {map[string]string{".sluice/approvals/x.yaml": "a: 1\n"}, []string{"../.sluice/approvals/x.yaml"}, `web/Chart.yaml: spec.helm.valuesFiles[0]: "../.sluice/approvals/x.yaml" is Sluice's own`},
		"Git's own values":       {map[string]string{".git/config": "a: 1\n"}, []string{"../.git/config"}, `web/Chart.yaml: spec.helm.valuesFiles[0]: "../.git/config" is Git's own`},
		"no metadata":            {map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\n"}, nil, "web/Chart.yaml: validation: chart.metadata.version is required"},
		"library":                {map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\ntype: library\n"}, nil, "web/Chart.yaml: type: a library chart renders nothing"},
		"newer charts":           {map[string]string{"web/Chart.yaml": "apiVersion: v3\nname: web\nversion: 1.0.0\n"}, nil, "web/Chart.yaml: apiVersion: charts of \"v3\" are not rendered"},
		"another Kubernetes":     {map[string]string{"web/Chart.yaml": "apiVersion: v2\nname: web\nversion: 1.0.0\nkubeVersion: '>= 1.99'\n"}, nil, "web/Chart.yaml: kubeVersion: the chart is for Kubernetes >= 1.99, and is rendered for 1.37.0"},
		"missing dependency":     {map[string]string{"web/Chart.yaml": chartWith("redis", "")}, nil, "web/Chart.yaml:5: dependencies: redis 1.x.x of chart web is not in its folder charts"},
		"older dependency": {map[string]string{"web/Chart.yaml": chartWith("redis", ""), "web/charts/redis/Chart.yaml": "apiVersion: v2\nname: redis\nversion: 0.9.0\n"}, nil,
			"web/Chart.yaml:5: dependencies: redis 1.x.x of chart web is in its folder charts as 0.9.0"},
		"two that fit": {map[string]string{"web/Chart.yaml": chartWith("redis", ""), "web/charts/redis-1.2.3.tgz": redis(nil),
			"web/charts/redis/Chart.yaml": "apiVersion: v2\nname: redis\nversion: 1.9.0\n"}, nil,
			"web/Chart.yaml:5: dependencies: redis 1.x.x of chart web is in its folder charts as 1.2.3 and 1.9.0, of which Helm takes any"},
		"twice": {map[string]string{"web/charts/redis-1.2.3.tgz": redis(nil), "web/charts/redis/Chart.yaml": "apiVersion: v2\nname: redis\nversion: 1.2.3\n"}, nil,
			"web/Chart.yaml: chart web has redis 1.2.3 twice in its folder charts: delete one"},
		"dependency of a dependency": {map[string]string{"web/Chart.yaml": chartWith("redis", ""),
			"web/charts/redis/Chart.yaml": "apiVersion: v2\nname: redis\nversion: 1.9.0\ndependencies: [{name: common, version: '*', repository: 'https://127.0.0.1'}]\n"}, nil,
			"web/Chart.yaml: dependencies: common * of chart redis is not in its folder charts"},
		"dependency at a path": {map[string]string{"web/Chart.yaml": strings.ReplaceAll(chartWith("redis", ""), "oci://127.0.0.1", "file://../redis"),
			"redis/Chart.yaml": "apiVersion: v2\nname: redis\nversion: 1.9.0\n"}, nil, "web/Chart.yaml:5: dependencies: redis 1.x.x of chart web is not in"},
		"lock file": {map[string]string{"web/Chart.yaml": chartWith("redis", ""), "web/Chart.lock": "dependencies: [{name: redis, version: 1.0.0, repository: 'file:///etc'}]\n"}, nil,
			"web/Chart.yaml:5: dependencies: redis 1.x.x of chart web is not in"},
		"schema": {map[string]string{"web/values.schema.json": `{"properties": {"replicas": {"type": "string"}}}`}, nil, "web/values.schema.json: values don't meet"},
		"schema at a URL": {map[string]string{"web/values.schema.json": "{\n\"properties\": {\"replicas\": {\n\"$ref\": \"http://127.0.0.1/x.json\"}}}"}, nil,
			`web/values.schema.json:3: the schema refers to "http://127.0.0.1/x.json", and nothing is fetched`},
		"schema in a file":    {map[string]string{"web/values.schema.json": `{"$ref": "file:///etc/passwd"}`}, nil, `web/values.schema.json:1: the schema refers to "file:///etc/passwd"`},
		"schema beside a URL": {map[string]string{"web/values.schema.json": `{"$id": "http://127.0.0.1/a.json", "properties": {"image": {"$ref": "b.json"}}}`}, nil, "web/values.schema.json: "},
		"release not taken":   {map[string]string{"web/files/r.yaml": release("other", strategy)}, nil, "web/files/r.yaml:1: BatchRelease other is not released: no template of web/Chart.yaml makes it"},
		"release of another name": {map[string]string{"web/release.yaml": release("wed", strategy)}, nil,
			"web/release.yaml:1: spec.template is missing, and Deployment shop/wed, whose template it would be, is not in the repository as web/Chart.yaml builds it"},
		"wrong workload": {map[string]string{"web/templates/deployment.yaml": strings.Replace(chartDeployment, "| quote", "", 1), "web/values.yaml": "image: 5\nreplicas: 1\n"}, nil,
			"web/templates/deployment.yaml:14: spec.template.spec.containers[0].image: must be a string"},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := readWeb(t, chartFiles(tt.more), v1alpha1.HelmChart{ValuesFiles: tt.files})
			if len(result.Errors) == 0 || !strings.HasPrefix(result.Errors[0].Error(), tt.want) {
				t.Errorf("want an error that begins with\n%s\ngot\n%v", tt.want, result.Errors)
			}
		})
	}
}

// TestChartWithoutItsWorkload: the error of a release names the chart once, if the chart can't be
// read that would make its workload.
func TestChartWithoutItsWorkload(t *testing.T) {
	t.Parallel()
	files := map[string]string{"web/templates/deployment.yaml": "kind: Deployment\n  a: [\n", "web/templates/r.yaml": release("web", strategy), "web/release.yaml": ""}
	result := readWeb(t, chartFiles(files), v1alpha1.HelmChart{})
	if len(result.Errors) != 2 || !strings.HasSuffix(result.Errors[1].Error(), "is not in any file that can be read, and web/Chart.yaml can't") {
		t.Errorf("want the chart once at the end of the second error, got %v", result.Errors)
	}
}

// chartWith returns a Chart.yaml with a dependency.
func chartWith(name, more string) string {
	return "apiVersion: v2\nname: web\nversion: 1.0.0\ndependencies:\n- name: " + name + "\n  version: 1.x.x\n  repository: oci://127.0.0.1/charts\n" + more
}

// TestChance: values that are others each time are refused where they are made, if a release
// depends on them, and else are let be.
func TestChance(t *testing.T) {
	t.Parallel()
	annotated := func(value string) string {
		return strings.Replace(chartDeployment, "metadata: {labels: {app: web}}", "metadata:\n      labels: {app: web}\n      annotations:\n        chance: "+value, 1)
	}
	const annotation = "Deployment web: spec.template.metadata.annotations.chance is another one each time the chart is rendered, since "
	secret := "apiVersion: v1\nkind: Secret\nmetadata: {name: web}\nstringData:\n  password: {{ randAlphaNum 20 }}\n  more: {{ randAlphaNum 20 }}\n"
	cases := map[string]struct{ deployment, secret, want string }{
		"none":        {annotated("fixed"), "", ""},
		"secret only": {annotated("fixed"), secret, ""},
		"text":        {annotated("{{ randAlphaNum 8 }}"), secret, "web/templates/deployment.yaml:13: " + annotation + "randAlphaNum"},
		"one digit":   {annotated(`"{{ randInt 0 2 }}"`), "", "web/templates/deployment.yaml:13: " + annotation + "randInt"},
		"identifier":  {annotated("{{ uuidv4 }}"), "", "web/templates/deployment.yaml:13: " + annotation + "uuidv4"},
		"time":        {annotated(`{{ now | date "2006-01-02" | quote }}`), "", "web/templates/deployment.yaml:13: " + annotation + "now"},
		"year":        {annotated(`{{ date "2006" "" | quote }}`), "", "web/templates/deployment.yaml:13: " + annotation + "now"},
		"age":         {annotated(`{{ ago (toDate "2006" "2020") }}`), "", "web/templates/deployment.yaml:13: " + annotation + "ago"},
		"certificate": {annotated(`{{ (genCA "web" 1).Cert | sha256sum }}`), "", "web/templates/deployment.yaml:13: " + annotation + "genCA"},
		"checksum": {annotated(`{{ include (print $.Template.BasePath "/secret.yaml") . | sha256sum }}`), "# x\n" + secret,
			"web/templates/secret.yaml:6: " + annotation + "randAlphaNum"},
		"whether there is one": {chartDeployment + "{{- if eq (randInt 0 2) 1 }}\n      - {name: more, image: 'more:1'}\n{{- end }}\n", "", "web/templates/deployment.yaml:15: "},
		"order":                {annotated(`{{ keys (dict "a" 1 "b" 2 "c" 3 "d" 4) | join "," }}{{ values (dict "a" 1 "b" 2 "c" 3) | join "," }}`), "", ""},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			more := map[string]string{"web/templates/deployment.yaml": tt.deployment}
			if tt.secret != "" {
				more["web/templates/secret.yaml"] = tt.secret
			}
			result := readWeb(t, chartFiles(more), v1alpha1.HelmChart{})
			if tt.want == "" {
				wantErrors(t, result)
				return
			}
			wantErrors(t, result, tt.want)
		})
	}
}

// archiveOf returns a chart as Helm packs it.
func archiveOf(files map[string]string, links map[string]string) string {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	archive := tar.NewWriter(zipped)
	for name, text := range files {
		_ = archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))})
		_, _ = archive.Write([]byte(text))
	}
	for name, target := range links {
		_ = archive.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeSymlink, Linkname: target, Mode: 0o777})
	}
	_ = archive.Close()
	_ = zipped.Close()
	return packed.String()
}

// redis returns a chart in an archive, with more files.
func redis(more map[string]string) string {
	files := map[string]string{
		"redis/Chart.yaml":          "apiVersion: v2\nname: redis\nversion: 1.2.3\n",
		"redis/values.yaml":         "image: redis:7\n",
		"redis/templates/sets.yaml": "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: '{{ .Release.Name }}-redis'}\nspec:\n  template: {spec: {containers: [{name: redis, image: '{{ .Values.image }}'}]}}\n",
	}
	maps.Copy(files, more)
	return archiveOf(files, nil)
}

// TestVendoredArchive: a vendored chart is rendered with the values that the chart gives it, and
// one that is switched off is not.
func TestVendoredArchive(t *testing.T) {
	t.Parallel()
	cache := strings.ReplaceAll(release("web-redis", "strategy: {steps: [{replicas: 100%}]}\n"), "Deployment", "StatefulSet")
	files := chartFiles(map[string]string{
		"web/Chart.yaml": chartWith("redis", "  alias: cache\n  condition: cache.enabled\n"), "web/charts/redis-1.2.3.tgz": redis(nil),
		"web/values.yaml": "image: web:1\nreplicas: 1\ncache: {enabled: true, image: redis:8}\n", "web/cache.yaml": cache,
	})
	result := readWeb(t, files, v1alpha1.HelmChart{})
	wantErrors(t, result)
	wantReleases(t, result, "shop/web-redis", "shop/web")
	if got := result.Releases[0]; !strings.Contains(fmt.Sprint(got.Object()), "redis:8") || got.TemplateFile != "web/charts/redis-1.2.3.tgz" {
		t.Errorf("got %v of %s", got.Object(), got.TemplateFile)
	}
	off := readWeb(t, files, v1alpha1.HelmChart{Values: &runtime.RawExtension{Raw: []byte(`{"cache":{"enabled":false}}`)}})
	if len(off.Releases) != 1 || len(off.Errors) != 1 || !strings.Contains(off.Errors[0].Error(), "StatefulSet shop/web-redis") {
		t.Errorf("want the set missing, got %v and %v", off.Releases, off.Errors)
	}
}
