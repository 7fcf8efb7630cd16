package gitsync

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/gitsync/gitrepo"
	"github.com/sluice-dev/sluice/gitsync/verify"
	"github.com/sluice-dev/sluice/internal/plain"
)

const (
	// maxUnverified limits the commits of one check.
	maxUnverified = 1000
	// maxVerified limits the verified heads in the status.
	maxVerified = 20
)

// verified lists the verified heads of a source with spec.verify.
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

// unverifiedError says why a head is not verified.
type unverifiedError struct{ reason, message string }

// Error implements error.
func (u *unverifiedError) Error() string { return u.message }

func notVerified(reason, format string, args ...any) error {
	return &unverifiedError{reason, fmt.Sprintf(format, args...)}
}

// verify checks the signatures of what a head brings. The outcome is nil unless it is refused. Each
// pass checks the head with the keys of now: one that was taken away counts no more.
func (r *Reconciler) verify(ctx context.Context, source *v1alpha1.ReleaseSource, m *memory, repository gitrepo.Source, head *gitrepo.Snapshot) (outcome, error) {
	want := source.Spec.Verify
	if want == nil {
		m.verified, m.verify, m.object = nil, nil, gitrepo.Commit{}
		return nil, nil
	}
	c := claim{want: want, known: verifiedOf(source, m), name: head.Commit, head: head.Object(), now: r.clock.Now()}
	if c.head.Raw == nil {
		c.head = m.object
	}
	if runs := m.runs(source); len(c.known.heads) == 0 && want.Keys.File == "" && runs != "" {
		c.known.heads = []v1alpha1.Verification{{Commit: runs, At: metav1.NewTime(c.now)}}
	}
	next, err := r.settle(ctx, source, repository, head, &c)
	switch _, refused := errors.AsType[*unverifiedError](err); {
	case refused:
		return unread{cause: unsigned, err: err}, nil
	case gitrepo.KindOf(err) != "":
		return readFailed(ctx, err)
	case err != nil:
		return nil, err
	}
	m.verified, m.verify, m.object = &next, want, c.head
	return nil, nil
}

// settle reads what a claim is checked with, and returns what is known once it holds.
func (r *Reconciler) settle(ctx context.Context, source *v1alpha1.ReleaseSource, repository gitrepo.Source, head *gitrepo.Snapshot, c *claim) (verified, error) {
	keys, err := r.keysOf(ctx, source, c.known.keys)
	if err != nil {
		return verified{}, err
	}
	made := v1alpha1.Verification{Commit: head.Commit, At: metav1.NewTime(c.now)}
	if !c.takenAsItIs() {
		by, err := r.signer(ctx, source, repository, head, c, keys)
		if err != nil {
			return verified{}, err
		}
		made.Key, made.Signer = by.Key, plain.UpTo(plain.Line(by.Principal), 200)
	}
	known := c.known
	if len(known.heads) > 0 && known.heads[0].Commit == head.Commit && head.FS() == nil {
		return known, nil
	}
	if known.keys, err = keysIn(head, c.want.Keys.File); err != nil {
		return verified{}, notVerified(v1alpha1.ReasonKeysUnreadable, "commit %s is not verified: read %s in it, which spec.verify.keys.file names: %v; "+
			"correct the file and push again", plain.Commit(head.Commit), c.want.Keys.File, err)
	}
	known.add(made)
	return known, nil
}

// signer returns who signed the head, if all commits are signed that must be. Where a forge says
// who approved, commits that bring nothing but records of approvals need no signature: the forge
// makes them, and gates judge them. Of a head that is one the commit beneath counts.
//
//nolint:revive // what is read, and what it is checked with
func (r *Reconciler) signer(ctx context.Context, source *v1alpha1.ReleaseSource, repository gitrepo.Source, head *gitrepo.Snapshot, c *claim, keys *verify.Keys) (verify.Signer, error) {
	commits := []gitrepo.Commit{c.head}
	if from := c.since(); len(from) > 0 {
		var err error
		if commits, err = r.commitsSince(ctx, repository, head, *c, from); err != nil {
			return verify.Signer{}, err
		}
	}
	by, err := c.check(keys, commits)
	if err == nil || head.FS() == nil || !recordsApart(source) {
		return by, err
	}
	aside, problem := r.git.Aside(ctx, repository, head, commits, record.Folder)
	if gitrepo.KindOf(problem) == gitrepo.LimitExceeded {
		return by, err
	}
	if problem != nil {
		return by, problem
	}
	commits = slices.DeleteFunc(commits, func(commit gitrepo.Commit) bool { return aside.Commits[commit.Name] })
	if aside.Commits[c.name] {
		c.head = aside.Beneath
		if known := c.known.heads; len(known) > 0 && known[0].Commit == c.head.Name && known[0].Key == "" || c.head.Name == c.want.Since {
			_, err := c.check(keys, commits)
			return verify.Signer{}, err
		}
		commits = append([]gitrepo.Commit{c.head}, slices.DeleteFunc(commits, func(commit gitrepo.Commit) bool { return commit.Name == c.head.Name })...)
	}
	return c.check(keys, commits)
}

