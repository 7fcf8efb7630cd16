package spec

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// everywhere is a template that names a ConfigMap and a Secret wherever a pod can.
const everywhere = `template:
  metadata: {labels: {app: web}}
  spec:
    imagePullSecrets: [{name: keys}]
    volumes:
    - {name: a, configMap: {name: app, optional: true}}
    - {name: b, secret: {secretName: keys}}
    - {name: c, projected: {sources: [{configMap: {name: app}}, {secret: {name: keys}}, {configMap: {name: other}}]}}
    initContainers:
    - {name: init, image: i, envFrom: [{configMapRef: {name: app}}, {secretRef: {name: keys}}]}
    ephemeralContainers:
    - {name: debug, image: i, envFrom: [{configMapRef: {name: app}}]}
    containers:
    - name: web
      image: web:1
      futureField: {kept: 1}
      env:
      - {name: A, valueFrom: {configMapKeyRef: {name: app, key: a}}}
      - {name: B, valueFrom: {secretKeyRef: {name: keys, key: b}}}
      - {name: C, value: app}
`

const both = "config: [{configMap: app}, {secret: keys}]\n"

func configMap(name, data string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, labels: {any: label}}\ndata: %s\n", name, data)
}

func secret(name, rest string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s}\n%s\n", name, rest)
}

// configOf reads a release with a ConfigMap and a Secret.
func configOf(t *testing.T, config, keys string) *Release {
	t.Helper()
	result := read(t, map[string]string{"release.yaml": release("web", strategy+both+everywhere), "app.yaml": config, "keys.yaml": keys})
	wantErrors(t, result)
	if len(result.Releases) != 1 {
		t.Fatalf("want a release, got %v", names(result))
	}
	return result.Releases[0]
}

// TestConfigGoesWithTheTemplate: the template names the copies in each place, and is otherwise as
// it was.
func TestConfigGoesWithTheTemplate(t *testing.T) {
	t.Parallel()
	r := configOf(t, configMap("app", "{a: x}"), secret("keys", "stringData: {b: v}"))
	config, keys := r.Copies[0].Name, r.Copies[1].Name
	want := read(t, map[string]string{"release.yaml": release("web", strategy+strings.NewReplacer(
		"configMap: {name: app", "configMap: {name: "+config, "secretName: keys", "secretName: "+keys, "secret: {name: keys", "secret: {name: "+keys,
		"configMapRef: {name: app", "configMapRef: {name: "+config, "secretRef: {name: keys", "secretRef: {name: "+keys,
		"configMapKeyRef: {name: app", "configMapKeyRef: {name: "+config, "secretKeyRef: {name: keys", "secretKeyRef: {name: "+keys,
	).Replace(everywhere))}).Releases[0]
	if r.TemplateDigest != want.TemplateDigest {
		t.Errorf("template (-want +got):\n%s", cmp.Diff(string(want.Template()), string(r.Template())))
	}
	object := r.Object().Object["spec"].(map[string]any)
	if diff := cmp.Diff([]any{map[string]any{"configMap": "app", "copy": config}, map[string]any{"secret": "keys", "copy": keys}}, object["config"]); diff != "" {
		t.Errorf("spec.config (-want +got):\n%s", diff)
	}
	if len(r.Unused) > 0 {
		t.Errorf("want all used, got %v", r.Unused)
	}
	for ref := range podtemplate.References(toMap(r.Template())) {
		if ref.Name != config && ref.Name != keys && ref.Name != "other" {
			t.Errorf("the template still names %v", ref)
		}
	}
}

