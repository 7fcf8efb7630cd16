package gitrepo

import (
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	gitobject "github.com/go-git/go-git/v5/plumbing/object"
	charset "golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// Snapshot is a commit and its files. It does not change and may be shared.
type Snapshot struct {
	// Commit is the commit's name, 40 hex digits.
	Commit string
	// Tree is the name of its root tree; empty if the snapshot has no content, like what follows.
	Tree string
	// Author of the commit, and Time at which its committer made it, as it claims.
	Author string
	Time   time.Time
	// Subject is the first line of its message, cut where it is long.
	Subject string
	// Reference is the commit that this one was made from, as its trailers claim; nil if they name
	// none.
	Reference *Reference

	hash    plumbing.Hash
	parents []plumbing.Hash
	root    *object
	objects objects
	bytes   int64
	// selected: files that nobody reads are notAsked.
	selected bool
	// later gets the files that are absent; nil if none is.
	later *later
	// account counts the memory of the snapshot.
	account *account
}

// Bytes returns what the files take in memory.
func (s *Snapshot) Bytes() int64 { return s.bytes }

// Close releases the memory of the files, which counts against the limit of all repositories. Each
// snapshot must be closed.
func (s *Snapshot) Close() {
	if s.account != nil {
		s.account.close()
	}
}

// heldBy returns a copy that counts against an account until it is closed.
func (s *Snapshot) heldBy(a *account) *Snapshot {
	held := new(*s)
	held.account = a
	if s.selected {
		held.later = newMissed()
	}
	runtime.AddCleanup(held, func(a *account) { a.close() }, a) // should a caller forget to
	return held
}

// FS returns the files of the commit from the root of the repository; nil if the
// snapshot has no content.
//
// It implements fs.ReadDirFS, fs.ReadFileFS, fs.StatFS and fs.ReadLinkFS. Names
// are resolved without following symbolic links. Symbolic links and submodules are
// listed with fs.ModeSymlink and fs.ModeIrregular and can't be opened; the FileInfo of a
// regular file has a method ContentHash() string. A file above the limit is
// listed, and opening it is an error of kind LimitExceeded.
func (s *Snapshot) FS() fs.FS {
	if s.root == nil {
		return nil
	}
	return &tree{root: entry{name: ".", mode: filemode.Dir, object: s.root}, later: s.later}
}

// Err returns why files could not be read, other than for their size: then what was made of the
// others is of no use.
func (s *Snapshot) Err() error {
	if s.later == nil {
		return nil
	}
	s.later.mu.Lock()
	defer s.later.mu.Unlock()
	return s.later.err
}

// Missed returns the names of files that were read although Source.Reads does not name them, and
// which the snapshot lacks. A result made from them is of no use.
func (s *Snapshot) Missed() []string {
	if s.later == nil {
		return nil
	}
	s.later.mu.Lock()
	defer s.later.mu.Unlock()
	return s.later.missed
}

// Stand-ins for the content of files that a snapshot was made without: of those that the server was
// not asked for, and of those that are read when they are needed.
var (
	notAsked = &object{kind: plumbing.BlobObject}
	deferred = &object{kind: plumbing.BlobObject}
)

// later gets files that a snapshot was made without.
type later struct {
	get func(name string, hash plumbing.Hash) (*object, error)

	mu sync.Mutex
	// err says why the first file that failed could not be read.
	err error
	// missed are files that were not asked for.
	missed []string
}

// newMissed gets none, and takes note of what it was asked for.
func newMissed() *later {
	l := &later{}
	l.get = func(name string, _ plumbing.Hash) (*object, error) {
		l.missed = append(l.missed, name)
		return nil, newError(Protocol, "the file was not asked for")
	}
	return l
}

func (l *later) file(name string, hash plumbing.Hash) (*object, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	got, err := l.get(name, hash)
	if l.err == nil {
		l.err = err
	}
	return got, err
}

// assembler collects what is reachable from a commit.
type assembler struct {
	fresh, known objects
	// partial is set where files that are too large may be missing.
	partial bool
	// absent stands for files that are not there yet; nil where all must be.
	absent *object
	limits Limits
	// account counts the memory of the entries of trees.
	account *account
	objects objects
	bytes   int64
}

// snapshot makes the snapshot of a commit of which all objects are there.
func (a *assembler) snapshot(hash plumbing.Hash) (*Snapshot, error) {
	o := a.get(hash)
	if o == nil || o.kind != plumbing.CommitObject {
		return nil, newError(Protocol, "the server did not send commit %s", hash)
	}
	commit, err := decodeCommit(o)
	if err != nil {
		return nil, newError(Protocol, "read commit %s: %s", hash, clean(err.Error()))
	}
	a.objects = objects{hash: o}
	root, err := a.tree(commit.TreeHash)
	if err != nil {
		return nil, err
	}
	return &Snapshot{
		Commit:  hash.String(),
		Tree:    commit.TreeHash.String(),
		Author:  firstLine(inUTF8(commit.Author.Name, commit.Encoding)),
		Time:    commit.Committer.When,
		Subject: firstLine(inUTF8(commit.Message, commit.Encoding)),

		Reference: referenceOf(commit.Message, commit.Encoding),

		hash:    hash,
		parents: commit.ParentHashes,
		root:    root,
		objects: a.objects,
		bytes:   a.bytes,
	}, nil
}

func (a *assembler) get(hash plumbing.Hash) *object {
	if o := a.fresh[hash]; o != nil {
		return o
	}
	return a.known[hash]
}

// tree collects a tree and all below it. Trees that were met before are not
// looked at again, so a tree that names itself many times costs nothing.
func (a *assembler) tree(hash plumbing.Hash) (*object, error) {
	if o := a.objects[hash]; o != nil {
		return o, nil
	}
	o := a.get(hash)
	if o == nil || o.kind != plumbing.TreeObject {
		return nil, newError(Protocol, "the server did not send tree %s", hash)
	}
	entries, err := decodeTree(o)
	if err != nil {
		return nil, newError(Protocol, "read tree %s: %s", hash, clean(err.Error()))
	}
	made := &object{kind: o.kind, size: o.size, data: o.data, entries: entries}
	if err := a.account.spend(int64(len(entries)) * entryBytes); err != nil {
		return nil, err
	}
	if err := a.add(hash, made); err != nil {
		return nil, err
	}
	for i := range entries {
		if entries[i].object, err = a.child(&entries[i]); err != nil {
			return nil, err
		}
	}
	return made, nil
}

func (a *assembler) child(e *entry) (*object, error) {
	switch {
	case e.mode == filemode.Dir:
		return a.tree(e.hash)
	case e.mode == filemode.Submodule:
		return nil, nil
	}
	if o := a.objects[e.hash]; o != nil {
		return o, nil
	}
	o := a.get(e.hash)
	if o == nil {
		if a.absent != nil {
			return a.absent, nil
		}
		if !a.partial {
			return nil, newError(Protocol, "the server did not send file %s", e.hash)
		}
		o = &object{kind: plumbing.BlobObject, size: a.limits.FileBytes + 1}
	}
	return o, a.add(e.hash, o)
}

// entryBytes is what an entry of a tree takes beside the tree itself.
const entryBytes = 80

func (a *assembler) add(hash plumbing.Hash, o *object) error {
	a.objects[hash] = o
	if a.bytes += int64(len(o.data)) + int64(len(o.entries))*entryBytes + objectBytes; a.bytes > a.limits.KeptBytes {
		return newError(LimitExceeded, "the files of the repository are larger than the limit of %s", bytesText(a.limits.KeptBytes))
	}
	return nil
}

// maxLine is how many characters are kept of what a commit says, and maxLineBytes how much of it is
// read.
const (
	maxLine      = 200
	maxLineBytes = 16 << 10
)

// firstLine returns the first line of a commit message, without bytes that are not UTF-8 and
// without invisible characters that change how the rest is shown.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text[:min(len(text), maxLineBytes)]), "\n")
	shown := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) || r == utf8.RuneError:
			return -1
		}
		return r
	}, line)
	kept := []rune(strings.TrimSpace(shown))
	if len(kept) > maxLine {
		kept = append(kept[:maxLine-1], '…')
	}
	return string(kept)
}

