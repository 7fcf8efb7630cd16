package gitcmd

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/storage/filesystem"
)

// Modes of the entries that a tree can have.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeSymlink    = "120000"
	ModeSubmodule  = "160000"
	ModeTree       = "040000"
)

// modes maps the text of a mode to the value that go-git has for it.
var modes = map[string]filemode.FileMode{
	ModeFile: filemode.Regular, ModeExecutable: filemode.Executable, ModeSymlink: filemode.Symlink,
	ModeSubmodule: filemode.Submodule, ModeTree: filemode.Dir,
}

// Entry is a file, folder or submodule of a tree. An Entry to be written with SHA Zero is a
// deletion.
type Entry struct {
	Mode, Type, SHA, Path string
	// Size is a blob's, in bytes.
	Size int64
}

// ListTree lists the entries of a folder ("" is the root) of a tree or a commit, with all that is
// below them if recursive.
func (r *Repository) ListTree(treeish, folder string, recursive bool) ([]Entry, error) {
	stored := r.stored()
	tree, err := root(stored, treeish)
	if err == nil && folder != "" {
		tree, err = tree.Tree(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("list folder %q of %s: %w: %w", folder, treeish, ErrNotFound, err)
	}
	if folder != "" {
		folder += "/"
	}
	return entriesOf(stored, tree, folder, recursive)
}

// root returns the tree that a tree, or a commit, is.
func root(stored *filesystem.Storage, treeish string) (*object.Tree, error) {
	name := plumbing.NewHash(treeish)
	if commit, err := object.GetCommit(stored, name); err == nil {
		name = commit.TreeHash
	}
	return object.GetTree(stored, name)
}

// entriesOf returns the entries of a tree, whose paths begin with the prefix.
func entriesOf(stored *filesystem.Storage, tree *object.Tree, prefix string, recursive bool) ([]Entry, error) {
	var entries []Entry
	for i := range tree.Entries {
		entry, err := entryOf(stored, &tree.Entries[i], prefix+tree.Entries[i].Name)
		if err != nil {
			return nil, err
		}
		entries = append(entries, entry)
		if !recursive || entry.Type != "tree" {
			continue
		}
		folder, err := object.GetTree(stored, tree.Entries[i].Hash)
		if err != nil {
			return nil, fmt.Errorf("read folder %s: %w", entry.Path, err)
		}
		below, err := entriesOf(stored, folder, entry.Path+"/", true)
		if err != nil {
			return nil, err
		}
		entries = append(entries, below...)
	}
	return entries, nil
}

func entryOf(stored *filesystem.Storage, found *object.TreeEntry, path string) (Entry, error) {
	entry := Entry{Mode: fmt.Sprintf("%06o", uint32(found.Mode)), Type: "blob", SHA: found.Hash.String(), Path: path}
	switch found.Mode {
	case filemode.Dir:
		entry.Type = "tree"
	case filemode.Submodule:
		entry.Type = "commit"
	default:
		size, err := stored.EncodedObjectSize(found.Hash)
		if err != nil {
			return Entry{}, fmt.Errorf("read size of %s: %w", path, err)
		}
		entry.Size = size
	}
	return entry, nil
}

// Entry returns what a path of a tree or a commit holds.
func (r *Repository) Entry(treeish, path string) (Entry, error) {
	stored := r.stored()
	tree, err := root(stored, treeish)
	if err != nil {
		return Entry{}, fmt.Errorf("read %s: %w: %w", treeish, ErrNotFound, err)
	}
	found, err := tree.FindEntry(path)
	if err != nil {
		return Entry{}, fmt.Errorf("path %q: %w: %w", path, ErrNotFound, err)
	}
	return entryOf(stored, found, path)
}

// ErrPath says that a path is none that Git keeps.
var ErrPath = errors.New("malformed path")

// checkPath refuses what git would leave out without a word, or take for its own.
func checkPath(path string) error {
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." || strings.EqualFold(part, ".git") || strings.Contains(part, "\x00") {
			return fmt.Errorf("path %q: %w", path, ErrPath)
		}
	}
	return nil
}

// files hold a tree's files and submodules by path, with those of the trees below it.
type files map[string]object.TreeEntry

func (r *Repository) filesOf(treeish string) (files, error) {
	all := files{}
	if treeish == "" {
		return all, nil
	}
	entries, err := r.ListTree(treeish, "", true)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Type != "tree" {
			all[e.Path] = object.TreeEntry{Mode: modes[e.Mode], Hash: plumbing.NewHash(e.SHA)}
		}
	}
	return all, nil
}

