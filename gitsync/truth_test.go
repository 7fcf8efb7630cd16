package gitsync_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// inlineRelease returns the manifest of a release with a template of its own; more stands in the
// pods' spec.
func inlineRelease(image, more string) string {
	return releaseText("web", steps) + "  template:\n    metadata: {labels: {app: web}}\n    spec:\n" + more +
		"      containers:\n      - {name: app, image: \"" + image + "\"}\n"
}

func (w *world) patchRelease(name, manager, patch string) {
	w.Helper()
	err := w.Patch(w.Context(), w.release(name), client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner(manager))
	if err != nil {
		w.Fatalf("patch release %s as %s: %v", name, manager, err)
	}
}

// wantSynced syncs until a release has the template of a commit, and nothing else. It wants each
// sync to succeed.
func (w *world) wantSynced(when, template, commit string) {
	w.Helper()
	w.syncUntil(func(source *v1alpha1.ReleaseSource) error {
		w.wantReady(source, v1alpha1.ReasonSynced)
		release := w.release("web")
		if got := string(release.Spec.Template.Raw); got != template {
			return fmt.Errorf("%s: the template is %s, want that of Git, %s", when, got, template)
		}
		if got := release.Annotations[v1alpha1.CommitAnnotation]; got != commit {
			return fmt.Errorf("%s: the commit is %s, want %s", when, got, commit)
		}
		return nil
	})
}

// TestWhatIsAddedToATemplateGoes: of the template Git says all, whoever adds something and however.
func TestWhatIsAddedToATemplateGoes(t *testing.T) {
	w := newWorld(t)
	first := w.push(map[string]string{"web.yaml": inlineRelease("web:1", "")})
	stop := w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.push(map[string]string{"README.md": "the tip is another commit"})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	template := string(w.release("web").Spec.Template.Raw)
	additions := map[string]string{
		"host network":    `{"spec":{"template":{"spec":{"hostNetwork":true}}}}`,
		"account":         `{"spec":{"template":{"spec":{"serviceAccountName":"cluster-admin"}}}}`,
		"annotation":      `{"spec":{"template":{"metadata":{"annotations":{"inject":"yes"}}}}}`,
		"container":       `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"web:1"},{"name":"miner","image":"miner:1"}]}}}}`,
		"env":             `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"web:1","env":[{"name":"PROXY","value":"evil"}]}]}}}}`,
		"another image":   `{"spec":{"template":{"spec":{"containers":[{"name":"app","image":"web:evil"}]}}}}`,
		"what Git has":    `{"spec":{"template":{"metadata":{"labels":null}}}}`,
		"the whole of it": `{"spec":{"template":null}}`,
	}
	for name, patch := range additions {
		w.patchRelease("web", "somebody", patch)
		w.wantSynced(name, template, first)
	}
	stop()
	w.patchRelease("web", "somebody", additions["host network"])
	w.controller(gitsync.Options{})
	w.wantSynced("while we did not run", template, first)

	w.patchRelease("web", "somebody", additions["account"])
	next := w.push(map[string]string{"web.yaml": inlineRelease("web:2", "")})
	w.wantSynced("with the next push", strings.Replace(template, "web:1", "web:2", 1), next)
}

// TestWhatGitTakesAwayGoes: also where another tool has given it before, and owns it by server-side
// apply's book.
func TestWhatGitTakesAwayGoes(t *testing.T) {
	for name, flags := range map[string][]string{"client side": nil, "server side": {"--server-side"}} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			limits := strings.Replace(steps, "]", "]\n    maxSurge: 1\n    maxUnavailable: 1", 1)
			more := "      nodeSelector: {disk: ssd}\n      hostNetwork: true\n"
			before := strings.Replace(inlineRelease("web:1", more), steps, limits, 1)
			cptest.Kubectl(t, append([]string{"apply", "-n", w.namespace, "-f", manifestFile(t, before)}, flags...)...)
			w.push(map[string]string{"web.yaml": before})
			w.controller(gitsync.Options{})
			w.source(nil)
			w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
			w.wantSoleOwner("web")
			w.push(map[string]string{"web.yaml": inlineRelease("web:1", "")})
			w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
			release := w.release("web")
			if text := string(release.Spec.Template.Raw); strings.Contains(text, "nodeSelector") || strings.Contains(text, "hostNetwork") {
				t.Errorf("Git has taken fields away, and the template is %s", text)
			}
			if s := release.Spec.Strategy; s.MaxSurge != nil || s.MaxUnavailable != nil {
				t.Errorf("Git has taken the limits away, and they are %v and %v", s.MaxSurge, s.MaxUnavailable)
			}
		})
	}
}

// wantSoleOwner checks that nobody but Git owns a field of a release's spec, as defaults have none.
func (w *world) wantSoleOwner(name string) {
	w.Helper()
	for _, entry := range w.release(name).ManagedFields {
		ours := entry.Manager == v1alpha1.OwnerGitsync && entry.Operation == metav1.ManagedFieldsOperationApply
		for _, field := range []string{"f:template", "f:steps", "f:maxSurge"} {
			if !ours && entry.Subresource == "" && strings.Contains(string(entry.FieldsV1.GetRawBytes()), field) {
				w.Errorf("%s owns %s as well: %s", entry.Manager, field, entry.FieldsV1.GetRawString())
			}
		}
	}
}

// TestDeletedReleaseIsMadeAnew: of the commit that brought its template, not of the tip.
func TestDeletedReleaseIsMadeAnew(t *testing.T) {
	w := newWorld(t)
	first := w.push(map[string]string{"web.yaml": inlineRelease("web:1", "")})
	w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.push(map[string]string{"README.md": "the tip is another commit"})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	deleted := w.release("web")
	if err := w.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	w.syncUntil(func(*v1alpha1.ReleaseSource) error {
		if release := w.release("web"); release == nil || release.UID == deleted.UID {
			return errors.New("want another release than the one that was deleted")
		}
		return nil
	})
	w.wantSynced("made anew", string(deleted.Spec.Template.Raw), first)
}

// TestSharedWhileNobodyRan: a field that somebody else came to own while no controller ran, or
// after which one died, is Git's again before Git takes it away.
func TestSharedWhileNobodyRan(t *testing.T) {
	w := newWorld(t)
	limits := strings.Replace(steps, "]", "]\n    maxSurge: 1", 1)
	text := strings.Replace(inlineRelease("web:1", ""), steps, limits, 1)
	w.push(map[string]string{"web.yaml": text})
	stop := w.controller(gitsync.Options{})
	w.source(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	stop()
	cptest.Kubectl(t, "apply", "-n", w.namespace, "-f", manifestFile(t, text), "--server-side", "--force-conflicts")
	w.controller(gitsync.Options{})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantSoleOwner("web")
	w.push(map[string]string{"web.yaml": inlineRelease("web:1", "")})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	if surge := w.release("web").Spec.Strategy.MaxSurge; surge != nil {
		t.Errorf("Git has taken maxSurge away, and it is %v", surge)
	}
}
