package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// worktree is a folder of a repository that is checked out.
type worktree struct {
	// root is the folder of the repository on this machine; the named folder if it is in none.
	root string
	// folder to read, from the root, with slashes.
	folder string
	// file is the only one that is meant, from the root; empty if all are.
	file string
	// marks are the files that make a folder one which is read as a whole.
	marks []string
}

// findWorktree finds the repository of a file or folder. A file is read along with its folder, or
// with that of the kustomization or chart that it belongs to, and without a repository alone. Marks
// are the files that make a folder one of those.
func findWorktree(name string, marks []string) (worktree, error) {
	absolute, err := filepath.Abs(name)
	if err != nil {
		return worktree{}, fmt.Errorf("find %s: %w", name, err)
	}
	info, err := os.Stat(absolute)
	if err != nil {
		return worktree{}, fmt.Errorf("read files: %w", err)
	}
	folder := absolute
	if !info.IsDir() {
		folder = filepath.Dir(absolute)
	}
	found := worktree{root: folder, folder: ".", marks: marks}
	if root, ok := above(folder, []string{".git"}); ok {
		found.root = root
		if err := notAstray(root, folder); err != nil {
			return worktree{}, err
		}
	}
	if !info.IsDir() {
		found.file = relative(found.root, absolute)
		folder = outermost(found.root, folder, marks)
	}
	found.folder = relative(found.root, folder)
	return found, nil
}

// notAstray refuses a folder that a link of another repository leads to: the author of that one
// could make users read and show their own files.
func notAstray(root, folder string) error {
	for at := folder; filepath.Dir(at) != at; at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			continue
		}
		if around, ok := above(filepath.Dir(at), []string{".git"}); ok && around != root {
			return fmt.Errorf("%s is a symbolic link out of the repository %s, and is not followed: name the folder that it leads to, if that is meant", at, around)
		}
	}
	return nil
}

// outermost returns the folder of the kustomization or chart that a folder belongs to. Files below
// one are read through it only. It is the folder itself if there is none up to the root.
func outermost(root, folder string, marks []string) string {
	found := folder
	for at := folder; within(root, at); at = filepath.Dir(at) {
		kustomization, ok := above(at, marks)
		if !ok || !within(root, kustomization) {
			break
		}
		found, at = kustomization, kustomization
	}
	return found
}

// kustomizations are the names that the file of a kustomization may have.
var kustomizations = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// means reports whether what is wrong with a file, from the root, is wrong with what was named,
// too.
func (w worktree) means(file string) bool {
	builds := slices.Contains(w.marks, path.Base(file)) && within(path.Dir(file), w.file)
	return w.file == "" || w.file == file || builds
}

// above finds the nearest folder, this one or one above, that holds one of some names.
func above(folder string, names []string) (string, bool) {
	for {
		if slices.ContainsFunc(names, func(name string) bool {
			_, err := os.Lstat(filepath.Join(folder, name))
			return err == nil || !errors.Is(err, fs.ErrNotExist)
		}) {
			return folder, true
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return "", false
		}
		folder = parent
	}
}

// relative returns a path below a folder as seen from there.
func relative(folder, path string) string {
	rel, err := filepath.Rel(folder, path)
	if err != nil {
		return filepath.ToSlash(path)
	}
	return filepath.ToSlash(rel)
}

func within(folder, path string) bool {
	return filepath.IsLocal(filepath.FromSlash(relative(folder, path)))
}

// files returns those of the repository: links that lead out of it are not followed.
func (w worktree) files() (fs.FS, error) {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return nil, fmt.Errorf("open the folder to read: %w", err)
	}
	return root.FS(), nil // it is open for as long as the command runs
}