// TestCopies: a copy has the content alone, and another content is another copy.
func TestCopies(t *testing.T) {
	t.Parallel()
	is := configOf(t, configMap("app", "{a: x}"), secret("keys", "data: {c: eg==}\nstringData: {b: v, c: over}"))
	for i, want := range []string{
		`{"apiVersion":"v1","data":{"a":"x"},"immutable":true,"kind":"ConfigMap"}`,
		`{"apiVersion":"v1","data":{"b":"dg==","c":"b3Zlcg=="},"immutable":true,"kind":"Secret","type":"Opaque"}`,
	} {
		object := is.Copies[i].Object().Object
		metadata := object["metadata"]
		delete(object, "metadata")
		if got, _ := json.Marshal(object); string(got) != want {
			t.Errorf("want %s, got %s", want, got)
		}
		wantMetadata := map[string]any{
			"name": is.Copies[i].Name, "namespace": "shop", "labels": map[string]any{"rollouts.sluice.dev/release": "web"},
			"annotations": map[string]any{"rollouts.sluice.dev/copy-of": is.Copies[i].Of},
		}
		if diff := cmp.Diff(wantMetadata, metadata); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	}
	const keys = "stringData: {b: v, c: over}"
	for name, tt := range map[string]struct {
		config, keys string
		same         bool
	}{
		"labels and the way it is written": {"kind: ConfigMap\napiVersion: v1\nmetadata: {labels: {other: label}, name: app}\ndata:\n  a: |-\n    x\n", secret("keys", keys), true},
		"the same in base64":               {configMap("app", "{a: x}"), secret("keys", "data: {b: dg==, c: b3Zlcg==}\ntype: Opaque"), true},
		"another value":                    {configMap("app", "{a: z}"), secret("keys", keys), false},
		"another key":                      {configMap("app", "{a: x, b: ''}"), secret("keys", keys), false},
		"another Secret":                   {configMap("app", "{a: x}"), secret("keys", "stringData: {b: v}"), false},
		"another type":                     {configMap("app", "{a: x}"), secret("keys", keys+"\ntype: example.com/keys"), false},
		"binary data":                      {configMap("app", "{}") + "binaryData: {a: eA==}\n", secret("keys", keys), false},
	} {
		got := configOf(t, tt.config, tt.keys)
		if same := got.TemplateDigest == is.TemplateDigest; same != tt.same {
			t.Errorf("%s: want the same template to be %t, got %t", name, tt.same, same)
		}
		if same := got.Digest == is.Digest; same != tt.same {
			t.Errorf("%s: want the same release to be %t, got %t", name, tt.same, same)
		}
	}
}

// TestCopiesAreOfOneRelease: two releases can name the same ConfigMap.
func TestCopiesAreOfOneRelease(t *testing.T) {
	t.Parallel()
	const uses = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: i, envFrom: [{configMapRef: {name: app}}]}]}}\n"
	result := read(t, map[string]string{
		"web.yaml": release("web", strategy+uses+"config: [{configMap: app}]"), "job.yaml": release("job", strategy+uses+"config: [{configMap: app}]"),
		"app.yaml": configMap("app", "{a: x}"),
	})
	wantErrors(t, result)
	if a, b := result.Releases[0].Copies[0].Name, result.Releases[1].Copies[0].Name; a == b {
		t.Errorf("both have the copy %s: the one whose release goes would take it from the other", a)
	}
}

// TestConfigIsWrong: each error has its file and line, and no error has a value.
func TestConfigIsWrong(t *testing.T) {
	t.Parallel()
	const uses = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: i, envFrom: [{configMapRef: {name: app}}]}]}}\n"
	of := func(config string) string { return release("web", strategy+uses+config) }
	large := strings.Repeat("x", 1<<20)
	for name, tt := range map[string]struct {
		files map[string]string
		want  string
	}{
		"missing": {map[string]string{"r.yaml": of("config:\n- {configMap: app}\n")}, "r.yaml:10: spec.config[0]: ConfigMap shop/app is not in the repository"},
		"of another namespace": {
			map[string]string{"r.yaml": of("config: [{secret: app}]"), "a.yaml": strings.Replace(secret("app", "stringData: {a: hidden}"), "name: app", "name: app, namespace: extra", 1)},
			"r.yaml:9: spec.config[0]: Secret shop/app is not in the repository; the one in a.yaml:1 is in namespace extra, and a release has those of its own",
		},
		"twice": {
			map[string]string{"r.yaml": of("config: [{configMap: app}]"), "a.yaml": configMap("app", "{}"), "b.yaml": configMap("app", "{}")},
			"r.yaml:9: spec.config[0]: ConfigMap shop/app is in a.yaml:1 and in b.yaml:1",
		},
		"too large": {
			map[string]string{"r.yaml": of("config: [{configMap: app}]"), "a.yaml": configMap("app", "{a: "+large+", b: v}")},
			"a.yaml:1: ConfigMap shop/app can't be released with BatchRelease web: its values have 1048577 bytes, and the API server takes 1048576",
		},
		"a key that is none": {
			map[string]string{"r.yaml": of("config: [{configMap: app}]"), "a.yaml": configMap("app", "{../../etc/passwd: hidden}")},
			`a.yaml:1: ConfigMap shop/app can't be released with BatchRelease web: data: key "../../etc/passwd": `,
		},
		"a number": {
			map[string]string{"r.yaml": of("config: [{secret: app}]"), "a.yaml": secret("app", "stringData: {pin: 90210}")},
			"a.yaml:1: Secret shop/app can't be released with BatchRelease web: stringData: pin: must be a text: put it in quotes",
		},
		"no base64": {
			map[string]string{"r.yaml": of("config: [{secret: app}]"), "a.yaml": secret("app", "data: {pin: 'hidden!'}")},
			"a.yaml:1: Secret shop/app can't be released with BatchRelease web: data: pin: is not base64",
		},
		"encrypted": {
			map[string]string{"r.yaml": of("config: [{secret: app}]"), "a.yaml": secret("app", "stringData: {pin: 'ENC[AES256_GCM,data:hidden]'}\nsops: {version: 3.9.0}")},
			"a.yaml:1: Secret shop/app can't be released with BatchRelease web: it is encrypted by SOPS",
		},
		"encrypted, without the mark": {
			map[string]string{"r.yaml": of("config: [{secret: app}]"), "a.yaml": secret("app", "stringData: {pin: 'ENC[AES256_GCM,data:hidden]'}")},
			"a.yaml:1: Secret shop/app can't be released with BatchRelease web: stringData: pin: is encrypted by SOPS",
		},
		"the token of an account": {
			map[string]string{"r.yaml": of("config: [{secret: app}]"), "a.yaml": secret("app", "type: kubernetes.io/service-account-token")},
			"a.yaml:1: Secret shop/app can't be released with BatchRelease web: type kubernetes.io/service-account-token: Sluice makes no copy of credentials",
		},
		"both in one":  {map[string]string{"r.yaml": of("config: [{configMap: app, secret: app}]")}, "r.yaml:9: spec.config[0]: Invalid value: \"\": must name exactly one"},
		"named twice":  {map[string]string{"r.yaml": of("config: [{configMap: app}, {configMap: app}]")}, "r.yaml:9: spec.config[1]: Duplicate value"},
		"with a copy":  {map[string]string{"r.yaml": of("config: [{configMap: app, copy: app-1}]")}, "r.yaml:9: spec.config[0].copy: Forbidden: is set by the ReleaseSource"},
		"no name":      {map[string]string{"r.yaml": of("config: [{configMap: ../app}]")}, "r.yaml:9: spec.config[0]: Invalid value"},
		"too many":     {map[string]string{"r.yaml": of("config: [" + strings.Repeat("{configMap: app},", 21) + "]")}, "r.yaml:9: spec.config: Too many: 21"},
		"with members": {map[string]string{"r.yaml": strings.Replace(of("config: [{configMap: app}]\nmembers: [{name: a}]"), "  workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}\n", "", 1)}, "r.yaml:"},
	} {
		result := read(t, tt.files)
		if len(result.Errors) == 0 || !strings.HasPrefix(result.Errors[0].Error(), tt.want) || len(result.Releases) > 0 {
			t.Errorf("%s: want no release and the error\n%s, got %v and\n%v", name, tt.want, names(result), result.Errors)
		}
		for _, err := range result.Errors {
			if strings.Contains(err.Error(), "hidden") || strings.Contains(err.Error(), "90210") {
				t.Errorf("%s: the error has a value: %v", name, err)
			}
		}
	}
}

