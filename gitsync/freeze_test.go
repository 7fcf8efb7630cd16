package gitsync_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// freezeOf returns the freeze of a release, nil if it has none.
func (w *world) freezeOf(name string) *v1alpha1.Freeze {
	w.Helper()
	release := w.release(name)
	if release == nil {
		w.Fatalf("there is no release %s", name)
	}
	text, found := release.Annotations[v1alpha1.FreezeAnnotation]
	if !found {
		return nil
	}
	var freeze v1alpha1.Freeze
	if err := json.Unmarshal([]byte(text), &freeze); err != nil {
		w.Fatalf("release %s has the freeze %q: %v", name, text, err)
	}
	return &freeze
}

// wantFrozen waits until looks at the repository have frozen these releases, for a reason, and no
// others.
func (w *world) wantFrozen(reason string, want map[string]bool) *v1alpha1.ReleaseSource {
	w.Helper()
	var source *v1alpha1.ReleaseSource
	cptest.Eventually(w.T, soon, func() error {
		source = w.sync("shop")
		for name, frozen := range want {
			freeze := w.freezeOf(name)
			if frozen != (freeze != nil) || frozen && !strings.HasPrefix(freeze.Reason, reason) {
				return fmt.Errorf("want %s frozen: %t, %q; have %+v", name, frozen, reason, freeze)
			}
		}
		return nil
	})
	return source
}

// labelled returns a release with a label.
func labelled(name, tier string) string {
	return strings.Replace(releaseText(name, steps), "  name: "+name+"\nspec", "  name: "+name+"\n  labels: {tier: "+tier+"}\nspec", 1)
}

func TestFreezeFollowsGit(t *testing.T) {
	w := newWorld(t)
	w.push(map[string]string{
		"api.yaml": labelled("api", "back") + "---\n" + deploymentText("api", "api:1"),
		"web.yaml": labelled("web", "front") + "---\n" + deploymentText("web", "web:1"),
	})
	w.source(nil)
	w.controller(gitsync.Options{})
	w.wantFrozen("", map[string]bool{"api": false, "web": false})

	commit := w.push(map[string]string{spec.FreezeFile: "reason: quarter end\nuntil: 2099-01-04T08:00:00Z\n"})
	w.wantReady(w.wantFrozen("quarter end", map[string]bool{"api": true, "web": true}), v1alpha1.ReasonSynced)
	if freeze := w.freezeOf("web"); freeze.Commit != commit || freeze.Until == nil {
		t.Errorf("the freeze is %+v, want commit %s and an end", freeze, commit)
	}

	// What comes meanwhile is written, and frozen; what is frozen already is not written again.
	before := w.release("web").ResourceVersion
	w.push(map[string]string{"api.yaml": labelled("api", "back") + "---\n" + deploymentText("api", "api:2")})
	w.wantFrozen("quarter end", map[string]bool{"api": true, "web": true})
	w.wantImage("api", "api:2")
	if after := w.release("web").ResourceVersion; after != before {
		t.Errorf("release web was written: resourceVersion %s, then %s", before, after)
	}

	w.push(map[string]string{spec.FreezeFile: "reason: front only\nselector: {matchLabels: {tier: front}}\n"})
	w.wantFrozen("front only", map[string]bool{"api": false, "web": true})
	w.push(nil, spec.FreezeFile)
	w.wantFrozen("", map[string]bool{"api": false, "web": false})
}

// TestFreezeFromTheStart: a first release and a Deployment that does not exist are frozen too, in
// the very write that makes them.
func TestFreezeFromTheStart(t *testing.T) {
	w := newWorld(t)
	w.push(map[string]string{
		"web.yaml":      releaseText("web", steps) + "---\n" + deploymentText("web", "web:1"),
		spec.FreezeFile: "reason: not yet\n",
	})
	w.source(nil)
	w.controller(gitsync.Options{})
	w.wantFrozen("not yet", map[string]bool{"web": true})
	if w.deployment("web") != nil {
		t.Error("the Deployment was created during a freeze")
	}
	w.push(map[string]string{spec.FreezeFile: "reason: it was until then\nuntil: 2020-01-04T08:00:00Z\n"})
	w.wantFrozen("it was until then", map[string]bool{"web": true})
	if w.deployment("web") == nil {
		t.Error("the Deployment was not created after the freeze")
	}
	w.push(nil, spec.FreezeFile)
	w.wantFrozen("", map[string]bool{"web": false})
}

// TestFreezeThatIsWrong: a freeze that can't be read stops everything and says where, and so does
// one beside files that are wrong.
func TestFreezeThatIsWrong(t *testing.T) {
	w := newWorld(t)
	w.push(map[string]string{
		"api.yaml": labelled("api", "back") + "---\n" + deploymentText("api", "api:1"),
		"web.yaml": labelled("web", "front") + "---\n" + deploymentText("web", "web:1"),
	})
	w.source(nil)
	w.controller(gitsync.Options{})
	w.wantFrozen("", map[string]bool{"api": false, "web": false})
	w.push(map[string]string{"web.yaml": "kind: [", spec.FreezeFile: "reason: x\nselector: {matchLabel: {tier: front}}\n"})
	source := w.wantFrozen(".sluice/freeze.yaml:2: selector.matchLabel: unknown field", map[string]bool{"api": true, "web": true})
	w.wantReady(source, v1alpha1.ReasonFilesInvalid)
	w.wantErrors(source, ".sluice/freeze.yaml:2: every release of the source is frozen", "web.yaml:1: broken YAML")
	w.push(map[string]string{spec.FreezeFile: "reason: mended\nselector: {matchLabels: {tier: front}}\n"})
	w.wantFrozen("mended", map[string]bool{"api": false, "web": true})
}

// TestFreezeOfPerson: a push does not end a freeze by a person.
func TestFreezeOfPerson(t *testing.T) {
	w := newWorld(t)
	w.push(map[string]string{"web.yaml": releaseText("web", steps) + "---\n" + deploymentText("web", "web:1")})
	w.source(nil)
	w.controller(gitsync.Options{})
	w.sync("shop")
	patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.FreezeAnnotation, `{"reason":"mine"}`)
	if err := w.Patch(w.Context(), w.release("web"), client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		t.Fatal(err)
	}
	w.push(map[string]string{"README.md": "a commit"})
	w.wantFrozen("mine", map[string]bool{"web": true})
	w.push(map[string]string{"web.yaml": releaseText("web", steps) + "---\n" + deploymentText("web", "web:2")})
	w.wantFrozen("mine", map[string]bool{"web": true})
	w.wantImage("web", "web:2")
}
