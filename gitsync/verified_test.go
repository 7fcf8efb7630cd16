package gitsync_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/gitsync"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// signing is a world whose source checks signatures.
type signing struct {
	*world
	ada, eve *gittest.Signer
}

func newSigning(t *testing.T) *signing {
	t.Helper()
	s := &signing{world: newWorld(t)}
	for name, key := range map[string]**gittest.Signer{"ada": &s.ada, "eve": &s.eve} {
		made, err := gittest.NewSigner(t.TempDir(), name)
		if err != nil {
			t.Fatal(err)
		}
		*key = made
	}
	return s
}

// keys writes the ConfigMap with the keys.
func (s *signing) keys(data map[string]string) {
	s.Helper()
	keys := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "signers"}}
	if err := s.Delete(s.Context(), keys.DeepCopy()); client.IgnoreNotFound(err) != nil {
		s.Fatal(err)
	}
	keys.Data = data
	if err := s.Create(s.Context(), keys); err != nil {
		s.Fatal(err)
	}
}

func (s *signing) lines(signers ...string) map[string]string {
	known := map[string]*gittest.Signer{"ada": s.ada, "eve": s.eve}
	var lines string
	for _, name := range signers {
		lines += name + "@example.com " + known[name].Public + "\n"
	}
	return map[string]string{"allowed_signers": lines}
}

func byConfigMap(source *v1alpha1.ReleaseSource) {
	source.Spec.Verify = &v1alpha1.Verify{Keys: v1alpha1.VerifyKeys{ConfigMapRef: &v1alpha1.LocalReference{Name: "signers"}}}
}

func byFile(source *v1alpha1.ReleaseSource) {
	source.Spec.Verify = &v1alpha1.Verify{Keys: v1alpha1.VerifyKeys{File: ".sluice/allowed_signers"}}
}

// pushes commits a version of the application, signed if by is not nil.
func (s *signing) pushes(by *gittest.Signer, image string, more ...map[string]string) string {
	s.Helper()
	files := app("web", image)
	for _, m := range more {
		maps.Copy(files, m)
	}
	return s.signs(by, s.push(files))
}

func (s *signing) signs(by *gittest.Signer, commit string) string {
	s.Helper()
	if by == nil {
		return commit
	}
	signed, err := s.repo.Sign(gittest.Branch, by)
	if err != nil {
		s.Fatal(err)
	}
	return signed
}

// change updates the source.
func (s *signing) change(change func(*v1alpha1.ReleaseSource)) {
	s.Helper()
	source := &v1alpha1.ReleaseSource{}
	if err := s.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: "shop"}, source); err != nil {
		s.Fatal(err)
	}
	before := source.DeepCopy()
	change(source)
	if err := s.Patch(s.Context(), source, client.MergeFrom(before)); err != nil {
		s.Fatal(err)
	}
}

// wantVerified syncs until a head is verified, and checks the image that is released.
func (s *signing) wantVerified(commit, image string) *v1alpha1.ReleaseSource {
	s.Helper()
	source := s.syncUntil(func(source *v1alpha1.ReleaseSource) error {
		condition := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionVerified)
		if source.Status.ObservedCommit != commit || condition == nil || condition.Status != metav1.ConditionTrue {
			return fmt.Errorf("want %s observed and verified, got %s and %+v", commit, source.Status.ObservedCommit, condition)
		}
		return nil
	})
	s.wantReady(source, v1alpha1.ReasonSynced)
	if got := source.Status.Verified; len(got) == 0 || got[0].Commit != commit {
		s.Errorf("want %s verified last, got %+v", commit, got)
	}
	s.wantImage("web", image)
	return source
}

// wantRefused syncs until the head is refused, and checks that nothing has moved.
func (s *signing) wantRefused(reason, observed, image string, words ...string) {
	s.Helper()
	source := s.syncUntil(func(source *v1alpha1.ReleaseSource) error {
		condition := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionVerified)
		if condition == nil || condition.Status != metav1.ConditionFalse || condition.Reason != reason {
			return fmt.Errorf("want Verified false, %s, got %+v", reason, condition)
		}
		return nil
	})
	s.wantReady(source, v1alpha1.ReasonNotVerified, words...)
	if !source.Status.Unread || source.Status.ObservedCommit != observed {
		s.Errorf("want %s observed and the head unread, got %s and %t", observed, source.Status.ObservedCommit, source.Status.Unread)
	}
	s.wantImage("web", image)
}

