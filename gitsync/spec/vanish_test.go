package spec

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

const lfsPointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"

// TestWhatIsNoManifestAnyMore: a manifest that is broken by accident is an error, and not a
// removed release.
func TestWhatIsNoManifestAnyMore(t *testing.T) {
	t.Parallel()
	good := release("web", strategy+template)
	tests := map[string]struct{ text, want string }{
		"pointer of LFS":        {lfsPointer, "web.yaml:1: the file is a pointer of Git LFS"},
		"old pointer of LFS":    {strings.Replace(lfsPointer, "git-lfs.github.com", "hawser.github.com", 1), "web.yaml:1: the file is a pointer of Git LFS"},
		"conflict":              {"<<<<<<< HEAD\n" + good + "=======\n" + good + ">>>>>>> topic\n", "web.yaml:1: the file has a merge conflict"},
		"conflict in a comment": {"# a\n||||||| 1a2b3c\n# b\n", "web.yaml:2: the file has a merge conflict"},
		"end of a conflict":     {good + ">>>>>>> topic\r\n", "web.yaml:9: the file has a merge conflict"},
		"binary":                {"\x00GITCRYPT\x00\xff\xfe", "web.yaml:1: the file is not UTF-8 text"},
		"text":                  {"See ../other/web.yaml\n", "web.yaml:1: the document is not a Kubernetes object, but text"},
		"cut in the header":     {"apiVersion: rollouts.sluice.dev/v1alpha1\n", `web.yaml:1: kind: "" is not a kind of`},
		"header of another":     {strings.Replace(good, "apiVersion: rollouts.sluice.dev/v1alpha1\n", "", 1), "web.yaml:1: apiVersion: must be given"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, map[string]string{"web.yaml": tt.text, "other.yaml": release("other", strategy+template)})
			wantErrors(t, result, tt.want)
			wantReleases(t, result, "shop/other")
			kustomized := read(t, map[string]string{"k/web.yaml": tt.text, "k/kustomization.yaml": "resources: [web.yaml]\n"})
			if len(kustomized.Errors) == 0 {
				t.Error("built with kustomize, it is left out without an error")
			}
		})
	}
}

// TestHollow: files that may have held a release are told apart from those that hold others,
// wherever they are.
func TestHollow(t *testing.T) {
	t.Parallel()
	result := read(t, map[string]string{
		"empty.yaml":           "",
		"comments.yaml":        "# " + strings.ReplaceAll(release("web", strategy), "\n", "\n# ") + "\n---\n",
		"values.yaml":          deployment("web", "web:1") + "---\nreplicas: 3\n",
		"cut.yaml":             "apiVersion: rollouts.sl",
		"list.yaml":            "[{op: remove, path: /spec}]",
		"sops.yaml":            "apiVersion: ENC[AES256_GCM,data:q1w2]\nkind: ENC[AES256_GCM,data:e3r4]\n",
		"service.yaml":         "apiVersion: v1\nkind: Service\nmetadata: {name: web}\n",
		"release.yaml":         release("web", strategy),
		"k/kustomization.yaml": "resources: [../base]\n", "base/kustomization.yaml": "resources: [empty.yaml, s.yaml]\n",
		"base/empty.yaml": "# gone\n", "base/s.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
	})
	wantErrors(t, result)
	got := map[string]string{}
	for file, err := range result.Hollow {
		got[file] = strings.TrimPrefix(err.Error(), file)
	}
	want := map[string]string{
		"empty.yaml":      ":1: the file is empty, or has comments only",
		"comments.yaml":   ":1: the file is empty, or has comments only",
		"base/empty.yaml": ":1: the file is empty, or has comments only",
		"values.yaml":     ":16: the document is not a Kubernetes object: it has no apiVersion and kind",
		"cut.yaml":        ":1: the document is not a Kubernetes object: it has no apiVersion and kind",
		"list.yaml":       ":1: the document is not a Kubernetes object: it has no apiVersion and kind",
		"sops.yaml":       ":1: the document is not a Kubernetes object: it has no apiVersion and kind",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestBesideKustomization: a release that no kustomization takes is not left out without a word.
func TestBesideKustomization(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		files, more map[string]string
		want        []string
	}{
		"below it":            {more: map[string]string{"a/b/release.yml": release("web", strategy)}, want: []string{"a/b/release.yml:1: BatchRelease web is not released"}},
		"with errors":         {more: map[string]string{"r.yaml": release("web", "a: 1")}, want: []string{"r.yaml:7: spec.a: unknown field"}},
		"an overlay below it": {more: map[string]string{"prod/kustomization.yaml": "resources: [r.yaml]", "prod/r.yaml": release("web", strategy)}, want: []string{"prod/r.yaml:1: BatchRelease web is not released"}},
		"in a base": {
			files: map[string]string{"k/kustomization.yaml": "resources: [../base]", "base/kustomization.yaml": "resources: [deploy.yaml]", "base/deploy.yaml": deployment("web", "web:1")},
			more:  map[string]string{"base/release.yaml": release("web", strategy)}, want: []string{"base/release.yaml:1: BatchRelease web is not released: neither base/kustomization.yaml nor"},
		},
		"others":                {more: map[string]string{"x.yaml": "a: [\n", "values.yaml": "a: 1", "service.yaml": "apiVersion: v1\nkind: Service\n"}},
		"hidden":                {more: map[string]string{".github/release.yaml": release("web", strategy)}},
		"an optional component": {more: map[string]string{"more/kustomization.yaml": "kind: Component\nresources: [r.yaml]\n", "more/r.yaml": release("web", strategy)}},
		"a broken kustomization": {
			files: map[string]string{"kustomization.yaml": "resources: [gone.yaml]"}, more: map[string]string{"release.yaml": release("web", strategy)},
			want: []string{"kustomization.yaml: kustomize: "},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := tt.files
			if files == nil {
				files = map[string]string{"kustomization.yaml": "resources: [deploy.yaml]\n", "deploy.yaml": deployment("web", "web:1")}
			}
			maps.Copy(files, tt.more)
			result := read(t, files)
			wantErrors(t, result, tt.want...)
			wantReleases(t, result)
		})
	}
}

// TestBesideIsLimited: files that are read beside the requested ones count toward the source's
// limits.
func TestBesideIsLimited(t *testing.T) {
	t.Parallel()
	files := map[string]string{"kustomization.yaml": "resources: []\n", "a/1.txt": "", "a/2.txt": "", "a/3.txt": ""}
	_, err := NewReader(Options{Namespace: "shop", Builder: builds.For(t.Context(), sandbox.Owner{}), Limits: Limits{Entries: 4}}).Read(tree(files), ".")
	if err == nil || !strings.Contains(err.Error(), "more than 4 files and folders") {
		t.Errorf("want the limit, got %v", err)
	}
}
