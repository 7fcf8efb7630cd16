package gitsync_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// awaits makes a release wait for a gate, as rollout does.
func (w *world) awaits(name string, gates ...v1alpha1.GateType) {
	w.Helper()
	release := w.release(name)
	before := release.DeepCopy()
	release.Status.Gates = nil
	for i, gate := range gates {
		release.Status.Gates = append(release.Status.Gates, v1alpha1.GateReference{Name: fmt.Sprintf("%s-gate-%d", name, i), Type: gate})
	}
	if err := w.Status().Patch(w.Context(), release, client.MergeFrom(before)); err != nil {
		w.Fatalf("let release %s wait: %v", name, err)
	}
}

func (w *world) approval(release, nonce string) v1alpha1.ApprovalRecord {
	return v1alpha1.ApprovalRecord{Namespace: w.namespace, Release: release, Revision: "7f9c", Commit: "c0ffee", Step: 1, Nonce: nonce}
}

// approve commits records, as the merge of an approval does.
func (w *world) approve(records ...v1alpha1.ApprovalRecord) string {
	w.Helper()
	files := map[string]string{}
	for _, r := range records {
		files[record.Path(r.Namespace, r.Release)] = string(record.Format(r))
	}
	return w.push(files)
}

// wantApprovals waits until looks at the repository publish exactly these records, with Git's own
// names of the files: the cache may be behind.
func (w *world) wantApprovals(want ...v1alpha1.ApprovalRecord) *v1alpha1.ReleaseSource {
	w.Helper()
	for i := range want {
		blob, err := w.repo.Git(nil, "rev-parse", gittest.Branch+":"+record.Path(want[i].Namespace, want[i].Release))
		if err != nil {
			w.Fatal(err)
		}
		want[i].Blob = blob
	}
	var source *v1alpha1.ReleaseSource
	cptest.Eventually(w.T, soon, func() error {
		source = w.sync("shop")
		if diff := cmp.Diff(want, source.Status.Approvals); diff != "" {
			return fmt.Errorf("want these approvals (-want +got):\n%s", diff)
		}
		return nil
	})
	return source
}

func TestApprovalsArePublished(t *testing.T) {
	w := newWorld(t)
	manifests := func(name string) map[string]string {
		moved := map[string]string{}
		for path, text := range app(name, name+":1") {
			moved["deploy/"+path] = text
		}
		return moved
	}
	w.push(merge(manifests("web"), manifests("api"), manifests("db")))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Path = "deploy" })
	w.wantReady(w.sync("shop"), v1alpha1.ReasonSynced, "3 releases")
	w.awaits("web", v1alpha1.GateSoak, v1alpha1.GatePullRequest)
	w.awaits("db", v1alpha1.GateManual)
	w.wantApprovals()

	commit := w.approve(w.approval("web", "one"), w.approval("api", "two"), w.approval("db", "three"))
	source := w.wantApprovals(w.approval("web", "one"))
	tree, err := w.repo.Git(nil, "rev-parse", commit+"^{tree}")
	if err != nil || source.Status.ObservedCommit != commit || source.Status.ObservedTree != tree {
		t.Errorf("observed commit %s and tree %s, want %s and %s (%v)", source.Status.ObservedCommit, source.Status.ObservedTree, commit, tree, err)
	}
	w.wantReady(source, v1alpha1.ReasonSynced, "3 releases")

	// A release that begins to wait when its record is there already.
	w.awaits("api", v1alpha1.GatePullRequest)
	w.wantApprovals(w.approval("api", "two"), w.approval("web", "one"))
	w.awaits("web")
	w.approve(w.approval("api", "four"))
	w.wantApprovals(w.approval("api", "four"))

	settled := w.sync("shop")
	version := settled.ResourceVersion
	w.commit(gittest.Commit{Deleted: []string{record.Path(w.namespace, "api")}})
	if got := w.wantApprovals(); got.ResourceVersion == version {
		t.Error("a record that was taken away is still an approval")
	}
}