// TestTemplateNamesACopy: a template with the name of a copy would keep that content for ever.
func TestTemplateNamesACopy(t *testing.T) {
	t.Parallel()
	uses := func(name string) string {
		return "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: i, envFrom: [{configMapRef: {name: " + name + "}}]}]}}\n"
	}
	files := func(name string) map[string]string {
		return map[string]string{"r.yaml": release("web", strategy+"config: [{configMap: app}]\n"+uses(name)), "a.yaml": configMap("app", "{a: x}")}
	}
	copied := read(t, files("app")).Releases[0].Copies[0].Name
	wantErrors(t, read(t, files(copied)), "r.yaml:9: spec.template.spec.containers[0].envFrom[0].configMapRef.name: "+copied+
		" is the name of a copy, which changes with its content: write app")
	result := read(t, files("app-of-somebody"))
	wantErrors(t, result)
	if unused := result.Releases[0].Unused; len(unused) != 1 || unused[0].Of != "app" {
		t.Errorf("want app to be unused, got %v", unused)
	}
}

// TestNamesOfCopies: a name that is too long is cut, and keeps its hash.
func TestNamesOfCopies(t *testing.T) {
	t.Parallel()
	for _, length := range []int{1, 236, 237, 252, 253} {
		name := copyName(configKey{configMapKind, "shop", strings.Repeat("a", length-1) + "b"}, "web", "")
		if reasons := validation.IsDNS1123Subdomain(name); reasons != nil {
			t.Errorf("name of %d characters: %s is no name: %v", length, name, reasons)
		}
		if !hash.MatchString(name[len(name)-hashLength:]) {
			t.Errorf("name of %d characters: %s lost its hash", length, name)
		}
	}
	dotted := copyName(configKey{configMapKind, "shop", strings.Repeat("a", 235) + "." + "bbbb"}, "web", "")
	if reasons := validation.IsDNS1123Subdomain(dotted); reasons != nil {
		t.Errorf("%s is no name: %v", dotted, reasons)
	}
}