// put sets a file, in place of a folder of its name and of files that are named like its folders.
func (f files) put(path string, file object.TreeEntry) {
	maps.DeleteFunc(f, func(other string, _ object.TreeEntry) bool {
		return strings.HasPrefix(other, path+"/") || strings.HasPrefix(path, other+"/")
	})
	f[path] = file
}

// WriteTree stores the tree that base becomes by the entries. Base may be "" for an empty tree.
func (r *Repository) WriteTree(base string, entries []Entry) (string, error) {
	all, err := r.filesOf(base)
	if err != nil {
		return "", err
	}
	stored := r.stored()
	for _, e := range entries {
		if err := checkPath(e.Path); err != nil {
			return "", err
		}
		if e.SHA == Zero {
			delete(all, e.Path)
			continue
		}
		mode, known := modes[e.Mode]
		if !known || mode == filemode.Dir {
			return "", fmt.Errorf("path %q: unknown mode %q", e.Path, e.Mode)
		}
		name := plumbing.NewHash(e.SHA)
		if mode != filemode.Submodule {
			if err := stored.HasEncodedObject(name); err != nil {
				return "", fmt.Errorf("path %q: object %s: %w", e.Path, e.SHA, err)
			}
		}
		all.put(e.Path, object.TreeEntry{Mode: mode, Hash: name})
	}
	name, err := all.write(stored)
	if err != nil {
		return "", fmt.Errorf("write tree: %w", err)
	}
	return name.String(), nil
}

// write stores the tree of the files, after those of its folders.
func (f files) write(stored *filesystem.Storage) (plumbing.Hash, error) {
	tree, folders := object.Tree{}, map[string]files{}
	for path, file := range f {
		folder, below, deep := strings.Cut(path, "/")
		if !deep {
			file.Name = path
			tree.Entries = append(tree.Entries, file)
			continue
		}
		if folders[folder] == nil {
			folders[folder] = files{}
		}
		folders[folder][below] = file
	}
	for name, folder := range folders {
		written, err := folder.write(stored)
		if err != nil {
			return plumbing.ZeroHash, err
		}
		tree.Entries = append(tree.Entries, object.TreeEntry{Name: name, Mode: filemode.Dir, Hash: written})
	}
	slices.SortFunc(tree.Entries, func(a, b object.TreeEntry) int { return strings.Compare(sortName(a), sortName(b)) })
	encoded := stored.NewEncodedObject()
	if err := tree.Encode(encoded); err != nil {
		return plumbing.ZeroHash, err
	}
	return stored.SetEncodedObject(encoded)
}

// sortName returns the name by which Git sorts an entry: a folder's ends in a slash.
func sortName(e object.TreeEntry) string {
	if e.Mode == filemode.Dir {
		return e.Name + "/"
	}
	return e.Name
}

// Graft returns the tree that base becomes with a whole tree put at a folder of it.
func (r *Repository) Graft(base, path, tree string) (string, error) {
	below, err := r.ListTree(tree, "", true)
	if err != nil {
		return "", err
	}
	var entries []Entry
	for _, e := range below {
		if e.Type != "tree" {
			e.Path = path + "/" + e.Path
			entries = append(entries, e)
		}
	}
	return r.WriteTree(base, entries)
}

// ReadBlob returns the content of a blob.
func (r *Repository) ReadBlob(sha string) ([]byte, error) {
	blob, err := object.GetBlob(r.stored(), plumbing.NewHash(sha))
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", sha, err)
	}
	content, err := blob.Reader()
	if err != nil {
		return nil, fmt.Errorf("read blob %s: %w", sha, err)
	}
	defer content.Close()
	return io.ReadAll(content)
}

// WriteBlob stores content and gives its object name.
func (r *Repository) WriteBlob(content []byte) (string, error) {
	stored := r.stored()
	encoded := stored.NewEncodedObject()
	encoded.SetType(plumbing.BlobObject)
	writer, err := encoded.Writer()
	if err == nil {
		_, err = writer.Write(content)
	}
	if err != nil {
		return "", fmt.Errorf("write blob: %w", err)
	}
	name, err := stored.SetEncodedObject(encoded)
	if err != nil {
		return "", fmt.Errorf("write blob: %w", err)
	}
	return name.String(), nil
}
