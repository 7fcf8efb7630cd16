package gitsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
)

// TestAccidentsDeleteNothing: a release stays as it was when its manifest is broken by accident,
// and the place is reported. Git's own ways to remove a release still do.
func TestAccidentsDeleteNothing(t *testing.T) {
	w := newWorld(t)
	whole := merge(app("web", "web:1"), app("api", "api:1"), app("db", "db:1"), app("job", "job:1"))
	whole["web/release.yaml"] += "---\n" + releaseText("two", steps) + "---\n" + deploymentText("two", "two:1")
	w.push(whole)
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	uid := w.release("web").UID
	for name, accident := range map[string]struct{ text, place, words string }{
		"pointer":  {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n", "web/release.yaml:1", "Git LFS"},
		"conflict": {"<<<<<<< HEAD\n" + whole["web/release.yaml"] + "=======\n>>>>>>> topic\n", "web/release.yaml:1", "merge conflict"},
		"empty":    {"", "web/release.yaml:1", "is kept: the file is empty"},
		"comments": {"# " + strings.ReplaceAll(whole["web/release.yaml"], "\n", "\n# ") + "\n", "web/release.yaml:1", "is kept: the file is empty"},
		"cut":      {deploymentText("two", "two:1") + "---\napiVersion: rollouts.sl", "web/release.yaml:13", "is kept: the document is not a Kubernetes object"},
		"binary":   {"\x00GITCRYPT\x00\xff", "web/release.yaml:1", "not UTF-8"},
	} {
		w.push(map[string]string{"web/release.yaml": accident.text})
		source := w.sync("shop")
		w.wantReady(source, v1alpha1.ReasonFilesInvalid)
		if !slices.ContainsFunc(source.Status.Errors, func(e v1alpha1.FileError) bool {
			return fmt.Sprintf("%s:%d", e.File, e.Line) == accident.place && strings.Contains(e.Message, accident.words)
		}) {
			t.Errorf("%s: want an error at %s that says %q, got %+v", name, accident.place, accident.words, source.Status.Errors)
		}
		if web := w.release("web"); web == nil || web.UID != uid || web.DeletionTimestamp != nil {
			t.Fatalf("%s: the release is deleted", name)
		}
		w.wantImage("web", "web:1")
	}

	w.push(map[string]string{"web/release.yaml": releaseText("web", steps)})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	if w.release("two") != nil {
		t.Error("a document was taken out, and its release stays")
	}
	w.push(nil, "web/release.yaml")
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	if w.release("web") != nil {
		t.Error("the file was deleted, and its release stays")
	}
}