// inUTF8 converts what a commit says from the encoding that it names, if that has one byte for a
// letter, as ISO-8859-1 has.
func inUTF8(text string, encoding gitobject.MessageEncoding) string {
	text = text[:min(len(text), maxLineBytes)]
	i := slices.IndexFunc(charmap.All, func(known charset.Encoding) bool {
		return strings.EqualFold(fmt.Sprint(known), strings.ReplaceAll(string(encoding), "_", "-")) || isLatin(encoding) && known == charmap.ISO8859_1
	})
	if i < 0 || utf8.ValidString(text) {
		return text
	}
	converted, err := charmap.All[i].NewDecoder().String(text)
	if err != nil {
		return text
	}
	return converted
}

// isLatin reports whether an encoding is ISO-8859-1 by another name.
func isLatin(encoding gitobject.MessageEncoding) bool {
	return slices.Contains([]string{"iso-8859-1", "iso8859-1", "latin1", "latin-1"}, strings.ToLower(string(encoding)))
}

func decodeCommit(o *object) (*gitobject.Commit, error) {
	commit := &gitobject.Commit{}
	return commit, commit.Decode(encoded(o))
}

// encoded wraps an object for go-git's decoders.
func encoded(o *object) plumbing.EncodedObject {
	memory := &plumbing.MemoryObject{}
	memory.SetType(o.kind)
	_, _ = memory.Write(o.data) // it appends to a slice: it can't fail
	return memory
}

// decodeTree returns the entries of a tree, sorted by name.
func decodeTree(o *object) ([]entry, error) {
	if o.entries != nil {
		return slices.Clone(o.entries), nil
	}
	var decoded gitobject.Tree
	if err := decoded.Decode(encoded(o)); err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(decoded.Entries))
	for _, e := range decoded.Entries {
		if err := checkName(e.Name); err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: validName(e.Name), mode: e.Mode, hash: e.Hash})
	}
	byName := func(a, b entry) int { return strings.Compare(a.name, b.name) }
	if !slices.IsSortedFunc(entries, byName) {
		slices.SortFunc(entries, byName)
	}
	return entries, nil
}

// checkName refuses names that no honest tree has.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
		return fmt.Errorf("unusable file name %q", name)
	}
	return nil
}

// validName makes a name that is not UTF-8 one that can be shown.
func validName(name string) string {
	if utf8.ValidString(name) {
		return name
	}
	return strings.ToValidUTF8(name, "\uFFFD")
}
