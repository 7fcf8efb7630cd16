package spec

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/sluice-dev/sluice/gitsync/sandbox"
)

// textBomb returns a document of a few hundred kilobytes that is gigabytes once its aliases are
// written out, in few values.
func textBomb() string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\na: &a " + strings.Repeat("x", 400_000) + "\nb: [*a" + strings.Repeat(", *a", 15_000) + "]\n"
}

// TestAliasBombs: every file that is parsed as YAML is checked for aliases first, in any place and
// with any name.
func TestAliasBombs(t *testing.T) {
	t.Parallel()
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n"
	inline := func(text string) string {
		return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ") + "\n"
	}
	const file = "k/kustomization.yaml"
	cases := map[string]struct {
		files map[string]string
		want  string
	}{
		"resource of any name": {map[string]string{file: "resources: [bomb.txt]\n", "k/bomb.txt": object + bomb(5)}, "k/bomb.txt:"},
		"second document":      {map[string]string{file: "resources: [bomb.txt]\n", "k/bomb.txt": object + "---\n" + object + bomb(5)}, "k/bomb.txt:"},
		"the file itself":      {map[string]string{"k/Kustomization": "resources: []\n" + bomb(7)}, "k/Kustomization:"},
		"patch of its own": {map[string]string{file: "resources: [d.yaml]\npatches:\n- patch: |-\n" + inline(object+bomb(5)), "k/d.yaml": deployment("d", "d")},
			file + ":2: patches: the aliases"},
		"JSON patch":         {map[string]string{file: "patchesJson6902:\n- target: {version: v1, kind: X, name: x}\n  patch: |-\n" + inline(object+bomb(5))}, file + ":1: patchesJson6902"},
		"strategic patch":    {map[string]string{file: "patchesStrategicMerge:\n- |-\n" + inline(object+bomb(5))}, file + ":1: patchesStrategicMerge"},
		"patch in a file":    {map[string]string{file: "patches: [{path: p}]\n", "k/p": object + bomb(5)}, "k/p:"},
		"configuration":      {map[string]string{file: "configurations: [c]\n", "k/c": bomb(5)}, "k/c:"},
		"resource type":      {map[string]string{file: "crds: [c]\n", "k/c": bomb(5)}, "k/c:"},
		"replacement":        {map[string]string{file: "replacements: [{path: r}]\n", "k/r": bomb(5)}, "k/r:"},
		"texts":              {map[string]string{file: "resources: [bomb.txt]\n", "k/bomb.txt": textBomb()}, "k/bomb.txt:"},
		"texts in no folder": {map[string]string{"bomb.yaml": textBomb() + "\nkind: Deployment\n"}, "bomb.yaml:"},
	}
	for name, tt := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result := read(t, tt.files)
			found := fmt.Sprint(result.Errors)
			if !strings.Contains(found, tt.want) || !strings.Contains(found, "the aliases of the document make more than") {
				t.Errorf("want an error at %s, got %.500s", tt.want, found)
			}
		})
	}
}

// TestNoAliases: a document that has the signs of anchors and aliases in its texts only may be as
// large as any other.
func TestNoAliases(t *testing.T) {
	t.Parallel()
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata:\n  script: 'a & b * c'\nlist: [" + strings.Repeat("1, ", 25_000) + "1]\n"
	wantErrors(t, read(t, map[string]string{"x.yaml": text}))
}

// TestTooManyObjects: Kustomize is quadratic in the number of objects: beyond the limit it is not
// begun.
func TestTooManyObjects(t *testing.T) {
	t.Parallel()
	var base strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&base, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
	}
	files := map[string]string{"base/kustomization.yaml": "resources: [all.yaml]\n", "base/all.yaml": base.String(), "kustomization.yaml": "resources: [o0, o1, o2, o3, o4, o5, o6, o7]\n"}
	for i := range 8 {
		files[fmt.Sprintf("o%d/kustomization.yaml", i)] = fmt.Sprintf("namePrefix: o%d-\nresources: [../base]\n", i)
	}
	wantErrors(t, read(t, files), "kustomization.yaml: the kustomization makes more than 2000 objects")
	list := "apiVersion: v1\nkind: ConfigMapList\nitems:\n" + strings.Repeat("- {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}\n", 2001)
	wantErrors(t, read(t, map[string]string{"kustomization.yaml": "resources: [l.yaml]\n", "l.yaml": list}),
		"kustomization.yaml: the kustomization makes more than 2000 objects")
}

