package gitsync_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

func TestFollowsPushes(t *testing.T) {
	w := newWorld(t)
	first := w.push(merge(app("web", "web:1"), map[string]string{"README.md": "x"}))
	w.controller(gitsync.Options{})
	w.source(nil)
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonSynced, "1 release as of", first[:7])
	if source.Status.ObservedCommit != first || source.Status.Releases != 1 || source.Status.Files != 2 || source.Status.LastSyncTime == nil {
		t.Errorf("got status %+v", source.Status)
	}

	release, deployment := w.release("web"), w.deployment("web")
	if deployment == nil || deployment.Spec.Template.Spec.Containers[0].Image != "web:1" {
		t.Fatalf("the first deploy made %+v", deployment)
	}
	wantLabels := map[string]string{v1alpha1.SourceLabel: "shop"}
	if diff := cmp.Diff(wantLabels, release.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if a := release.Annotations; a[v1alpha1.CommitAnnotation] != first || a[v1alpha1.FileAnnotation] != "web/release.yaml" ||
		a[v1alpha1.TemplateFileAnnotation] != "web/deploy.yaml" {
		t.Errorf("got annotations %v", release.Annotations)
	}
	if len(release.ManagedFields) != 1 || release.ManagedFields[0].Manager != v1alpha1.OwnerGitsync || release.ManagedFields[0].Operation != "Apply" {
		t.Errorf("got managed fields %v", release.ManagedFields)
	}
	w.wantImage("web", "web:1")

	second := w.push(map[string]string{"web/deploy.yaml": deploymentText("web", "web:2")})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced, second[:7])
	w.wantImage("web", "web:2")
	if got := w.release("web").Annotations[v1alpha1.CommitAnnotation]; got != second {
		t.Errorf("the commit of a new template is %s, want %s", got, second)
	}
	if image := w.deployment("web").Spec.Template.Spec.Containers[0].Image; image != "web:1" {
		t.Errorf("the Deployment was updated to %s: that is the rollout's work", image)
	}

	w.push(map[string]string{"web/release.yaml": releaseText("web", "[{replicas: 100%}]")})
	w.sync("shop")
	release = w.release("web")
	if len(release.Spec.Strategy.Steps) != 1 || release.Annotations[v1alpha1.CommitAnnotation] != second {
		t.Errorf("with other steps: %d steps, commit %s; want 1, and the commit of the template %s", len(release.Spec.Strategy.Steps), release.Annotations[v1alpha1.CommitAnnotation], second)
	}

	version := release.ResourceVersion
	unrelated := w.push(map[string]string{"README.md": "y"})
	source = w.sync("shop")
	if source.Status.ObservedCommit != unrelated || w.release("web").ResourceVersion != version {
		t.Errorf("an unrelated commit: observed %s, release written %t", source.Status.ObservedCommit, w.release("web").ResourceVersion != version)
	}
}

func TestAtRestNothingIsAskedOfTheAPIServer(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("web", "web:1"), app("api", "api:1"), map[string]string{"bad.yaml": "a: ["}))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Interval.Duration = 1e9 })
	source := w.await("shop", func(s *v1alpha1.ReleaseSource) error {
		if s.Status.ObservedCommit == "" {
			return fmt.Errorf("want a commit observed")
		}
		return nil
	})
	looks := func(n int64) {
		t.Helper()
		want := w.handler.Requests() + n
		cptest.Eventually(t, soon, func() error {
			if got := w.handler.Requests(); got < want {
				return fmt.Errorf("want %d requests to the repository, got %d", want, got)
			}
			return nil
		})
	}
	looks(2)
	before, git := len(w.requests.list()), w.handler.Requests()
	looks(3)
	if asked := w.requests.list()[before:]; len(asked) > 0 {
		t.Errorf("at rest the API server was asked: %v", asked)
	}
	if got := w.handler.Requests() - git; got > 4 {
		t.Errorf("about three looks took %d requests to the repository", got)
	}
	again := w.await("shop", func(*v1alpha1.ReleaseSource) error { return nil })
	if again.ResourceVersion != source.ResourceVersion {
		t.Errorf("the source was written at rest:\n%s", cmp.Diff(source, again))
	}
}

func TestRestartWritesNothing(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("web", "web:1"), app("api", "api:1")))
	stop := w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	stop()

	written := func() (writes []string) {
		for _, request := range w.requests.list() {
			if !strings.HasPrefix(request, "GET ") {
				writes = append(writes, request)
			}
		}
		return writes
	}
	before, looked := len(written()), w.handler.Requests()
	w.controller(gitsync.Options{})
	cptest.Eventually(t, soon, func() error { // the look that comes with the start
		if w.handler.Requests() == looked {
			return fmt.Errorf("want the repository looked at")
		}
		return nil
	})
	w.sync("shop") // the status says when a requested look is done; it comes after the other
	status := "PATCH /apis/rollouts.sluice.dev/v1alpha1/namespaces/" + w.namespace + "/releasesources/shop/status"
	if diff := cmp.Diff([]string{status}, written()[before:]); diff != "" {
		t.Errorf("writes of the restarted controller (-want +got):\n%s", diff)
	}
}

