package spec

import (
	"io/fs"
	"path"
	"time"
)

// bundle holds the files of a kustomization, by their paths: the whole file tree of the build.
type bundle map[string][]byte

// bundled is a file or folder of a bundle.
type bundled struct {
	name   string
	size   int64
	folder bool
}

func (b bundled) Name() string       { return b.name }
func (b bundled) Size() int64        { return b.size }
func (b bundled) ModTime() time.Time { return time.Time{} }
func (b bundled) IsDir() bool        { return b.folder }
func (b bundled) Sys() any           { return nil }

func (b bundled) Mode() fs.FileMode {
	if b.folder {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// withFolders returns the bundle and the folders that its files are in, whose content is nil.
func (b bundle) withFolders() bundle {
	all := bundle{".": nil}
	for name, data := range b {
		if data == nil {
			data = []byte{}
		}
		all[name] = data
		for name != "." {
			name = path.Dir(name)
			all[name] = nil
		}
	}
	return all
}

// Lstat implements fs.ReadLinkFS.
func (b bundle) Lstat(name string) (fs.FileInfo, error) {
	data, found := b[name]
	if !found {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return bundled{name: path.Base(name), size: int64(len(data)), folder: data == nil}, nil
}

// ReadLink implements fs.ReadLinkFS: a bundle has no links.
func (b bundle) ReadLink(name string) (string, error) {
	return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
}

// ReadFile implements fs.ReadFileFS.
func (b bundle) ReadFile(name string) ([]byte, error) {
	if data := b[name]; data != nil {
		return data, nil
	}
	return nil, &fs.PathError{Op: "read", Path: name, Err: fs.ErrNotExist}
}

// Open implements fs.FS. It always fails: files of a bundle are read as a whole.
func (b bundle) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
}