// recordsApart reports whether the records of approvals are judged by a forge, and are nothing
// else: neither keys nor what the source applies.
func recordsApart(source *v1alpha1.ReleaseSource) bool {
	within := func(name string) bool { return strings.HasPrefix(path.Clean("/"+name)+"/", "/"+record.Folder+"/") }
	return source.Spec.Forge != nil && !within(source.Spec.Verify.Keys.File) && !within(source.Spec.Path)
}

// commitsSince returns the commits that must be signed, the head first.
func (r *Reconciler) commitsSince(ctx context.Context, repository gitrepo.Source, head *gitrepo.Snapshot, c claim, from []string) ([]gitrepo.Commit, error) {
	commits, err := r.git.Commits(ctx, repository, head, from, maxUnverified)
	if gitrepo.KindOf(err) == gitrepo.LimitExceeded {
		return nil, notVerified(v1alpha1.ReasonTooManyCommits, "commit %s is not verified: %v, since %s; "+
			"check them with git log --show-signature, and set spec.verify.since to %s", plain.Commit(head.Commit), err, plain.Commit(from[0]), head.Commit)
	}
	if err == nil && len(commits) == 0 { // the branch went back
		commits = []gitrepo.Commit{c.head}
	}
	return commits, err
}

// runs returns the commit that is in the cluster; empty if there is none.
func (m *memory) runs(source *v1alpha1.ReleaseSource) string {
	if m.followed == branchOf(source) && m.commit != "" {
		return m.commit
	}
	return source.Status.ObservedCommit
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

// claim holds a head to check, and the rules for it.
type claim struct {
	want  *v1alpha1.Verify
	known verified
	// name names the head of the branch. head is the commit whose signature counts for it.
	name string
	head gitrepo.Commit
	now  time.Time
}

// takenAsItIs reports whether the head needs no signature: it was released before spec.verify was
// set, or spec.verify.since names it, or it brings the first keys.
func (c claim) takenAsItIs() bool {
	switch {
	case c.name == c.want.Since, c.want.Keys.File != "" && c.known.keys == "":
		return true
	case len(c.known.heads) == 0:
		return false
	}
	return c.known.heads[0].Commit == c.name && c.known.heads[0].Key == ""
}

// since returns the commits that count as verified, with all before them, if others must be signed
// than the head. The newest is first.
func (c claim) since() []string {
	if c.want.Mode == v1alpha1.VerifyHead || len(c.known.heads) > 0 && c.known.heads[0].Commit == c.name {
		return nil
	}
	var from []string
	for _, head := range c.known.heads {
		from = append(from, head.Commit)
	}
	if c.want.Since != "" && !slices.Contains(from, c.want.Since) {
		from = append(from, c.want.Since)
	}
	return from
}

// check returns the signer of the head, the first of some commits, if all of them are signed. The
// error names the oldest that is not.
func (c claim) check(keys *verify.Keys, commits []gitrepo.Commit) (by verify.Signer, err error) {
	for _, commit := range slices.Backward(commits) {
		if by, err = keys.Check(verify.Commit(commit), c.now); err != nil {
			return by, c.refused(err)
		}
	}
	return by, nil
}

// refused says why a commit is refused, and what to do.
func (c claim) refused(err error) error {
	refused, is := errors.AsType[*verify.RefusedError](err)
	if !is {
		return notVerified(v1alpha1.ReasonSignatureInvalid, "%v", err)
	}
	reason, remedy := v1alpha1.ReasonSignatureInvalid, "sign it and push it again"
	switch refused.Cause {
	case verify.NotSigned:
		reason = v1alpha1.ReasonNotSigned
	case verify.NotTrusted:
		reason, remedy = v1alpha1.ReasonKeyNotTrusted, "sign it with a key that counts and push it again"
	case verify.NeedsMerge:
		reason, remedy = v1alpha1.ReasonSignedByForge, "merge with git merge -S and push that"
	case verify.Invalid:
	}
	commit := plain.Commit(refused.Commit)
	switch {
	case len(c.known.heads) > 0 && c.name == c.known.heads[0].Commit && refused.Commit == c.head.Name:
		return notVerified(reason, "commit %s is not verified any more: %s; what runs stays, and nothing more of it is applied: "+
			"push a commit on top that is signed with a key that counts", commit, refused.Why)
	case refused.Commit != c.name:
		commit += " before the head " + plain.Commit(c.name)
	}
	return notVerified(reason, "commit %s is not verified: %s; %s, or set spec.verify.since to %s to accept it and all before it",
		commit, refused.Why, remedy, refused.Commit)
}