func TestBadFilesLeaveTheRestAlone(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("web", "web:1"), app("api", "api:1")))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)

	commit := w.push(map[string]string{
		"api/release.yaml": releaseText("api", "[{replicas: 1},\n"),
		"web/deploy.yaml":  deploymentText("web", "web:2"),
		"more.yaml":        releaseText("more", "[{replicas: 100%}]") + "  onFailure: Pause\n",
	})
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid, "api/release.yaml:8", "and 1 more")
	w.wantErrors(source, "api/release.yaml:8: broken YAML", "more.yaml:9: spec.onFailure: unknown field")
	if source.Status.ObservedCommit != commit || source.Status.ErrorCount != 2 || source.Status.Releases != 1 {
		t.Errorf("got status %+v", source.Status)
	}
	w.wantImage("web", "web:2")
	w.wantImage("api", "api:1")

	w.push(map[string]string{"api/release.yaml": releaseText("api", steps), "api/deploy.yaml": deploymentText("api", "api:2")}, "more.yaml")
	source = w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonSynced)
	w.wantErrors(source)
	w.wantImage("api", "api:2")
}

func TestStatusListsFiftyErrors(t *testing.T) {
	w := newWorld(t)
	files := app("web", "web:1")
	for i := range 60 {
		files[fmt.Sprintf("bad/%02d.yaml", i)] = "kind: BatchRelease\na: ["
	}
	w.push(files)
	w.controller(gitsync.Options{})
	w.source(nil)
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid, "bad/00.yaml:2", "and 59 more")
	if len(source.Status.Errors) != 50 || source.Status.ErrorCount != 60 {
		t.Errorf("status lists %d errors and counts %d", len(source.Status.Errors), source.Status.ErrorCount)
	}
	w.wantImage("web", "web:1")
}

// TestRefusedByTheAPIServer: an object that the API server refuses is an error of its file, and
// the others are applied.
func TestRefusedByTheAPIServer(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("web", "web:1"), app("api", "api:1")))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")

	w.push(merge(map[string]string{
		// A release can't change its workload.
		"web/release.yaml": strings.Replace(releaseText("web", steps), "kind: Deployment, name: web", "kind: Deployment, name: other", 1),
		"other.yaml":       deploymentText("other", "other:1"),
		// A Deployment without a selector, which is for the API server to refuse, and one whose
		// selector does not match, which is not sent.
		"bare/deploy.yaml":  strings.Replace(deploymentText("bare", "bare:1"), "  selector: {matchLabels: {app: bare}}\n", "", 1),
		"bare/release.yaml": releaseText("bare", steps),
		"new/deploy.yaml":   strings.Replace(deploymentText("new", "new:1"), "matchLabels: {app: new}", "matchLabels: {app: old}", 1),
		"new/release.yaml":  releaseText("new", steps),
		// A Deployment with a field that there is not.
		"typo/deploy.yaml":  strings.Replace(deploymentText("typo", "typo:1"), "replicas: 0", "replicaz: 0", 1),
		"typo/release.yaml": releaseText("typo", steps),
		"api/deploy.yaml":   deploymentText("api", "api:2"),
	}))
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonApplyFailed, "and 2 more")
	w.wantErrors(source,
		"bare/release.yaml:1: spec.selector",
		"new/deploy.yaml:9: the selector of Deployment new does not match",
		`typo/release.yaml:1: unknown field "spec.replicaz"`,
		"web/release.yaml:1: spec.workloadRef can't be changed from Deployment web to Deployment other",
	)
	w.wantImage("web", "web:1")
	w.wantImage("api", "api:2")
	if w.deployment("other") != nil {
		t.Error("a Deployment was made for a release that was refused")
	}
	if w.release("new") != nil || w.deployment("new") != nil || w.release("bare") != nil {
		t.Error("a release was made whose Deployment was refused")
	}

	w.push(map[string]string{"web/release.yaml": releaseText("web", steps)}, "bare", "new", "typo")
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
}

// wantLabelled takes the label of its source off a release, and expects it back.
func wantLabelled(w *world, name string) {
	w.Helper()
	patch := `{"metadata":{"labels":{"` + v1alpha1.SourceLabel + `":null}}}`
	if err := w.Patch(w.Context(), w.release(name), client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner("somebody")); err != nil {
		w.Fatal(err)
	}
	cptest.Eventually(w.T, soon, func() error {
		w.sync("shop")
		if label := w.release(name).Labels[v1alpha1.SourceLabel]; label == "" {
			return errors.New("the release still lacks the label of its source")
		}
		return nil
	})
}

