package gitsync_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// set changes the spec of the source "shop".
func (w *world) set(patch string) {
	w.Helper()
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "shop"}}
	if err := w.Patch(w.Context(), source, client.RawPatch("application/merge-patch+json", []byte(`{"spec":`+patch+`}`))); err != nil {
		w.Fatal(err)
	}
}

func TestForcePushHolds(t *testing.T) {
	w := newWorld(t)
	first := w.push(app("web", "web:1"))
	second := w.push(map[string]string{"web/deploy.yaml": deploymentText("web", "web:2")})
	stop := w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")

	third := w.commit(gittest.Commit{Parent: first, Files: map[string]string{"web/deploy.yaml": deploymentText("web", "web:3")}})
	for range 2 {
		source := w.sync("shop")
		w.wantReady(source, v1alpha1.ReasonHistoryRewrite, second, third, "allowRewrite")
		if source.Status.ObservedCommit != second {
			t.Errorf("observed %s, want %s still", source.Status.ObservedCommit, second)
		}
		if source.Status.RefusedHead != third {
			t.Errorf("refused head %q, want %s", source.Status.RefusedHead, third)
		}
		w.wantImage("web", "web:2")
	}
	stop()
	w.controller(gitsync.Options{})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonHistoryRewrite)
	w.set(`{"interval":"2h"}`)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonHistoryRewrite)
	w.wantImage("web", "web:2")

	w.set(`{"allowRewrite":true}`)
	accepted := w.sync("shop")
	w.wantReady(accepted, v1alpha1.ReasonSynced, third[:7])
	if accepted.Status.RefusedHead != "" {
		t.Errorf("refused head %q, want none", accepted.Status.RefusedHead)
	}
	w.wantImage("web", "web:3")
}

// TestTroubleWithTheRepository: running releases are left alone whatever happens to the
// repository, which is followed again when it is back.
func TestTroubleWithTheRepository(t *testing.T) {
	w := newWorld(t)
	var trouble atomic.Pointer[http.Handler]
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if handler := trouble.Load(); handler != nil {
			(*handler).ServeHTTP(rw, r)
			return
		}
		w.handler.ServeHTTP(rw, r)
	}))
	t.Cleanup(front.Close)
	commit := w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) {
		s.Spec.URL = front.URL + "/" + w.repo.Name()
		s.Spec.Timeout.Duration = 15 * time.Second
		s.Spec.Prune = true
	})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	status := func(code int) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) { http.Error(rw, "oops", code) })
	}
	tests := []struct {
		trouble       http.Handler
		reason, words string
		stalled       bool
	}{
		{status(http.StatusInternalServerError), v1alpha1.ReasonFetchFailed, "500", false},
		{status(http.StatusTooManyRequests), v1alpha1.ReasonFetchFailed, "429", false},
		{status(http.StatusNotFound), v1alpha1.ReasonFetchFailed, "not found", true},
		{status(http.StatusUnauthorized), v1alpha1.ReasonInvalidSecret, "without credentials", true},
		{http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }), v1alpha1.ReasonFetchFailed, "within 15s", false},
		{http.RedirectHandler("http://localhost:1/app.git/info/refs", http.StatusFound), v1alpha1.ReasonInvalidSpec, "redirects to another host", true},
	}
	for _, tt := range tests {
		trouble.Store(&tt.trouble)
		source := w.sync("shop")
		w.wantReady(source, tt.reason, tt.words)
		if got := meta.IsStatusConditionTrue(source.Status.Conditions, v1alpha1.ConditionStalled); got != tt.stalled {
			t.Errorf("%s: Stalled is %t, want %t", tt.words, got, tt.stalled)
		}
		if source.Status.ObservedCommit != commit {
			t.Errorf("%s: observed %q", tt.words, source.Status.ObservedCommit)
		}
		w.wantImage("web", "web:1")
	}
	trouble.Store(nil)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)

	for _, rename := range [][2]string{{"refs/heads/main", "refs/heads/away"}, {"refs/heads/away", "refs/heads/main"}} {
		for _, args := range [][]string{{"update-ref", rename[1], rename[0]}, {"update-ref", "-d", rename[0]}} {
			if _, err := w.repo.Git(nil, args...); err != nil {
				t.Fatal(err)
			}
		}
		reason := v1alpha1.ReasonBranchNotFound
		if rename[1] == "refs/heads/main" {
			reason = v1alpha1.ReasonSynced
		}
		w.wantReady(w.sync("shop"), reason)
		w.wantImage("web", "web:1")
	}
	front.Close()
	w.wantReady(w.sync("shop"), v1alpha1.ReasonFetchFailed, "refused")
	w.wantImage("web", "web:1")
}

func TestWrongFolderAndLimits(t *testing.T) {
	w := newWorld(t)
	w.push(map[string]string{"apps/web.yaml": releaseText("web", steps), "apps/d.yaml": deploymentText("web", "web:1")})
	w.controller(gitsync.Options{Git: gitrepo.Options{Limits: gitrepo.Limits{PackBytes: 256 << 10}}})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Path = "nowhere" })
	w.wantReady(w.sync("shop"), v1alpha1.ReasonInvalidSpec, `no folder "nowhere"`)
	w.set(`{"path":"apps"}`)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.set(`{"path":"../up"}`)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonInvalidSpec)
	w.wantImage("web", "web:1")
	w.set(`{"path":"apps"}`)
	w.push(map[string]string{"noise": randomText(512 << 10)})
	w.wantReady(w.sync("shop"), v1alpha1.ReasonLimitExceeded, "pack", "256 KiB")
	w.wantImage("web", "web:1")
}

