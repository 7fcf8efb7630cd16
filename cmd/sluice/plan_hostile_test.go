package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPlanClusterComparesVolumes: volume claim templates that Git and the cluster do not share are told with their place, also
// where no commit has changed them.
func TestPlanClusterComparesVolumes(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	viewer := s.viewer()
	s.statefulSet("db", 3)
	text := strings.Replace(plannedKinds, "  replicas: 5\n",
		"  replicas: 3\n  volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce]}}]\n", 1)
	tree := newTree(t)
	tree.commit("Second version", text)
	tree.commit("Third version", strings.Replace(text, "db:2", "db:3", 1))
	got := s.ok(viewer, "plan", filepath.Join(tree.root, "deploy"), "--cluster")
	s.want(got, "it is not released: deploy/web.yaml:6: spec.volumeClaimTemplates: Kubernetes does not let them change", "differ from the cluster's (data)")
}

// TestLinkIntoAnotherRepository: a link in a repository, which a pull request may bring, has nobody read another repository of the machine.
func TestLinkIntoAnotherRepository(t *testing.T) {
	t.Parallel()
	private, tree := newTree(t), newTree(t)
	private.commit("First version", plannedWeb)
	private.commit("Second version", strings.Replace(plannedWeb, "web:2", "private:3", 1))
	tree.link(private.root, "whole")
	if err := os.MkdirAll(filepath.Join(tree.root, "apps"), 0o755); err != nil {
		t.Fatal(err)
	}
	tree.link(filepath.Join(private.root, "deploy"), "apps/deploy")
	tree.git("add", "--all")
	tree.git("commit", "--quiet", "--message", "Links")
	for _, verb := range []string{"plan", "lint", "simulate"} {
		for _, path := range []string{"whole", "whole/deploy", "whole/deploy/web.yaml", "apps/deploy"} {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), []string{verb, filepath.Join(tree.root, path)}, &stdout, &stderr)
			if code != exitError || stdout.Len() > 0 || strings.Contains(stderr.String(), "private:3") {
				t.Errorf("sluice %s %s: want an error alone, got exit code %d: %s%s", verb, path, code, stdout.String(), stderr.String())
			}
		}
	}
}

// TestLinkToARepository: a link to a repository that is in none itself is one's own.
func TestLinkToARepository(t *testing.T) {
	t.Parallel()
	tree, home := newTree(t), &workingTree{t, t.TempDir()}
	tree.commit("First version", plannedWeb)
	home.link(tree.root, "shop")
	var stdout, stderr bytes.Buffer
	if code := run(t.Context(), []string{"plan", filepath.Join(home.root, "shop", "deploy")}, &stdout, &stderr); code != exitOK {
		t.Errorf("want exit code %d, got %d: %s", exitOK, code, stderr.String())
	}
}

// link makes a symbolic link in the repository.
func (w *workingTree) link(to, name string) {
	w.Helper()
	if err := os.Symlink(to, filepath.Join(w.root, filepath.FromSlash(name))); err != nil {
		w.Fatal(err)
	}
}