func TestDriftIsUndone(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("web", "web:1"), app("api", "api:1")))
	stop := w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	settled := w.release("web")

	editAs := func(manager, metadata string) {
		t.Helper()
		patch := `{"spec":{"strategy":{"steps":[{"replicas":"100%"}],"maxSurge":3}}` + metadata + `}`
		if err := w.Patch(t.Context(), w.release("web"), client.RawPatch("application/merge-patch+json", []byte(patch)), client.FieldOwner(manager)); err != nil {
			t.Fatal(err)
		}
	}
	edit := func() { editAs("somebody", "") }
	wantUndone := func(when string) {
		t.Helper()
		cptest.Eventually(t, soon, func() error {
			w.sync("shop")
			if n := len(w.release("web").Spec.Strategy.Steps); n != 2 {
				return fmt.Errorf("%s the edited release has %d steps, want the 2 of Git", when, n)
			}
			return nil
		})
	}
	edit()
	wantUndone("while we run")
	w.wantEvent(v1alpha1.ReasonEdited, `field manager "somebody" at `, " changed spec.strategy.steps out of band", "pods that were updated meanwhile stay")
	editAs("hider", `,"metadata":{"annotations":{"`+v1alpha1.AppliedDigestAnnotation+`":null}}`)
	wantUndone("without the annotation")
	w.wantEvent(v1alpha1.ReasonEdited, `field manager "hider" at `)
	wantLabelled(w, "web")
	if got := w.release("web").Annotations[v1alpha1.CommitAnnotation]; got != settled.Annotations[v1alpha1.CommitAnnotation] {
		t.Errorf("the commit changed to %s", got)
	}
	if got := w.release("web").Spec.Strategy.MaxSurge; got == nil || got.IntValue() != 3 {
		t.Errorf("maxSurge, of which Git says nothing, is %v, want what somebody set", got)
	}
	stop()
	edit()
	w.controller(gitsync.Options{})
	wantUndone("while we did not run")

	for _, gone := range []client.Object{w.release("api"), w.deployment("api")} {
		if err := w.Delete(t.Context(), gone, client.PropagationPolicy("Background")); err != nil {
			t.Fatal(err)
		}
	}
	cptest.Eventually(t, soon, func() error {
		w.sync("shop")
		if w.release("api") == nil || w.deployment("api") == nil {
			return fmt.Errorf("want release and Deployment back, got %v, %v", w.release("api") != nil, w.deployment("api") != nil)
		}
		return nil
	})
}

// wantEvent waits for an event with a reason, whose note has some words.
func (w *world) wantEvent(reason string, words ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		var events eventsv1.EventList
		if err := w.List(w.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		var notes []string
		for i := range events.Items {
			e := &events.Items[i]
			has := func(word string) bool { return strings.Contains(e.Note, word) }
			if e.Reason == reason && !slices.ContainsFunc(words, func(word string) bool { return !has(word) }) {
				return nil
			}
			notes = append(notes, e.Reason+": "+e.Note)
		}
		return fmt.Errorf("want an event %s with %q, got %q", reason, words, notes)
	})
}

// TestSuspendIsPeoples: a release that a person suspended is not resumed by the next push, even if
// the manifest says suspend: false. A suspension from Git ends by Git.
func TestSuspendIsPeoples(t *testing.T) {
	w := newWorld(t)
	says := func(line string) map[string]string {
		return map[string]string{"web/release.yaml": releaseText("web", "[{replicas: 1}, {replicas: 100%}]") + line}
	}
	w.push(merge(app("web", "web:1"), says("  suspend: false\n")))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))
	if err := w.Patch(t.Context(), w.release("web"), patch, client.FieldOwner("somebody")); err != nil {
		t.Fatal(err)
	}
	w.push(map[string]string{"web/deploy.yaml": deploymentText("web", "web:2")})
	w.sync("shop")
	w.wantImage("web", "web:2")
	if !w.release("web").Spec.Suspend {
		t.Error("a push let go on what a person had suspended")
	}
	w.push(merge(app("api", "api:1"), map[string]string{"api/release.yaml": releaseText("api", "[{replicas: 100%}]") + "  suspend: true\n"}))
	w.sync("shop")
	if !w.release("api").Spec.Suspend {
		t.Error("want suspended what Git suspends")
	}
	w.push(map[string]string{"api/release.yaml": releaseText("api", "[{replicas: 100%}]") + "  suspend: false\n"})
	w.sync("shop")
	if w.release("api").Spec.Suspend {
		t.Error("want what Git suspended to go on when Git says so")
	}
}

func TestLabelsAndAnnotationsFollowGit(t *testing.T) {
	w := newWorld(t)
	files := app("web", "web:1")
	plain := files["web/release.yaml"]
	files["web/release.yaml"] = strings.Replace(plain, "  name: web\n", "  name: web\n  labels: {team: shop}\n  annotations: {owner: ada}\n", 1)
	w.push(files)
	w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	if release := w.release("web"); release.Labels["team"] != "shop" || release.Annotations["owner"] != "ada" {
		t.Errorf("got labels %v, annotations %v", release.Labels, release.Annotations)
	}
	w.push(map[string]string{"web/release.yaml": plain})
	w.sync("shop")
	if release := w.release("web"); release.Labels["team"] != "" || release.Annotations["owner"] != "" {
		t.Errorf("what Git took away is still there: %v, %v", release.Labels, release.Annotations)
	}
}
