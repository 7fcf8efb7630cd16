package journeys

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
	"github.com/sluice-dev/sluice/internal/testbed/gittest"
)

// signedWorld is a world whose commits are signed.
type signedWorld struct {
	*forgeWorld
	folder string
	keys   map[string]*gittest.Signer
}

// sign clones the repository, and makes keys for people.
func (w *forgeWorld) sign(people ...string) *signedWorld {
	w.Helper()
	s := &signedWorld{forgeWorld: w, keys: map[string]*gittest.Signer{}}
	for _, name := range people {
		key, err := gittest.NewSigner(w.TempDir(), name)
		if err != nil {
			w.Fatal(err)
		}
		s.keys[name] = key
	}
	return s
}

func (s *signedWorld) lines(people ...string) string {
	var lines string
	for _, name := range people {
		lines += name + "@example.com " + s.keys[name].Public + "\n"
	}
	return lines
}

// signs pushes a commit with files, signed by a person; by nobody if the name is empty. It returns
// the commit.
func (s *signedWorld) signs(by string, files map[string]string) string {
	s.Helper()
	if s.folder == "" {
		s.folder = s.clone()
	}
	s.git(s.folder, "pull", "--quiet", "--ff-only")
	made := s.commits(by, files)
	s.git(s.folder, "push", "--quiet", "origin", "main")
	return made
}

// commits makes a commit in the clone, and pushes nothing.
func (s *signedWorld) commits(by string, files map[string]string) string {
	s.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(s.folder, name)), 0o755); err != nil {
			s.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(s.folder, name), []byte(text), 0o600); err != nil {
			s.Fatal(err)
		}
	}
	s.git(s.folder, "add", ".")
	args := []string{"commit", "--quiet", "--allow-empty", "-m", "Change"}
	if by != "" {
		args = append([]string{"-c", "gpg.format=ssh", "-c", "user.signingkey=" + s.keys[by].File}, append(args, "-S")...)
	}
	s.git(s.folder, args...)
	return strings.TrimSpace(s.git(s.folder, "rev-parse", "HEAD"))
}

func (s *signedWorld) image(image string) map[string]string {
	return map[string]string{"web.yaml": string(s.file(image))}
}

// awaitVerified waits until the source says that of the head.
func (w *forgeWorld) awaitVerified(is metav1.ConditionStatus, reason string, says ...string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		source := &v1alpha1.ReleaseSource{}
		if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "shop"}, source); err != nil {
			return err
		}
		c := meta.FindStatusCondition(source.Status.Conditions, v1alpha1.ConditionVerified)
		if c == nil || c.Status != is || c.Reason != reason {
			return fmt.Errorf("want Verified %s, %s, got %+v", is, reason, c)
		}
		for _, words := range says {
			if !strings.Contains(c.Message, words) {
				return fmt.Errorf("want %q in %q", words, c.Message)
			}
		}
		return nil
	})
}

// editSource changes the source.
func (w *forgeWorld) editSource(patch string) {
	w.Helper()
	w.edit(named[v1alpha1.ReleaseSource]("shop"), mergePatch(patch), "kubectl-edit")
}

// TestSignedCommits: with spec.verify a signed commit is released, and an unsigned one moves
// nothing. A key that is taken away stops the next commit. The release in progress stays, and can
// be rolled back.
func TestSignedCommits(t *testing.T) {
	w := newForgeWorld(t, step(1), step("100%"))
	s := w.sign("ada", "eve")
	signers := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "signers"}, Data: map[string]string{"allowed_signers": s.lines("ada")}}
	w.create(signers)
	w.startWithForge(time.Second)
	w.editSource(`{"spec":{"verify":{"keys":{"configMapRef":{"name":"signers"}}}}}`)
	w.awaitVerified(metav1.ConditionTrue, v1alpha1.ReasonCommitVerified, "taken as it is")

	good := s.signs("ada", s.image("web:2"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 9, "web:2": 1})))
	w.awaitVerified(metav1.ConditionTrue, v1alpha1.ReasonCommitVerified, good[:7], "ada@example.com", "SHA256:")
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
	before := w.now().uids()

	bad := s.signs("", s.image("web:3"))
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonNotSigned, bad[:7], "not signed", "spec.verify.since")
	s.git(s.folder, "reset", "--quiet", "--hard", good)
	s.git(s.folder, "push", "--quiet", "--force", "origin", "main")
	w.awaitVerified(metav1.ConditionTrue, v1alpha1.ReasonCommitVerified, good[:7])
	s.signs("eve", s.image("web:3"))
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonKeyNotTrusted, "not among the keys")
	w.wantSamePods(before)
	if err := web.serves("web:2", 10)(w.now()); err != nil {
		t.Errorf("a commit that is not verified has moved pods: %v", err)
	}
	s.git(s.folder, "reset", "--quiet", "--hard", good)
	s.git(s.folder, "push", "--quiet", "--force", "origin", "main")

	s.signs("ada", s.image("web:4"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 9, "web:4": 1})))
	w.edit(named[corev1.ConfigMap]("signers"), mergePatch(fmt.Sprintf(`{"data":{"allowed_signers":%q}}`, s.lines("eve"))), "kubectl-edit")
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonKeyNotTrusted, "not verified any more")
	s.signs("ada", s.image("web:5"))
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonKeyNotTrusted, "set spec.verify.since")
	if err := web.runs(pods{"web:2": 9, "web:4": 1})(w.now()); err != nil {
		t.Errorf("what runs did not stay: %v", err)
	}
	w.rollBack()
	w.await(all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:2", 10)))
}

