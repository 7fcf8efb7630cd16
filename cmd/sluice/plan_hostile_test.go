package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestLinkIntoAnotherRepository: a link in a repository, which a pull request may bring, has nobody
// read another repository of the machine.
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

// link makes a symbolic link in the repository.
func (w *workingTree) link(to, name string) {
	w.Helper()
	if err := os.Symlink(to, filepath.Join(w.root, filepath.FromSlash(name))); err != nil {
		w.Fatal(err)
	}
}

// codeSpan is what Markdown shows as it is.
var codeSpan = regexp.MustCompile("`[^`\n]*`")

// TestPlanClusterThatIsHostile: text of people of the namespace stays text of a bounded length, in
// a comment as on a terminal; obstacles to the release are reported.
func TestPlanClusterThatIsHostile(t *testing.T) {
	t.Parallel()
	const evil = "@everyone [x](evil.test)\n# Owned\n::error::y\x1b[2J\u202e##vso[a]"
	s := newShop(t)
	viewer := s.viewer()
	s.deploy("web")
	s.patch("web", map[string]any{"metadata": map[string]any{"annotations": map[string]any{
		v1alpha1.FreezeAnnotation: string(s.encode(v1alpha1.Freeze{Reason: evil})),
	}}})
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "web"}}
	hold := s.encode(map[string]string{"release": evil, "strategy": `{"rollingUpdate":{"maxSurge":"999999999%","maxUnavailable":2147483647}}`})
	s.write(web, map[string]any{"annotations": map[string]any{v1alpha1.HoldAnnotation: string(hold)}})
	tree := newTree(t)
	tree.commit("Second version", plannedWeb)
	tree.commit(evil, strings.NewReplacer("web:2", "web:3", "maxUnavailable: 2, ", "").Replace(plannedWeb))
	for _, format := range []string{"text", "json", "markdown"} {
		args := []string{"plan", filepath.Join(tree.root, "deploy"), "--cluster", "-o", format}
		got := s.ok(viewer, args...)
		wantHarmless(t, args, got, false)
		s.want(got, "is taken over by BatchRelease @everyone", "frozen: @everyone")
		if format == "markdown" && strings.ContainsAny(codeSpan.ReplaceAllString(got, ""), "@[") {
			t.Errorf("the comment has markup of others:\n%s", got)
		}
	}
	s.write(web, map[string]any{"annotations": map[string]any{v1alpha1.HoldAnnotation: nil}, "finalizers": []string{"example.com/stays"}})
	t.Cleanup(func() {
		if err := s.client.Patch(context.Background(), web, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
			t.Errorf("let Deployment go: %v", err)
		}
	})
	for i := range 60 {
		s.create(&policyv1.PodDisruptionBudget{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: fmt.Sprintf("flood-%d", i)},
			Spec:       policyv1.PodDisruptionBudgetSpec{MaxUnavailable: new(intstr.FromInt32(0)), Selector: &metav1.LabelSelector{}},
		})
	}
	if err := s.client.Delete(t.Context(), web); err != nil {
		t.Fatalf("delete Deployment: %v", err)
	}
	got := s.ok(viewer, "plan", filepath.Join(tree.root, "deploy"), "--cluster", "-o", "markdown")
	s.want(got, "it is not released: Deployment web is being deleted", "In the cluster: 34 more\n")
	if n := strings.Count(got, "PodDisruptionBudget flood-"); n == 0 || n > 30 {
		t.Errorf("want some of the budgets, got %d:\n%s", n, got)
	}
}

// write changes the metadata of an object.
func (s *shop) write(object client.Object, metadata map[string]any) {
	s.Helper()
	change := client.RawPatch("application/merge-patch+json", s.encode(map[string]any{"metadata": metadata}))
	if err := s.client.Patch(s.Context(), object, change); err != nil {
		s.Fatalf("patch %T: %v", object, err)
	}
}
