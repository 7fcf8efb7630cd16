package gitsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/verify"
	"github.com/sluice-dev/sluice/internal/plain"
)

const (
	// maxUnverified is how many commits are checked at once.
	maxUnverified = 1000
	// maxVerified is how many verified heads the status lists.
	maxVerified = 20
)

// verified is what is known of the commits of a source with spec.verify.
type verified struct {
	// heads that were verified, newest first.
	heads []v1alpha1.Verification
	// keys is the content of the file with keys at the first of heads.
	keys string
}

// verifiedOf returns what is known of the commits of a source. The cache may be behind the memory.
func verifiedOf(source *v1alpha1.ReleaseSource, m *memory) verified {
	if m.verified != nil {
		return *m.verified
	}
	return verified{heads: source.Status.Verified, keys: source.Status.VerifyKeys}
}

// unverified says why the head is not verified.
type unverified struct{ reason, message string }

// Error implements error.
func (u *unverified) Error() string { return u.message }

func notVerified(reason, format string, args ...any) outcome {
	return unread{cause: unsigned, err: &unverified{reason, fmt.Sprintf(format, args...)}}
}

// verify checks the signatures of what a head brings. The outcome is nil unless it is refused. Each
// pass checks the head with the keys of now: one that was taken away counts no more.
func (r *Reconciler) verify(ctx context.Context, source *v1alpha1.ReleaseSource, m *memory, repository gitrepo.Source, head *gitrepo.Snapshot) (outcome, error) {
	want := source.Spec.Verify
	if want == nil {
		m.verified, m.verify, m.object = nil, nil, gitrepo.Commit{}
		return nil, nil
	}
	object := head.Object()
	if object.Raw == nil {
		object = m.object
	}
	known := verifiedOf(source, m)
	if runs := m.runs(source); len(known.heads) == 0 && want.Keys.File == "" && runs != "" {
		known.heads = []v1alpha1.Verification{{Commit: runs, At: metav1.NewTime(r.clock.Now())}}
	}
	next := known
	problem, err := r.verifyHead(ctx, source, repository, head, object, &next)
	if err != nil || problem != nil {
		return problem, err
	}
	m.verified, m.verify, m.object = &next, want, object
	return nil, nil
}

// runs returns the commit that is in the cluster; empty if there is none.
func (m *memory) runs(source *v1alpha1.ReleaseSource) string {
	if m.followed == branchOf(source) && m.commit != "" {
		return m.commit
	}
	return source.Status.ObservedCommit
}

// verifyHead checks a head and what came before it, and adds it to the heads that are known.
func (r *Reconciler) verifyHead(
	ctx context.Context, source *v1alpha1.ReleaseSource, repository gitrepo.Source, head *gitrepo.Snapshot, object gitrepo.Commit, known *verified,
) (outcome, error) {
	want := source.Spec.Verify
	files, problem, err := r.keyFiles(ctx, source, known.keys)
	if err != nil || problem != nil {
		return problem, err
	}
	made := v1alpha1.Verification{Commit: head.Commit, At: metav1.NewTime(r.clock.Now())}
	if !takenAsItIs(want, known, head.Commit) {
		keys, err := verify.Read(files)
		if err != nil {
			return notVerified(v1alpha1.ReasonKeysUnreadable, "commit %s is not verified: read the keys of spec.verify: %v", plain.Commit(head.Commit), err), nil
		}
		by, problem, err := r.checkAll(ctx, want, keys, repository, head, object, known)
		if err != nil || problem != nil {
			return problem, err
		}
		made.Key, made.Signer = by.Key, plain.UpTo(plain.Line(by.Principal), 200)
	}
	if len(known.heads) > 0 && known.heads[0].Commit == head.Commit && head.FS() == nil {
		return nil, nil
	}
	if known.keys, err = keysIn(head, want.Keys.File); err != nil {
		return notVerified(v1alpha1.ReasonKeysUnreadable, "commit %s is not verified: read %s in it, which spec.verify.keys.file names: %v; "+
			"correct the file and push again", plain.Commit(head.Commit), want.Keys.File, err), nil
	}
	known.add(made)
	return nil, nil
}

// add puts a head before those that are known.
func (v *verified) add(made v1alpha1.Verification) {
	if len(v.heads) > 0 && v.heads[0].Commit == made.Commit {
		if made.Key == v.heads[0].Key {
			return
		}
		v.heads = v.heads[1:]
	}
	v.heads = append([]v1alpha1.Verification{made}, v.heads[:min(len(v.heads), maxVerified-1)]...)
}

// takenAsItIs reports whether a head needs no signature: it was released before spec.verify was set,
// or spec.verify.since names it, or it brings the first keys.
func takenAsItIs(want *v1alpha1.Verify, known *verified, head string) bool {
	switch {
	case head == want.Since, want.Keys.File != "" && known.keys == "":
		return true
	case len(known.heads) == 0:
		return false
	}
	return known.heads[0].Commit == head && known.heads[0].Key == ""
}