func TestRecordsThatApproveNothing(t *testing.T) {
	w := newWorld(t)
	w.push(merge(app("web", "web:1"), app("api", "api:1")))
	w.controller(gitsync.Options{})
	w.source(func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	w.sync("shop")
	w.awaits("web", v1alpha1.GatePullRequest)
	w.awaits("api", v1alpha1.GatePullRequest)
	w.approve(w.approval("web", "one"))
	w.wantApprovals(w.approval("web", "one"))

	at := record.Path(w.namespace, "api")
	w.commit(gittest.Commit{Links: map[string]string{at: "web.yaml"}})
	source := w.wantApprovals(w.approval("web", "one"))
	w.wantReady(source, v1alpha1.ReasonFilesInvalid, at)
	w.wantErrors(source, at+":0: a record is a regular file")

	// It is no reason to keep what Git takes out: no release is in a record.
	w.commit(gittest.Commit{Files: map[string]string{at: "step: all\n", "web/deploy.yaml": deploymentText("web", "web:2")}, Deleted: []string{"api"}})
	source = w.wantApprovals(w.approval("web", "one"))
	w.wantErrors(source, at+":0: the file is no record of an approval")
	w.wantImage("web", "web:2")
	if w.release("api") != nil {
		t.Error("a broken record held prune")
	}
}

func TestFailedLooksKeepApprovals(t *testing.T) {
	w := newWorld(t)
	first := w.push(app("web", "web:1"))
	stop := w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	w.awaits("web", v1alpha1.GatePullRequest)
	approved := w.approve(w.approval("web", "one"))
	kept := w.wantApprovals(w.approval("web", "one"))

	wantKept := func(when, reason string) {
		t.Helper()
		source := w.sync("shop")
		w.wantReady(source, reason)
		if diff := cmp.Diff(kept.Status.Approvals, source.Status.Approvals); diff != "" || source.Status.ObservedCommit != approved {
			t.Errorf("%s: observed %s, approvals (-want +got):\n%s", when, source.Status.ObservedCommit, diff)
		}
	}
	w.commit(gittest.Commit{Parent: first, Files: map[string]string{"web/deploy.yaml": deploymentText("web", "web:2")}})
	wantKept("rewritten", v1alpha1.ReasonHistoryRewrite)
	if _, err := w.repo.Git(nil, "update-ref", "refs/heads/"+gittest.Branch, approved); err != nil {
		t.Fatal(err)
	}
	wantKept("put back", v1alpha1.ReasonSynced)
	if _, err := w.repo.Git(nil, "branch", "--move", gittest.Branch, "away"); err != nil {
		t.Fatal(err)
	}
	wantKept("the branch is gone", v1alpha1.ReasonBranchNotFound)
	stop()
	w.controller(gitsync.Options{})
	wantKept("after a restart", v1alpha1.ReasonBranchNotFound)
}

// TestApprovalsOfLargeRepositories: a repository that is too large to be kept in memory is not read
// again for what changes in the cluster.
func TestApprovalsOfLargeRepositories(t *testing.T) {
	w := newWorld(t)
	w.push(app("web", "web:1"))
	w.controller(gitsync.Options{Git: gitrepo.Options{Limits: gitrepo.Limits{CachedBytes: 1}}})
	w.source(nil)
	w.sync("shop")
	w.approve(w.approval("web", "one"))
	w.wantApprovals()
	sent := w.handler.Sent()
	w.sync("shop")
	look := w.handler.Sent() - sent
	w.awaits("web", v1alpha1.GatePullRequest)
	syncs, before := w.syncs, w.handler.Sent()
	source := w.wantApprovals(w.approval("web", "one"))
	if got, most := w.handler.Sent()-before, look*int64(w.syncs-syncs); got > most || source.Status.ObservedTree == "" {
		t.Errorf("publishing a record took %d bytes of the repository, want at most %d; observed tree %q", got, most, source.Status.ObservedTree)
	}
}

func TestReleasesShowTheirCommit(t *testing.T) {
	w := newWorld(t)
	message := "web: 2 to\u202e everybody\x1b\n\nbecause"
	w.commit(gittest.Commit{Message: message, Files: app("web", "web:1")})
	w.controller(gitsync.Options{})
	w.source(nil)
	w.sync("shop")
	want := func(subject string) {
		t.Helper()
		annotations := w.release("web").Annotations
		if _, err := time.Parse(time.RFC3339, annotations[v1alpha1.CommitTimeAnnotation]); err != nil {
			t.Errorf("want the commit's time: %v", err)
		}
		if annotations[v1alpha1.AuthorAnnotation] != "Ada" || annotations[v1alpha1.SubjectAnnotation] != subject {
			t.Errorf("got author %q and subject %q, want Ada and %q", annotations[v1alpha1.AuthorAnnotation], annotations[v1alpha1.SubjectAnnotation], subject)
		}
	}
	want("web: 2 to everybody")
	w.commit(gittest.Commit{Message: "other steps", Files: map[string]string{"web/release.yaml": releaseText("web", "[{replicas: 100%}]")}})
	w.sync("shop")
	if n := len(w.release("web").Spec.Strategy.Steps); n != 1 {
		t.Fatalf("got %d steps, want 1", n)
	}
	want("web: 2 to everybody")
	w.commit(gittest.Commit{Message: "web: 3", Files: map[string]string{"web/deploy.yaml": deploymentText("web", "web:3")}})
	w.sync("shop")
	want("web: 3")
}
