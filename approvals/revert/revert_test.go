package revert

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write what comes out into testdata")

var web = Release{Namespace: "shop", Name: "web", Kind: "Deployment", Workload: "web", Default: "shop"}

// golden is a file of testdata: the reason, two files, and the result. The last line of each has
// no end.
type golden struct{ reason, now, then, want string }

func readGolden(t testing.TB, path string) golden {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	reason, rest, okNow := strings.Cut(string(data), "\n-- now --\n")
	now, rest, okThen := strings.Cut(rest, "\n-- then --\n")
	then, want, okWant := strings.Cut(rest, "\n-- want --\n")
	if !okNow || !okThen || !okWant {
		t.Fatalf("%s has no three parts", path)
	}
	return golden{reason, now, then, strings.TrimSuffix(want, "\n")}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no testdata: %v", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			g := readGolden(t, path)
			got, err := put(g.now, g.then)
			if err != nil {
				t.Fatalf("put back: %v", err)
			}
			if *update {
				text := g.reason + "\n-- now --\n" + g.now + "\n-- then --\n" + g.then + "\n-- want --\n" + got + "\n"
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(g.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", g.reason, diff)
			}
		})
	}
}

// TestLinesEndAsInTheFile puts the template of a file with plain ends of lines into one as Windows
// has them.
func TestLinesEndAsInTheFile(t *testing.T) {
	t.Parallel()
	g := readGolden(t, "testdata/lines.txt")
	crlf := func(text string) string { return strings.ReplaceAll(text, "\n", "\r\n") }
	if got, err := put(crlf(g.now), g.then); err != nil || got != crlf(g.want) {
		t.Errorf("got %v and\n%q\nwant\n%q", err, got, crlf(g.want))
	}
}

// put has the template of one file put into another.
func put(now, then string) (string, error) { return putOf(web, now, then) }

func putOf(of Release, now, then string) (string, error) {
	present, err := Read([]byte(now), of)
	if err != nil {
		return "", err
	}
	past, err := Read([]byte(then), of)
	if err != nil {
		return "", err
	}
	changed, err := present.With(past)
	return string(changed), err
}

const head = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n"

func TestRefusals(t *testing.T) {
	t.Parallel()
	good := head + "  template:\n    spec: {containers: [{name: web, image: 'web:1'}]}\n"
	tests := map[string]struct{ reason, now, want string }{
		"alias":         {"what an alias says stands elsewhere too", head + "  template:\n    spec: &s\n      a: 1\n", "line 6: it uses anchors and aliases"},
		"second alias":  {"lines count from the top of the file", "a: 1\n---\n" + head + "  template:\n    spec:\n      a: *s\n", "it has no template of"},
		"tag":           {"a tag stands where its value begins", head + "  template:\n    spec:\n      a: !!str 1\n", "line 7: it uses tags"},
		"none":          {"a file of something else", "a: 1\n", "it has no template of BatchRelease web or Deployment web"},
		"another":       {"another's template is nobody's business", strings.Replace(good, "name: web}", "name: shop}", 1), "it has no template of"},
		"other place":   {"names are those of a namespace", strings.Replace(good, "name: web}", "name: web, namespace: other}", 1), "it has no template of"},
		"twice":         {"nobody knows which is meant", head + "  template:\n    spec: {}\n  template:\n    spec: {}\n", "it can't be read"},
		"no text":       {"not for people", good + "\xff", "it is not UTF-8 text"},
		"hidden breaks": {"YAML counts lines that editors don't", good + "# a\u2028b\n", "line breaks"},
		"large":         {"gitsync does not read it either", good + strings.Repeat("# much\n", 1<<18), "larger"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := put(test.now, good); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one that says %q: %s", err, test.want, test.reason)
			}
		})
	}
}

// TestKinds: the template is that of the workload's kind, whatever else has that name.
func TestKinds(t *testing.T) {
	t.Parallel()
	file := func(images ...string) string {
		text := ""
		for i, kind := range []string{"DaemonSet", "Deployment", "StatefulSet"} {
			manifest := head + "  volumeClaimTemplates: [{template: {spec: {}}}]\n  template:\n    spec: {containers: [{name: web, image: 'web:" + images[i] + "'}]}\n"
			text += "---\n" + strings.Replace(manifest, "kind: Deployment", "kind: "+kind, 1)
		}
		return text
	}
	for kind, want := range map[string]string{
		"DaemonSet": file("1", "5", "6"), "Deployment": file("4", "2", "6"), "StatefulSet": file("4", "5", "3"),
	} {
		of := web
		of.Kind = kind
		got, err := putOf(of, file("4", "5", "6"), file("1", "2", "3"))
		if err != nil || got != want {
			t.Errorf("%s: got %v and\n%s\nwant\n%s", kind, err, got, want)
		}
	}
	of := web
	of.Kind = "StatefulSet"
	if _, err := putOf(of, head+"  template: {spec: {}}\n", ""); err == nil || !strings.Contains(err.Error(), "it has no template of BatchRelease web or StatefulSet web") {
		t.Errorf("got error %v, want one that names the StatefulSet", err)
	}
}

func TestTheReleaseGoesBeforeItsDeployment(t *testing.T) {
	t.Parallel()
	deployment := head + "  template:\n    spec: {a: 1}\n---\n"
	release := "apiVersion: rollouts.sluice.dev/v1alpha1\nkind: BatchRelease\nmetadata: {name: web}\nspec:\n  template:\n    spec: {a: %}\n"
	got, err := put(deployment+strings.Replace(release, "%", "2", 1), deployment+strings.Replace(release, "%", "3", 1))
	if want := deployment + strings.Replace(release, "%", "3", 1); err != nil || got != want {
		t.Errorf("got %v and\n%s\nwant\n%s", err, got, want)
	}
}