func TestVerifiedCommits(t *testing.T) {
	s := newSigning(t)
	s.keys(s.lines("ada"))
	first := s.pushes(s.ada, "web:1")
	stop := s.controller(gitsync.Options{})
	s.source(byConfigMap)
	source := s.wantVerified(first, "web:1")
	if got := source.Status.Verified[0]; got.Signer != "ada@example.com" || !strings.HasPrefix(got.Key, "SHA256:") {
		t.Errorf("want the signer and key, got %+v", got)
	}

	bad := s.pushes(nil, "web:2")
	s.wantRefused(v1alpha1.ReasonNotSigned, first, "web:1", bad[:7], "not signed", "spec.verify.since to "+bad)
	s.pushes(s.ada, "web:3")
	s.wantRefused(v1alpha1.ReasonNotSigned, first, "web:1", bad[:7], "before the head")
	stop()
	s.controller(gitsync.Options{})
	s.wantRefused(v1alpha1.ReasonNotSigned, first, "web:1", bad[:7])

	s.change(func(source *v1alpha1.ReleaseSource) { source.Spec.Verify.Since = bad })
	head, err := s.repo.Git(nil, "rev-parse", gittest.Branch)
	if err != nil {
		t.Fatal(err)
	}
	s.wantVerified(head, "web:3")
	s.pushes(s.eve, "web:4")
	s.wantRefused(v1alpha1.ReasonKeyNotTrusted, head, "web:3", "not among the keys")
	if _, err := s.repo.Git(nil, "update-ref", "refs/heads/"+gittest.Branch, head); err != nil {
		t.Fatal(err)
	}
	s.wantVerified(head, "web:3")

	// An unsigned commit on one side of a signed merge.
	s.commit(gittest.Commit{Branch: "side", Parent: head, Files: app("web", "web:5")})
	s.commit(gittest.Commit{Parent: head, Merge: "side", Files: app("web", "web:5")})
	merge, err := s.repo.Sign(gittest.Branch, s.ada)
	if err != nil {
		t.Fatal(err)
	}
	s.wantRefused(v1alpha1.ReasonNotSigned, head, "web:3", "before the head "+merge[:7])
	s.change(func(source *v1alpha1.ReleaseSource) { source.Spec.Verify.Mode = v1alpha1.VerifyHead })
	s.wantVerified(merge, "web:5")
}

func TestKeyTakenAway(t *testing.T) {
	s := newSigning(t)
	s.keys(s.lines("ada", "eve"))
	first := s.pushes(s.ada, "web:1")
	s.controller(gitsync.Options{})
	s.source(byConfigMap)
	s.wantVerified(first, "web:1")
	second := s.pushes(s.eve, "web:2")
	s.wantVerified(second, "web:2")

	s.keys(s.lines("ada"))
	s.wantRefused(v1alpha1.ReasonKeyNotTrusted, second, "web:2", "not verified any more", "what runs stays")
	s.pushes(s.eve, "web:3")
	s.wantRefused(v1alpha1.ReasonKeyNotTrusted, second, "web:2")
	if _, err := s.repo.Git(nil, "update-ref", "refs/heads/"+gittest.Branch, second); err != nil {
		t.Fatal(err)
	}
	third := s.pushes(s.ada, "web:4")
	s.wantVerified(third, "web:4")

	for name, data := range map[string]map[string]string{
		"no keys": {}, "not readable": {"allowed_signers": "ada"}, "comments": {"allowed_signers": "# nobody\n"},
	} {
		s.keys(data)
		s.pushes(s.ada, "web:5 "+name)
		s.wantRefused(v1alpha1.ReasonKeysUnreadable, third, "web:4", "keys of spec.verify")
	}
	if err := s.Delete(s.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "signers"}}); err != nil {
		t.Fatal(err)
	}
	s.wantRefused(v1alpha1.ReasonKeysUnreadable, third, "web:4", `"signers" not found`)
}

