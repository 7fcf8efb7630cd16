package main

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"

	"github.com/sluice-dev/sluice/internal/testbed/devforge"
)

// TestHostileCheckouts: lint, plan, simulate and check run nothing of a stranger's repository and
// send no request for it, whatever form of kustomization asks for that, in any place.
func TestHostileCheckouts(t *testing.T) {
	t.Parallel()
	var visits atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		visits.Add(1)
		fmt.Fprint(w, "secret-of-the-node")
	}))
	defer server.Close()
	mark := filepath.Join(t.TempDir(), "mark")
	command := "file:///nonexistent?ref=--upload-pack=touch%20" + strings.ReplaceAll(mark, "/", "%2F") + "%3Bfalse"
	forge := checkedForge(t)
	good := member(t, forge, "sluice", devforge.RoleWrite, nil)
	for number, evil := range []string{
		"resources: [%q]\n", "components: [%q]\n", "configMapGenerator: [{name: loot, files: [\"v=%s\"]}]\n", "patches: [{path: %q}]\n",
		"helmCharts: [{name: x, repo: %q}]\n", "generators: [%q]\n",
	} {
		for which, address := range []string{command, server.URL + "/x", "git::" + server.URL + "/a/b?ref=main"} {
			for where, entry := range []string{"../../evil", "../evil", "../../../evil/."} {
				files := map[string]string{
					"app/kustomization.yaml":  "resources: [web.yaml, " + entry + "]\n",
					"app/web.yaml":            goodRelease,
					"evil/kustomization.yaml": fmt.Sprintf(evil, address),
				}
				root := writeFiles(t, files)
				tree := &workingTree{t, root}
				tree.git("init", "--quiet", "--initial-branch=main")
				tree.git("add", "--all")
				tree.git("commit", "--quiet", "--message", "Evil")
				name, content := fmt.Sprintf("shop/web-%d-%d-%d", number, which, where), fstest.MapFS{}
				for file, text := range files {
					content[file] = &fstest.MapFile{Data: []byte(text)}
				}
				calls := [][]string{
					{"lint", root}, {"lint", filepath.Join(root, "app")}, {"simulate", filepath.Join(root, "app")}, {"plan", root}, {"plan", filepath.Join(root, "app")},
				}
				if number == 0 { // a repository of its own takes longest
					if err := forge.CreateRepository(t.Context(), name, "main", content); err != nil {
						t.Fatal(err)
					}
					if err := forge.Grant(name, "sluice", devforge.RoleRead); err != nil {
						t.Fatal(err)
					}
					calls = append(calls, []string{
						"check", "--git-allow-http", "--git-allowed-networks=127.0.0.0/8", "--repository=" + forge.URL() + "/" + name + ".git", "--token-file=" + secretFile(t, good), "--path=app",
					})
				}
				for _, args := range calls {
					var stdout, stderr bytes.Buffer
					run(t.Context(), args, &stdout, &stderr)
					said := stdout.String() + stderr.String()
					if _, err := os.Stat(mark); err == nil || visits.Load() > 0 || strings.Contains(said, "secret-of-the-node") {
						t.Fatalf("%v of %v: a command was run: %t, requests: %d: %s", args, files, err == nil, visits.Load(), said)
					}
					if !strings.Contains(said, "kustomization.yaml") {
						t.Errorf("%v of %v: nothing is said of the kustomization: %s", args, files, said)
					}
				}
			}
		}
	}
}
