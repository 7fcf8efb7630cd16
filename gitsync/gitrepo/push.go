package gitrepo

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp/capability"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
	gitmemory "github.com/go-git/go-git/v5/storage/memory"

	"github.com/sluice-dev/sluice/forge"
)

// Head returns the last commit of a branch of a forge's repository.
func (r *Reader) Head(ctx context.Context, at forge.Remote, branch string) (forge.Head, error) {
	head, err := r.tracked(ctx, at, branch)
	if err != nil {
		return forge.Head{}, err
	}
	defer head.Close()
	found := forge.Head{Tip: forge.Tip{Commit: head.Commit, Tree: head.Tree}}
	for _, parent := range head.parents {
		found.Parents = append(found.Parents, parent.String())
	}
	return found, nil
}

// tracked returns the head of a branch, with its folders.
func (r *Reader) tracked(ctx context.Context, at forge.Remote, branch string) (*Snapshot, error) {
	src := sourceOf(at, branch)
	src.Folders, src.Reads = true, func(string) bool { return false }
	return r.Read(ctx, src, Known{})
}

// sourceOf returns a repository of a forge as a source. Its requests count for the server: a slow
// one delays the others to it.
func sourceOf(at forge.Remote, branch string) Source {
	auth := Auth{Username: at.User, Password: at.Password, CABundle: at.CABundle}
	src := Source{URL: at.URL, Branch: branch, Auth: auth, Timeout: at.Timeout}
	src.Caller.Tenant = "forge " + src.Host()
	return src
}

// Push makes a branch with its commit, in one request after the ones that read the tracked branch.
// It writes nothing if the tracked branch is not at the commit that is given, or if the branch is
// not where it is to be moved from.
func (r *Reader) Push(ctx context.Context, at forge.Remote, p forge.NewBranch) (forge.MadeBranch, error) {
	head, err := r.tracked(ctx, at, p.Change.Base)
	if err != nil {
		return forge.MadeBranch{}, err
	}
	defer head.Close()
	if p.Change.Tip != "" && head.Commit != p.Change.Tip {
		return forge.MadeBranch{}, conflict("branch %s is at %s, not at %s", p.Change.Base, head.Commit, p.Change.Tip)
	}
	sent, err := newCommit(head, p)
	if err != nil {
		return forge.MadeBranch{}, err
	}
	made := forge.MadeBranch{Tip: forge.Tip{Commit: sent.commit.String(), Tree: sent.tree.String()}, Parent: head.Commit}
	command := &packp.Command{Name: plumbing.NewBranchReferenceName(p.Change.Branch), Old: plumbing.NewHash(p.Over), New: sent.commit}
	refused := r.move(ctx, at, command, sent.pack)
	if KindOf(refused) != Refused {
		return made, refused
	}
	standing, err := r.standing(ctx, at, command.Name)
	switch {
	case err != nil:
		return made, err
	case standing == "":
		return made, refused
	case standing != made.Commit: // else an earlier push made it, the answer to which was lost
		made.Standing = standing
	}
	return made, nil
}

// conflict says that a branch is not as a push needs it.
func conflict(format string, args ...any) error {
	return &forge.Error{Kind: forge.Conflict, Message: fmt.Sprintf(format, args...)}
}

// Remove removes a branch that stands at a commit; one that is gone is removed. Without a commit it
// looks where the branch stands.
func (r *Reader) Remove(ctx context.Context, at forge.Remote, branch, commit string) error {
	name := plumbing.NewBranchReferenceName(branch)
	for range 2 {
		if commit == "" {
			var err error
			if commit, err = r.standing(ctx, at, name); err != nil || commit == "" {
				return err
			}
		}
		command := &packp.Command{Name: name, Old: plumbing.NewHash(commit)}
		err := r.move(ctx, at, command, nil)
		if KindOf(err) != Refused {
			return err
		}
		standing, problem := r.standing(ctx, at, name)
		if problem != nil || standing == "" {
			return problem
		}
		if standing == commit {
			return err
		}
		commit = standing
	}
	return newError(Refused, "branch %s is moved again and again", branch)
}