// randomText returns text that hardly compresses.
func randomText(n int) string {
	var text strings.Builder
	for state := uint64(1); text.Len() < n; {
		state ^= state << 13
		state ^= state >> 7
		state ^= state << 17
		text.WriteByte(byte(state>>32) | 1)
	}
	return text.String()
}

func TestLinksAndLargeFilesAreErrors(t *testing.T) {
	w := newWorld(t)
	w.commit(gittest.Commit{
		Files: merge(app("web", "web:1"), map[string]string{"large.yaml": "a: " + strings.Repeat("x", 5<<20)}),
		Links: map[string]string{"out.yaml": "/etc/passwd", "up": "../.."},
	})
	w.controller(gitsync.Options{})
	w.source(nil)
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid)
	w.wantErrors(source, "large.yaml:0: too large", "out.yaml:0: leads out of the repository")
	w.wantImage("web", "web:1")
}

func TestPrune(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("a", "a:1"), app("b", "b:1"), app("c", "c:1"), app("d", "d:1")))
	w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	byHand := w.release("a").DeepCopy()
	byHand.ObjectMeta = metav1.ObjectMeta{Namespace: w.namespace, Name: "by-hand"}
	byHand.Spec.WorkloadRef.Name = "by-hand"
	if err := w.Create(t.Context(), byHand); err != nil {
		t.Fatal(err)
	}
	has := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, name := range []string{"a", "b", "c", "d", "by-hand"} {
			if release := w.release(name); release != nil && release.DeletionTimestamp.IsZero() {
				got = append(got, name)
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: there are the releases %v, want %v", when, got, want)
		}
	}

	w.push(nil, "d")
	source := w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonSynced)
	has("without spec.prune", "a", "b", "c", "d", "by-hand")
	notInGit := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionNotInGit)
	if want := "kubectl delete batchrelease d -n " + w.namespace; notInGit == nil || !strings.Contains(notInGit.Message, want) {
		t.Errorf("without spec.prune: want a condition that says %q, got %+v", want, notInGit)
	}

	w.push(map[string]string{"bad.yaml": "kind: BatchRelease\nmetadata: {name: d}\na: ["})
	w.set(`{"prune":true}`)
	source = w.sync("shop")
	w.wantReady(source, v1alpha1.ReasonFilesInvalid)
	if meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionNotInGit) != nil {
		t.Error("with spec.prune: want no condition that releases stay")
	}
	has("while a file that may hold it has errors", "a", "b", "c", "d", "by-hand")

	w.push(nil, "bad.yaml")
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	has("without doubt", "a", "b", "c", "by-hand")
	if w.deployment("d") == nil {
		t.Error("the Deployment was deleted")
	}

	w.push(nil, "a", "b")
	w.wantReady(w.sync("shop"), v1alpha1.ReasonPruneHeld, "2 releases", "more would be deleted than stay")
	has("more than half", "a", "b", "c", "by-hand")

	w.push(map[string]string{"README.md": "x"}, "c")
	w.wantReady(w.sync("shop"), v1alpha1.ReasonPruneHeld, "3 releases", "nothing would be left")
	has("an empty repository", "a", "b", "c", "by-hand")

	w.push(merge(app("a", "a:1"), app("b", "b:1")))
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	has("one of three", "a", "b", "by-hand")
}

func TestSuspend(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Suspend = true })
	source := w.await("shop", func(s *v1alpha1.ReleaseSource) error {
		if len(s.Status.Conditions) == 0 {
			return fmt.Errorf("want conditions")
		}
		return nil
	})
	w.wantReady(source, v1alpha1.ReasonSuspended)
	if w.handler.Requests() > 0 || w.release("web") != nil {
		t.Errorf("the repository of a suspended source was read %d times", w.handler.Requests())
	}
	w.set(`{"suspend":false}`)
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced)
	w.wantImage("web", "web:1")
}

func TestEventsTellEachThingOnce(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{})
	w.source(nil)
	for range 3 {
		w.sync("shop")
	}
	w.push(map[string]string{"bad.yaml": "kind: BatchRelease\nmetadata: {name: d}\na: ["})
	for range 3 {
		w.sync("shop")
	}
	reasons := []string{"Created", "Applied", "Synced", "FilesInvalid"}
	count := map[string]int32{}
	cptest.Eventually(t, soon, func() error { // each event is written by a goroutine of its own
		var events corev1.EventList
		if err := w.List(t.Context(), &events, client.InNamespace(w.namespace)); err != nil {
			return err
		}
		clear(count)
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "ReleaseSource" {
				count[e.Reason] += max(e.Count, 1)
			}
		}
		for _, reason := range reasons {
			if count[reason] == 0 {
				return fmt.Errorf("no event %s; all: %v", reason, count)
			}
		}
		return nil
	})
	for _, reason := range reasons {
		if count[reason] != 1 {
			t.Errorf("%d events %s, want 1; all: %v", count[reason], reason, count)
		}
	}
}