func TestVerifyTurnedOn(t *testing.T) {
	s := newSigning(t)
	s.keys(s.lines("ada"))
	s.pushes(nil, "web:0")
	first := s.pushes(nil, "web:1")
	s.controller(gitsync.Options{})
	s.source(nil)
	s.wantReady(s.sync("shop"), v1alpha1.ReasonSynced)
	s.change(byConfigMap)
	source := s.wantVerified(first, "web:1")
	if got := source.Status.Verified[0]; got.Key != "" {
		t.Errorf("want the commit that runs taken as it is, got %+v", got)
	}
	second := s.pushes(s.ada, "web:2")
	s.wantVerified(second, "web:2")
	unsigned := s.pushes(nil, "web:3")
	s.wantRefused(v1alpha1.ReasonNotSigned, second, "web:2")

	s.change(func(source *v1alpha1.ReleaseSource) { source.Spec.Verify = nil })
	source = s.syncUntil(func(source *v1alpha1.ReleaseSource) error {
		if source.Status.ObservedCommit != unsigned {
			return fmt.Errorf("want %s observed, got %s", unsigned, source.Status.ObservedCommit)
		}
		return nil
	})
	if meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionVerified) != nil || source.Status.Verified != nil {
		t.Errorf("want nothing said of signatures, got %+v", source.Status)
	}
}

func TestKeysInTheRepository(t *testing.T) {
	s := newSigning(t)
	file := func(signers ...string) map[string]string {
		return map[string]string{".sluice/allowed_signers": s.lines(signers...)["allowed_signers"]}
	}
	first := s.pushes(s.ada, "web:1", file("ada"))
	stop := s.controller(gitsync.Options{})
	s.source(byFile)
	s.wantVerified(first, "web:1")

	// A commit can't add the key that it is signed with.
	s.pushes(s.eve, "web:2", file("ada", "eve"))
	s.wantRefused(v1alpha1.ReasonKeyNotTrusted, first, "web:1", "not among the keys")
	stop()
	stop = s.controller(gitsync.Options{})
	s.wantRefused(v1alpha1.ReasonKeyNotTrusted, first, "web:1", "not among the keys")
	reset := func(to string) {
		t.Helper()
		if _, err := s.repo.Git(nil, "update-ref", "refs/heads/"+gittest.Branch, to); err != nil {
			t.Fatal(err)
		}
	}
	reset(first)
	s.pushes(s.ada, "web:2", map[string]string{".sluice/allowed_signers": "nobody\n"})
	s.wantRefused(v1alpha1.ReasonKeysUnreadable, first, "web:1", "allowed_signers:1: want PRINCIPALS")
	reset(first)
	second := s.pushes(s.ada, "web:2", file("ada", "eve"))
	s.wantVerified(second, "web:2")
	third := s.pushes(s.eve, "web:3", file("eve"))
	s.wantVerified(third, "web:3")
	s.pushes(s.ada, "web:4", file("ada"))
	s.wantRefused(v1alpha1.ReasonKeyNotTrusted, third, "web:3")

	// Nor does an older commit bring back a key: not even while no process remembers the newer one.
	stop()
	reset(second)
	s.change(func(source *v1alpha1.ReleaseSource) { source.Spec.Prune = true })
	s.controller(gitsync.Options{})
	s.syncUntil(func(source *v1alpha1.ReleaseSource) error {
		ready := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.Reason != v1alpha1.ReasonHistoryRewrite || source.Status.ObservedCommit != third {
			return fmt.Errorf("want the older commit refused, got %+v", ready)
		}
		return nil
	})
	err := s.Create(s.Context(), &v1alpha1.ReleaseSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "other"},
		Spec:       v1alpha1.ReleaseSourceSpec{URL: s.url(), AllowRewrite: true, Verify: &v1alpha1.Verify{Keys: v1alpha1.VerifyKeys{File: "keys"}}},
	})
	if err == nil || !strings.Contains(err.Error(), "allowRewrite") {
		t.Errorf("want keys of a file with allowRewrite refused, got %v", err)
	}
}