// Append makes a commit with one file and nothing else on top of a ref, which it makes if there is
// none. If the ref moves meanwhile, the error is of kind Conflict.
func (r *Reader) Append(ctx context.Context, at forge.Remote, file forge.AppendedFile) error {
	name := plumbing.ReferenceName(file.Ref)
	standing, err := r.standing(ctx, at, name)
	if err != nil {
		return err
	}
	var parents []plumbing.Hash
	if standing != "" {
		parents = append(parents, plumbing.NewHash(standing))
	}
	change := change{path: file.Path, content: file.Content, message: file.Message, by: file.Author, parents: parents}
	sent, err := change.onTop(nil)
	if err != nil {
		return err
	}
	refused := r.move(ctx, at, &packp.Command{Name: name, Old: plumbing.NewHash(standing), New: sent.commit}, sent.pack)
	if KindOf(refused) != Refused {
		return refused
	}
	now, err := r.standing(ctx, at, name)
	if err == nil && now != standing {
		err = conflict("%s has moved from %s to %s", file.Ref, standing, now)
	}
	return cmp.Or(err, refused)
}

// standing returns the commit of a ref; empty if there is no such ref.
func (r *Reader) standing(ctx context.Context, at forge.Remote, ref plumbing.ReferenceName) (string, error) {
	found := ""
	err := r.onServer(ctx, at, ref, func(ctx context.Context, c *httpConnector, m *meter) error {
		s, err := c.open(ctx, m)
		if err != nil {
			return err
		}
		defer s.Close()
		refs, err := s.AdvertisedReferencesContext(ctx)
		if err != nil {
			return err
		}
		if hash, is := refs.References[m.branch.String()]; is {
			found = hash.String()
		}
		return nil
	})
	return found, err
}

// move has the server move a branch, if it stands where the command says. A server that does not is
// an error of kind Refused.
func (r *Reader) move(ctx context.Context, at forge.Remote, command *packp.Command, pack []byte) error {
	return r.onServer(ctx, at, command.Name, func(ctx context.Context, c *httpConnector, m *meter) error {
		endpoint := *c.endpoint
		s, err := githttp.NewClient(c.client(m)).NewReceivePackSession(&endpoint, c.auth)
		if err != nil {
			return err
		}
		defer s.Close()
		req := packp.NewReferenceUpdateRequest()
		_ = req.Capabilities.Set(capability.ReportStatus) // it takes no arguments: it can't fail
		_ = req.Capabilities.Set(capability.Agent, capability.DefaultAgent())
		req.Commands = []*packp.Command{command}
		if pack != nil {
			req.Packfile = io.NopCloser(bytes.NewReader(pack))
		}
		report, err := s.ReceivePack(ctx, req)
		switch {
		case report == nil && err == nil:
			return newError(Protocol, "the server does not say what became of the push")
		case report != nil && err != nil:
			return newError(Refused, "the server refuses to move branch %s: %s", command.Name.Short(), clean(err.Error()))
		case err == nil && len(report.CommandStatuses) != 1:
			return newError(Protocol, "the server does not say what became of branch %s", command.Name.Short())
		}
		return err
	})
}

// onServer runs one request about a ref, with what it takes of connections and time.
func (r *Reader) onServer(ctx context.Context, at forge.Remote, ref plumbing.ReferenceName, step func(context.Context, *httpConnector, *meter) error) error {
	src := sourceOf(at, ref.Short())
	opened, err := newConnector(src, r.opts)
	if err != nil {
		return src.Auth.explain(err)
	}
	c, is := opened.(*httpConnector)
	if !is {
		return newError(Invalid, "a push needs an address that starts with https://")
	}
	release, err := r.polls.Acquire(ctx, src.Caller, src.Host())
	if err != nil {
		return err
	}
	defer release()
	m := &meter{limits: r.opts.Limits, branch: ref}
	timeout := src.timeout()
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return src.Auth.explain(classify(within, m.explain(step(within, c, m)), timeout))
}