// TestUnsignedApproval: the forge does not sign the merge of an approval, and need not: it brings a
// record alone. A merge that hides an unsigned commit is refused, though it changes no file. So is
// an unsigned commit that brings a record and more. Once the key is taken away the merge counts no
// more than what it was merged onto.
func TestUnsignedApproval(t *testing.T) {
	w := newForgeWorld(t, step(1, pullRequest(v1alpha1.PullRequestGate{})), step("100%"))
	s := w.sign("ada")
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "signers"}, Data: map[string]string{"allowed_signers": s.lines("ada")}})
	c := w.startWithForge(time.Second)
	w.editSource(`{"spec":{"verify":{"keys":{"configMapRef":{"name":"signers"}}}}}`)
	w.awaitVerified(metav1.ConditionTrue, v1alpha1.ReasonCommitVerified)
	s.signs("ada", s.image("web:2"))
	number := w.awaitPull(0)
	merged := w.as("grace").Merge(number, "merge")
	w.await(all(web.completed, web.serves("web:2", 10)))
	w.awaitVerified(metav1.ConditionTrue, v1alpha1.ReasonCommitVerified, merged[:7], "ada@example.com")

	s.git(s.folder, "pull", "--quiet", "--ff-only")
	evil := s.commits("", s.image("web:evil"))
	s.git(s.folder, "reset", "--quiet", "--hard", "HEAD~1")
	s.git(s.folder, "merge", "--quiet", "--no-ff", "-s", "ours", "-m", "Hide it", evil)
	s.git(s.folder, "push", "--quiet", "origin", "main")
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonNotSigned, evil[:7]+" before the head")
	s.git(s.folder, "reset", "--quiet", "--hard", merged)
	files := s.image("web:evil")
	files[".sluice/approvals/shop/web.yaml"] = "x"
	s.commits("", files)
	s.git(s.folder, "push", "--quiet", "--force", "origin", "main")
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonNotSigned, "not signed")
	s.git(s.folder, "reset", "--quiet", "--hard", merged)
	s.git(s.folder, "push", "--quiet", "--force", "origin", "main")
	w.awaitVerified(metav1.ConditionTrue, v1alpha1.ReasonCommitVerified, merged[:7])
	if err := web.serves("web:2", 10)(w.now()); err != nil {
		t.Errorf("a commit that is not verified has moved pods: %v", err)
	}

	c.kill()
	w.startController()
	w.edit(named[corev1.ConfigMap]("signers"), mergePatch(fmt.Sprintf(`{"data":{"allowed_signers":%q}}`, s.otherLine())), "kubectl-edit")
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonKeyNotTrusted, "not among the keys")
}

// otherLine returns the line of somebody who has signed nothing.
func (s *signedWorld) otherLine() string {
	s.Helper()
	key, err := gittest.NewSigner(s.TempDir(), "other")
	if err != nil {
		s.Fatal(err)
	}
	return "other@example.com " + key.Public + "\n"
}

// TestKeysOfTheRepository: a commit can't bring the key that it is signed with.
func TestKeysOfTheRepository(t *testing.T) {
	w := &forgeWorld{world: newWorld(t)}
	w.file = w.deploymentFile
	s := w.sign("ada", "eve")
	const file = ".sluice/allowed_signers"
	w.startForgeWith(fstest.MapFS{
		"web.yaml": {Data: w.file("web:1")}, "release.yaml": {Data: releaseFile("Deployment", []v1alpha1.Step{step(1), step("100%")})},
		file: {Data: []byte(s.lines("ada"))},
	})
	w.startWithForge(time.Second, func(source *v1alpha1.ReleaseSource) {
		source.Spec.Verify = &v1alpha1.Verify{Keys: v1alpha1.VerifyKeys{File: file}}
	})
	seed := strings.TrimSpace(w.git(w.clone(), "rev-parse", "HEAD"))
	files := s.image("web:2")
	files[file] = s.lines("ada", "eve")
	s.signs("eve", files)
	w.awaitVerified(metav1.ConditionFalse, v1alpha1.ReasonKeyNotTrusted, "not among the keys")
	if err := web.serves("web:1", 10)(w.now()); err != nil {
		t.Errorf("a commit with a key of its own has moved pods: %v", err)
	}
	s.git(s.folder, "reset", "--quiet", "--hard", seed)
	s.git(s.folder, "push", "--quiet", "--force", "origin", "main")
	s.signs("ada", files)
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 9, "web:2": 1})))
	w.confirm("web")
	w.await(all(web.completed, web.serves("web:2", 10)))
	s.signs("eve", s.image("web:3"))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:2": 9, "web:3": 1})))
}