// TestBuildBytes: the files that kustomize builds from are bounded, too.
func TestBuildBytes(t *testing.T) {
	t.Parallel()
	files := map[string]string{"kustomization.yaml": "configMapGenerator: [{name: x, files: [a, b, c, d, e, f, g, h, i]}]\n"}
	for name := range strings.SplitSeq("abcdefghi", "") {
		files[name] = strings.Repeat("x", 1<<20)
	}
	wantErrors(t, read(t, files), "kustomization.yaml: the files of the kustomization are larger than 8388608 bytes together")
}

// TestBuildsThatTakeTooMuch: a build that takes too much is an error of its file; others are built,
// and it is tried again the next time.
func TestBuildsThatTakeTooMuch(t *testing.T) {
	t.Parallel()
	var large strings.Builder
	for i := range 5 {
		fmt.Fprintf(&large, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\nlist: [%s{}]\n", i, strings.Repeat("{},", 60_000))
	}
	files := map[string]string{
		"large/kustomization.yaml": "resources: [all.yaml]\n",
		"large/all.yaml":           large.String(),
		"small/kustomization.yaml": "resources: [web.yaml]\n",
		"small/web.yaml":           release("web", strategy+template),
	}
	// Time enough, that memory is what it lacks on a slow machine, too.
	pool := sandbox.NewPool(sandbox.Options{Limits: sandbox.Limits{Memory: 64 << 20, Time: 5 * time.Minute, Total: 20 * time.Minute}})
	reader := NewReader(Options{Namespace: "shop", Builder: pool.For(t.Context(), sandbox.Owner{})})
	for range 2 {
		result, err := reader.Read(tree(files), ".")
		if err != nil {
			t.Fatal(err)
		}
		wantErrors(t, result, "large/kustomization.yaml: building the kustomization takes more than 64 MiB of memory")
		wantReleases(t, result, "shop/web")
		if !result.Exceeded {
			t.Error("it must be known that another Read may come to more")
		}
	}
}

// TestDeepFolders: Folders without an end cost more the deeper they are.
func TestDeepFolders(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("a/", 25_000)
	files := fstest.MapFS{
		"web.yaml":                          {Data: []byte(release("web", strategy+template))},
		strings.Repeat("b/", 64) + "x.yaml": {Data: []byte(release("deepest", strategy+template))},
		strings.Repeat("c/", 65) + "x.yaml": {Data: []byte(release("too-deep", strategy+template))},
	}
	result, err := newTestReader().Read(files, ".")
	if err != nil {
		t.Fatal(err)
	}
	wantReleases(t, result, "shop/"+"deepest", "shop/web")
	wantErrors(t, result, strings.TrimSuffix(strings.Repeat("c/", 65), "/")+": the folder is more than 64 folders deep")
	wantErrors(t, read(t, map[string]string{"kustomization.yaml": "resources: [" + deep + "x]\n"}), "kustomization.yaml:1: resources: ")
}

// TestWorkTree: on a work tree no link is followed, and nothing of Git's own is read, which may
// have the credentials of a checkout.
func TestWorkTree(t *testing.T) {
	t.Parallel()
	secret := t.TempDir()
	write := func(root, name, text string) {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(secret, "token", "token-of-the-runner")
	write(secret, "kustomization.yaml", "resources: [r.yaml]\n")
	write(secret, "r.yaml", release("stolen", strategy+template))
	for reference, want := range map[string]string{
		"configMapGenerator: [{name: x, files: [v=link/token]}]":    `configMapGenerator: "link/token" leads through "link"`,
		"configMapGenerator: [{name: x, envs: [link/token]}]":       `configMapGenerator: "link/token" leads through "link"`,
		"configMapGenerator: [{name: x, files: [v=.git/config]}]":   `configMapGenerator: ".git/config" is Git's own`,
		"configMapGenerator: [{name: x, files: [v=a/.GIT/config]}]": `configMapGenerator: "a/.GIT/config" is Git's own`,
		"resources: [link]":        `resources: "link" leads through "link"`,
		"resources: [link/r.yaml]": `resources: "link/r.yaml" leads through "link"`,
		"components: [inner/up]":   `components: "inner/up" leads through "inner/up"`,
	} {
		root := t.TempDir()
		write(root, "kustomization.yaml", reference+"\n")
		write(root, ".git/config", "token-of-the-checkout")
		write(root, "inner/x", "")
		for link, target := range map[string]string{"link": secret, "inner/up": "../../"} {
			if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
				t.Fatal(err)
			}
		}
		opened, err := os.OpenRoot(root)
		if err != nil {
			t.Fatal(err)
		}
		for name, files := range map[string]fs.FS{"root": opened.FS(), "folder": os.DirFS(root)} {
			result, err := newTestReader().Read(files, ".")
			if err != nil {
				t.Fatal(err)
			}
			if found := fmt.Sprint(result.Errors); !strings.Contains(found, want) || strings.Contains(found, "token-of") || len(result.Releases) > 0 {
				t.Errorf("%s of a %s: got %s", reference, name, found)
			}
		}
		if err := opened.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestManyProblems: a file is parsed for the places of its problems once, and not once for each of
// them: this one took hours.
func TestManyProblems(t *testing.T) {
	t.Parallel()
	head := "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: w}\nspec:\n"
	var fields strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&fields, "  x%d: 1\n", i)
	}
	result := read(t, map[string]string{"w.yaml": head + fields.String()})
	if last := fmt.Sprint(result.Errors); len(result.Errors) != maxProblems+1 || !strings.Contains(last, "there are 19900 more problems in this document") {
		t.Errorf("got %d errors", len(result.Errors))
	}
	if result.Errors[maxProblems].Line == 0 {
		t.Error("an error has no line")
	}
}

// TestDenseDocuments: a document that is small as text and large once parsed is refused before
// parsing.
func TestDenseDocuments(t *testing.T) {
	t.Parallel()
	dense := "list: [" + strings.Repeat("{},", 300_000) + "{}]\nkind: Deployment\n"
	wantErrors(t, read(t, map[string]string{"dense.yaml": dense}), "dense.yaml:1: the document has more than 250000 values")
	wantErrors(t, read(t, map[string]string{"kustomization.yaml": dense}), "kustomization.yaml:1: the document has more than 250000 values")
	wantErrors(t, read(t, map[string]string{"kustomization.yaml": "resources: [dense]\n", "dense": dense}), "dense:1: the document has more than 250000 values")
	limits := Limits{TotalValues: 300}
	reader := NewReader(Options{Namespace: "shop", Limits: limits})
	files := map[string]string{}
	for i := range 4 {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("a%d: [%s1]\n", i, strings.Repeat("1, ", 60))
	}
	for _, left := range []int{2, 0} { // a look goes on where the one before it stopped
		result, err := reader.Read(tree(files), ".")
		if err != nil {
			t.Fatal(err)
		}
		if result.Pending != left || len(result.Errors) != min(left, 1) || result.Exceeded != (left > 0) {
			t.Errorf("want %d files left, got %d and %v", left, result.Pending, result.Errors)
		}
		if kept := mayHold(result, "web"); kept != (left > 0) {
			t.Errorf("with %d files left, a release that may be in them is kept: %t", left, kept)
		}
	}
}

// mayHold reports whether a release that was not found is kept.
func mayHold(result *Result, name string) bool {
	return slices.ContainsFunc(result.Doubts, func(d Doubt) bool { return d.MayHold(name) })
}

// shortTurn builds so many kustomizations, and has no time for others then.
type shortTurn struct {
	Builder

	left int
}

type notBegunError struct{}

func (notBegunError) Error() string   { return "no time left" }
func (notBegunError) Exceeds() string { return "1m" }
func (notBegunError) NotBegun() bool  { return true }

func (s *shortTurn) Build(input []byte) ([]byte, error) {
	if s.left--; s.left < 0 {
		return nil, notBegunError{}
	}
	return s.Builder.Build(input)
}

// TestKustomizationsThatAreNotBuiltYet: Kustomizations that the time did not suffice for are one
// error of the source, not one of each file. Later reads build them.
func TestKustomizationsThatAreNotBuiltYet(t *testing.T) {
	t.Parallel()
	files := map[string]string{}
	for i := range 5 {
		folder := fmt.Sprintf("app%d/", i)
		files[folder+"kustomization.yaml"] = "resources: [r.yaml]\n"
		files[folder+"r.yaml"] = release(fmt.Sprintf("w%d", i), strategy+template)
	}
	reader := newTestReader()
	whole := reader.opts.Builder
	for _, left := range []int{3, 1, 0} {
		reader.BuildWith(&shortTurn{whole, 2})
		result, err := reader.Read(tree(files), ".")
		if err != nil {
			t.Fatal(err)
		}
		if result.Pending != left || len(result.Errors) != min(left, 1) || result.Exceeded != (left > 0) || len(result.Releases) != 5-left {
			t.Errorf("want %d left, got %d with %d releases: %v", left, result.Pending, len(result.Releases), result.Errors)
		}
		for i := range 5 {
			name := fmt.Sprintf("w%d", i)
			found := slices.ContainsFunc(result.Releases, func(r *Release) bool { return r.Name == name })
			if !found && !mayHold(result, name) {
				t.Errorf("release %s would be pruned before its kustomization is built", name)
			}
		}
		if left > 0 {
			wantErrors(t, result, fmt.Sprintf(".: %d kustomizations are not built yet", left))
		}
	}
}
