package gitrepo

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// entry is a file or folder. It implements fs.DirEntry and fs.FileInfo.
type entry struct {
	name   string
	mode   filemode.FileMode
	hash   plumbing.Hash
	object *object
}

func (e *entry) Name() string               { return e.name }
func (e *entry) IsDir() bool                { return e.mode == filemode.Dir }
func (e *entry) Type() fs.FileMode          { return e.Mode().Type() }
func (e *entry) Info() (fs.FileInfo, error) { return e, nil }
func (e *entry) ModTime() time.Time         { return time.Time{} }
func (e *entry) Sys() any                   { return nil }

// ContentHash tells contents apart; empty for a file that was not asked for, so that nothing is
// concluded from it.
func (e *entry) ContentHash() string {
	if e.object == notAsked {
		return ""
	}
	return string(e.hash[:])
}

// Size returns the size of a file; 0 for one that is not there yet.
func (e *entry) Size() int64 {
	if e.object == nil || e.IsDir() {
		return 0
	}
	return e.object.size
}

func (e *entry) Mode() fs.FileMode {
	switch e.mode {
	case filemode.Dir:
		return fs.ModeDir | 0o555
	case filemode.Regular, filemode.Deprecated:
		return 0o444
	case filemode.Executable:
		return 0o555
	case filemode.Symlink:
		return fs.ModeSymlink | 0o444
	}
	return fs.ModeIrregular
}

// tree is an fs.FS over tree objects.
type tree struct {
	root  entry
	later *later
}

var errNotRegular = errors.New("not a regular file")

// find resolves a name without following symbolic links.
func (t *tree) find(op, name string) (*entry, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	at := &t.root
	for rest := name; rest != "." && rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		if at = at.child(first); at == nil {
			return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
		}
	}
	return at, nil
}

func (e *entry) child(name string) *entry {
	if !e.IsDir() {
		return nil
	}
	entries := e.object.entries
	i, found := slices.BinarySearchFunc(entries, name, func(e entry, name string) int {
		return strings.Compare(e.name, name)
	})
	if !found {
		return nil
	}
	return &entries[i]
}

// content returns the bytes of a regular file.
func (t *tree) content(op, name string) (*entry, []byte, error) {
	e, err := t.find(op, name)
	switch {
	case err != nil:
		return nil, nil, err
	case !e.Mode().IsRegular():
		return nil, nil, &fs.PathError{Op: op, Path: name, Err: errNotRegular}
	}
	o, err := t.object(e, name)
	if err == nil && o.data == nil && o.size > 0 {
		err = newError(LimitExceeded, "the file is too large: %d bytes or more", o.size)
	}
	if err != nil {
		return nil, nil, &fs.PathError{Op: op, Path: name, Err: err}
	}
	return &entry{name: e.name, mode: e.mode, hash: e.hash, object: o}, o.data, nil
}

// object returns the object of a file or link.
func (t *tree) object(e *entry, name string) (*object, error) {
	if e.object != notAsked && e.object != deferred {
		return e.object, nil
	}
	return t.later.file(name, e.hash)
}

// Open implements fs.FS.
func (t *tree) Open(name string) (fs.File, error) {
	e, err := t.find("open", name)
	if err != nil {
		return nil, err
	}
	if e.IsDir() {
		return &openDir{entry: e}, nil
	}
	e, data, err := t.content("open", name)
	if err != nil {
		return nil, err
	}
	return &openFile{Reader: bytes.NewReader(data), entry: e}, nil
}

// ReadFile implements fs.ReadFileFS.
func (t *tree) ReadFile(name string) ([]byte, error) {
	_, data, err := t.content("read", name)
	return slices.Clone(data), err
}

// ReadDir implements fs.ReadDirFS.
func (t *tree) ReadDir(name string) ([]fs.DirEntry, error) {
	e, err := t.find("readdir", name)
	if err != nil {
		return nil, err
	}
	if !e.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: errors.New("not a folder")}
	}
	return e.list(), nil
}

func (e *entry) list() []fs.DirEntry {
	list := make([]fs.DirEntry, len(e.object.entries))
	for i := range e.object.entries {
		list[i] = &e.object.entries[i]
	}
	return list
}

// Stat implements fs.StatFS. It is Lstat: links are not followed.
func (t *tree) Stat(name string) (fs.FileInfo, error) { return t.Lstat(name) }

// Lstat implements fs.ReadLinkFS.
func (t *tree) Lstat(name string) (fs.FileInfo, error) {
	e, err := t.find("stat", name)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// ReadLink implements fs.ReadLinkFS.
func (t *tree) ReadLink(name string) (string, error) {
	e, err := t.find("readlink", name)
	if err != nil {
		return "", err
	}
	if e.mode != filemode.Symlink {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	o, err := t.object(e, name)
	if err == nil && o.data == nil {
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return string(o.data), nil
}

// openFile is an open regular file.
type openFile struct {
	*bytes.Reader
	entry *entry
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *openFile) Close() error               { return nil }

// openDir is an open folder.
type openDir struct {
	entry  *entry
	offset int
}

func (d *openDir) Stat() (fs.FileInfo, error) { return d.entry, nil }
func (d *openDir) Close() error               { return nil }

func (d *openDir) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: d.entry.name, Err: errors.New("is a folder")}
}

// ReadDir implements fs.ReadDirFile.
func (d *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	left := d.entry.list()[d.offset:]
	if n > 0 && len(left) == 0 {
		return nil, io.EOF
	}
	if n > 0 && n < len(left) {
		left = left[:n]
	}
	d.offset += len(left)
	return left, nil
}