// checkAll checks a head, and with it the commits before it that must be signed: the oldest first.
func (r *Reconciler) checkAll(
	ctx context.Context, want *v1alpha1.Verify, keys *verify.Keys, repository gitrepo.Source, head *gitrepo.Snapshot, object gitrepo.Commit, known *verified,
) (verify.Signer, outcome, error) {
	commits := []gitrepo.Commit{object}
	if from := known.before(want); want.Mode != v1alpha1.VerifyHead && len(from) > 0 && from[0] != head.Commit {
		more, err := r.git.Commits(ctx, repository, head, from, maxUnverified)
		switch {
		case gitrepo.KindOf(err) == gitrepo.LimitExceeded:
			return verify.Signer{}, notVerified(v1alpha1.ReasonTooManyCommits, "commit %s is not verified: %v, since %s; "+
				"check them with git log --show-signature, and set spec.verify.since to %s", plain.Commit(head.Commit), err, plain.Commit(from[0]), head.Commit), nil
		case err != nil:
			problem, err := readFailed(ctx, err)
			return verify.Signer{}, problem, err
		case len(more) > 0: // else the branch went back
			commits = more
		}
	}
	var by verify.Signer
	for _, commit := range slices.Backward(commits) {
		var err error
		if by, err = keys.Check(verify.Commit{Name: commit.Name, Raw: commit.Raw}, r.clock.Now()); err != nil {
			return by, refusedBy(err, head.Commit, known), nil
		}
	}
	return by, nil, nil
}

// before returns the commits that count as verified, with all before them.
func (v *verified) before(want *v1alpha1.Verify) []string {
	var from []string
	for _, head := range v.heads {
		from = append(from, head.Commit)
	}
	if want.Since != "" && !slices.Contains(from, want.Since) {
		from = append(from, want.Since)
	}
	return from
}

// refusedBy returns the outcome of a commit that was refused, with what to do.
func refusedBy(err error, head string, known *verified) outcome {
	refusal, is := errors.AsType[*verify.Refusal](err)
	if !is {
		return notVerified(v1alpha1.ReasonSignatureInvalid, "%v", err)
	}
	reason, remedy := v1alpha1.ReasonSignatureInvalid, "sign it and push it again"
	switch refusal.Cause {
	case verify.NotSigned:
		reason = v1alpha1.ReasonNotSigned
	case verify.NotTrusted:
		reason, remedy = v1alpha1.ReasonKeyNotTrusted, "sign it with a key that counts and push it again"
	case verify.NeedsMerge:
		reason, remedy = v1alpha1.ReasonSignedByForge, "merge with git merge -S and push that"
	case verify.Invalid:
	}
	if len(known.heads) > 0 && refusal.Commit == known.heads[0].Commit {
		return notVerified(reason, "commit %s is not verified any more: %s; what runs stays, and nothing more of it is applied: push a commit on top that is signed with a key that counts",
			plain.Commit(refusal.Commit), refusal.Why)
	}
	of := ""
	if refusal.Commit != head {
		of = " before the head " + plain.Commit(head)
	}
	return notVerified(reason, "commit %s%s is not verified: %s; %s, or set spec.verify.since to %s to accept it and all before it",
		plain.Commit(refusal.Commit), of, refusal.Why, remedy, refusal.Commit)
}

// keyFiles returns the keys that count now, by the names of their entries. The outcome is nil unless
// they can't be had.
func (r *Reconciler) keyFiles(ctx context.Context, source *v1alpha1.ReleaseSource, file string) (map[string][]byte, outcome, error) {
	from := source.Spec.Verify.Keys
	files := map[string][]byte{}
	var err error
	switch {
	case from.SecretRef != nil:
		var secret corev1.Secret
		err = r.live.Get(ctx, client.ObjectKey{Namespace: source.Namespace, Name: from.SecretRef.Name}, &secret)
		files = secret.Data
	case from.ConfigMapRef != nil:
		var configMap corev1.ConfigMap
		err = r.live.Get(ctx, client.ObjectKey{Namespace: source.Namespace, Name: from.ConfigMapRef.Name}, &configMap)
		for name, text := range configMap.Data {
			files[name] = []byte(text)
		}
	default:
		files[path.Base(from.File)] = []byte(file)
	}
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, notVerified(v1alpha1.ReasonKeysUnreadable, "read the keys of spec.verify: %v; create it, or name another", err), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read the keys of spec.verify: %w", err)
	}
	return files, nil, nil
}

// keysIn returns the content of the file with keys in a commit; empty if there is no such file to
// read. The keys must be readable: nothing could be verified with others.
func keysIn(head *gitrepo.Snapshot, file string) (string, error) {
	if file == "" {
		return "", nil
	}
	name := keyPath(file)
	info, err := fs.Stat(head.FS(), name)
	switch {
	case err != nil:
		return "", err
	case !info.Mode().IsRegular() || info.Size() > verify.MaxKeys:
		return "", fmt.Errorf("want a regular file of at most %d bytes", verify.MaxKeys)
	}
	text, err := fs.ReadFile(head.FS(), name)
	if err != nil {
		return "", err
	}
	_, err = verify.Read(map[string][]byte{path.Base(name): text})
	return string(text), err
}

func keyPath(file string) string { return path.Clean(strings.TrimLeft(file, "/")) }

// readsKeys returns which files are read of a repository: those that are released, and the file with
// keys.
func readsKeys(source *v1alpha1.ReleaseSource, reads func(string) bool) func(string) bool {
	if source.Spec.Verify == nil || source.Spec.Verify.Keys.File == "" {
		return reads
	}
	keys := keyPath(source.Spec.Verify.Keys.File)
	return func(file string) bool { return file == keys || reads(file) }
}