// newObjects holds the objects that a push sends.
type newObjects struct {
	storage      *gitmemory.Storage
	hashes       []plumbing.Hash
	commit, tree plumbing.Hash
	pack         []byte
}

// newCommit makes a commit on top of another that changes one file.
func newCommit(on *Snapshot, p forge.NewBranch) (*newObjects, error) {
	change := change{path: p.Change.Path, content: p.Change.Content, message: p.Change.Message, by: p.Author, parents: []plumbing.Hash{on.hash}}
	made, err := change.onTop(on.root)
	if err == nil && made.tree.String() == on.Tree {
		err = conflict("branch %s holds this %s already", p.Change.Base, p.Change.Path)
	}
	return made, err
}

// change is a commit that changes one file.
type change struct {
	path, message string
	content       []byte
	by            forge.Signature
	parents       []plumbing.Hash
}

// onTop makes the commit of a change on top of a tree, nil for an empty one.
func (c change) onTop(root *object) (*newObjects, error) {
	made := &newObjects{storage: gitmemory.NewStorage()}
	file := &plumbing.MemoryObject{}
	file.SetType(plumbing.BlobObject)
	_, _ = file.Write(c.content) // it appends to a slice: it can't fail
	blob, err := made.add(file)
	if err != nil {
		return nil, err
	}
	if made.tree, err = made.put(root, strings.Split(c.path, "/"), blob); err != nil {
		return nil, err
	}
	by := gitobject.Signature{Name: c.by.Name, Email: c.by.Address, When: c.by.At.UTC()}
	commit := &gitobject.Commit{Author: by, Committer: by, Message: c.message, TreeHash: made.tree, ParentHashes: c.parents}
	if made.commit, err = made.encode(commit); err != nil {
		return nil, err
	}
	var pack bytes.Buffer
	const noDeltas = 0
	_, err = packfile.NewEncoder(&pack, made.storage, false).Encode(made.hashes, noDeltas)
	made.pack = pack.Bytes()
	return made, err
}

// put returns a tree in which a path has another file.
func (n *newObjects) put(in *object, path []string, blob plumbing.Hash) (plumbing.Hash, error) {
	tree := &gitobject.Tree{}
	if in != nil {
		if err := tree.Decode(encoded(in)); err != nil {
			return plumbing.ZeroHash, newError(Protocol, "read tree: %s", clean(err.Error()))
		}
	}
	entry := gitobject.TreeEntry{Name: path[0], Mode: filemode.Regular, Hash: blob}
	if len(path) > 1 {
		below, err := folder(in, path[0])
		if err != nil {
			return plumbing.ZeroHash, err
		}
		entry.Mode = filemode.Dir
		if entry.Hash, err = n.put(below, path[1:], blob); err != nil {
			return plumbing.ZeroHash, err
		}
	}
	tree.Entries = slices.DeleteFunc(tree.Entries, func(e gitobject.TreeEntry) bool { return e.Name == path[0] })
	tree.Entries = append(tree.Entries, entry)
	sort.Sort(gitobject.TreeEntrySorter(tree.Entries))
	return n.encode(tree)
}

// folder returns a folder of a tree; nil if there is none.
func folder(in *object, name string) (*object, error) {
	if in == nil {
		return nil, nil
	}
	i := slices.IndexFunc(in.entries, func(e entry) bool { return e.name == name })
	switch {
	case i < 0:
		return nil, nil
	case !in.entries[i].IsDir():
		return nil, newError(Invalid, "%s is not a folder", name)
	}
	return in.entries[i].object, nil
}

func (n *newObjects) encode(what interface {
	Encode(o plumbing.EncodedObject) error
}) (plumbing.Hash, error) {
	o := &plumbing.MemoryObject{}
	if err := what.Encode(o); err != nil {
		return plumbing.ZeroHash, err
	}
	return n.add(o)
}

func (n *newObjects) add(o plumbing.EncodedObject) (plumbing.Hash, error) {
	hash, err := n.storage.SetEncodedObject(o)
	n.hashes = append(n.hashes, hash)
	return hash, err
}