// TestConfigOfKustomizations: a generated ConfigMap is released by the name that kustomize gives.
func TestConfigOfKustomizations(t *testing.T) {
	t.Parallel()
	const uses = "template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: i, envFrom: [{configMapRef: {name: app}}]}]}}\n"
	files := map[string]string{
		"web/kustomization.yaml": "resources: [release.yaml]\nconfigMapGenerator: [{name: app, literals: [a=x]}]\n",
		"web/release.yaml":       release("web", strategy+uses+"config: [{configMap: app}]"),
	}
	result := read(t, files)
	wantErrors(t, result)
	copied := result.Releases[0].Copies[0]
	if !strings.HasPrefix(copied.Of, "app-") || len(result.Releases[0].Generated) > 0 || len(result.Releases[0].Unused) > 0 {
		t.Errorf("want a copy of the generated ConfigMap, got %+v, generated %v, unused %v", copied, result.Releases[0].Generated, result.Releases[0].Unused)
	}

	beside := map[string]string{
		"web/kustomization.yaml": "resources: [web.yaml]\nconfigMapGenerator: [{name: app, literals: [a=x]}]\n",
		"web/web.yaml":           strings.Replace(deployment("web", "web:1"), "image: \"web:1\"", "image: \"web:1\", envFrom: [{configMapRef: {name: app}}]", 1),
		"web/release.yaml":       release("web", strategy+"config: [{configMap: app}]"),
	}
	result = read(t, beside)
	wantErrors(t, result, "web/release.yaml:8: spec.config[0]: ConfigMap shop/app is not in the repository; web/kustomization.yaml builds it as app-")
	beside["web/kustomization.yaml"] += "generatorOptions: {disableNameSuffixHash: true}\n"
	result = read(t, beside)
	wantErrors(t, result)
	if got := result.Releases[0].Copies[0].Of; got != "app" {
		t.Errorf("want a copy of app, got %s", got)
	}
}

// TestConfigIsReadAgain: a Read after another one finds the same release, unless a ConfigMap
// changed.
func TestConfigIsReadAgain(t *testing.T) {
	t.Parallel()
	reader := newTestReader()
	files := map[string]string{"release.yaml": release("web", strategy+both+everywhere), "app.yaml": configMap("app", "{a: x}"), "keys.yaml": secret("keys", "")}
	once := func() *Release {
		result, err := reader.Read(tree(files), ".")
		if err != nil || len(result.Releases) != 1 {
			t.Fatalf("want a release, got %v, %v", result, err)
		}
		return result.Releases[0]
	}
	first := once()
	if again := once(); again != first {
		t.Error("the release is another one, though nothing changed")
	}
	files["app.yaml"] = configMap("app", "{a: v}")
	if changed := once(); changed.TemplateDigest == first.TemplateDigest {
		t.Error("the release has the template of before, though the ConfigMap changed")
	}
}

// TestConfigOfMembers: a train releases the templates of its members with the names of their
// copies, and has no config of its own.
func TestConfigOfMembers(t *testing.T) {
	t.Parallel()
	train := func(more string) string {
		return "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: shop}\nspec:\n" + indent(strategy+"members: [{name: web}]\n"+more)
	}
	reader := newTestReader()
	files := map[string]string{
		"train.yaml": train(""), "web.yaml": release("web", both+everywhere), "app.yaml": configMap("app", "{a: x}"), "keys.yaml": secret("keys", ""),
	}
	again := func(want ...string) map[string]*Release {
		t.Helper()
		result, err := reader.Read(tree(files), ".")
		if err != nil {
			t.Fatal(err)
		}
		wantErrors(t, result, want...)
		found := map[string]*Release{}
		for _, r := range result.Releases {
			found[r.Name] = r
		}
		return found
	}
	before := again()
	files["app.yaml"] = configMap("app", "{a: v}")
	now := again()
	for _, of := range []map[string]*Release{before, now} {
		web, shop := of["web"], of["shop"]
		if web == nil || shop == nil || len(web.Copies) != 2 || len(shop.Members) != 1 {
			t.Fatalf("want a train of a member with two copies, got %v", of)
		}
		if shop.Members[0].Template != web.TemplateDigest {
			t.Errorf("the train releases %s, and its member has %s", shop.Members[0].Template, web.TemplateDigest)
		}
		if !strings.Contains(string(web.Template()), web.Copies[0].Name) {
			t.Errorf("the template of the member does not name copy %s", web.Copies[0].Name)
		}
	}
	if before["shop"].TemplateDigest == now["shop"].TemplateDigest {
		t.Error("the train releases what it did, though the ConfigMap of its member changed")
	}
	delete(files, "app.yaml")
	again("train.yaml:1: train shop: member web has an error", "web.yaml:7: spec.config[0]: ConfigMap shop/app is not in")
	files["app.yaml"], files["train.yaml"] = configMap("app", "{}"), train("config: [{configMap: app}]\n")
	again("train.yaml:7: spec.config: Forbidden: is not for a train: its members have it")
}