// TestRewoundBranch: with allowRewrite, a branch may go back to a commit that was verified before.
// It counts only if its key still does.
func TestRewoundBranch(t *testing.T) {
	s := newSigning(t)
	s.keys(s.lines("ada", "eve"))
	first := s.pushes(s.ada, "web:1")
	s.controller(gitsync.Options{})
	s.source(func(source *v1alpha1.ReleaseSource) {
		byConfigMap(source)
		source.Spec.AllowRewrite = true
	})
	s.wantVerified(first, "web:1")
	second := s.pushes(s.eve, "web:2")
	s.wantVerified(second, "web:2")
	third := s.pushes(s.ada, "web:3")
	s.wantVerified(third, "web:3")
	s.keys(s.lines("ada"))
	for commit, counts := range map[string]bool{second: false, first: true} {
		if _, err := s.repo.Git(nil, "update-ref", "refs/heads/"+gittest.Branch, third); err != nil {
			t.Fatal(err)
		}
		s.wantVerified(third, "web:3")
		if _, err := s.repo.Git(nil, "update-ref", "refs/heads/"+gittest.Branch, commit); err != nil {
			t.Fatal(err)
		}
		if counts {
			s.wantVerified(commit, "web:1")
		} else {
			s.wantRefused(v1alpha1.ReasonKeyNotTrusted, third, "web:3", commit[:7])
		}
	}
}

// TestTooManyCommits: more commits than are checked at once are refused, until a person accepts
// them.
func TestTooManyCommits(t *testing.T) {
	s := newSigning(t)
	s.keys(s.lines("ada"))
	first := s.pushes(s.ada, "web:1")
	s.controller(gitsync.Options{})
	s.source(byConfigMap)
	s.wantVerified(first, "web:1")
	var stream bytes.Buffer
	for i := range 1001 {
		fmt.Fprintf(&stream, "commit refs/heads/%s\ncommitter Ada <ada@example.com> %d +0000\ndata 1\nx\n", gittest.Branch, 1750000000+i)
		if i == 0 {
			fmt.Fprintf(&stream, "from %s\n", first)
		}
	}
	if _, err := s.repo.Git(&stream, "fast-import", "--quiet"); err != nil {
		t.Fatal(err)
	}
	last := s.pushes(s.ada, "web:2")
	s.wantRefused(v1alpha1.ReasonTooManyCommits, first, "web:1", "more than 1000", "set spec.verify.since to "+last)
	s.change(func(source *v1alpha1.ReleaseSource) { source.Spec.Verify.Since = last })
	s.wantVerified(last, "web:2")
}

// TestMergeOfApprovalBringsNothingBack: a merge of the branch into an older commit leaves out what
// the branch has. It looks like the merge of an approval, and nobody signed it.
func TestMergeOfApprovalBringsNothingBack(t *testing.T) {
	for _, mode := range []v1alpha1.VerifyMode{v1alpha1.VerifyEvery, v1alpha1.VerifyHead} {
		t.Run(string(mode), func(t *testing.T) {
			s := newSigning(t)
			s.keys(s.lines("ada"))
			first := s.pushes(s.ada, "web:1")
			s.controller(gitsync.Options{})
			s.source(func(source *v1alpha1.ReleaseSource) {
				byConfigMap(source)
				source.Spec.Verify.Mode = mode
				source.Spec.Forge = &v1alpha1.Forge{Type: v1alpha1.ForgeGitea, BaseURL: "https://git.example.com", Owner: "example", Repo: "shop", SecretRef: v1alpha1.LocalReference{Name: "forge"}}
			})
			s.wantVerified(first, "web:1")
			second := s.pushes(s.ada, "web:2")
			s.wantVerified(second, "web:2")

			records := map[string]string{record.Path("shop", "web"): "nonce: a\n"}
			s.commit(gittest.Commit{Branch: "approval", Parent: second, Files: records})
			merged := s.commit(gittest.Commit{Parent: second, Merge: "approval", Files: records})
			s.wantVerified(merged, "web:2")
			back := s.commit(gittest.Commit{Parent: first, Merge: merged, Files: records})
			s.wantRefused(v1alpha1.ReasonNotSigned, merged, "web:2", back[:7])
		})
	}
}
