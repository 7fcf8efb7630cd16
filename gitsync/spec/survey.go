package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// ErrLimit is what Read returns, with the reason, where a repository is too large.
var ErrLimit = errors.New("limit exceeded")

// surveyed is a file or folder that is worth reading.
type surveyed struct {
	path string
	info fs.FileInfo
}

// survey is what a folder holds.
type surveyResult struct {
	manifests      []surveyed
	kustomizations []string // their folders
	errors         []Error
	bytes          int64
	limits         Limits
}

func (s *surveyResult) count() int { return len(s.manifests) + len(s.kustomizations) }

// kustomizationNames are the names that kustomize looks for.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// survey lists what there is to read below a folder. Names that start with a dot
// are left out. What is in and below the folder of a kustomization belongs to it.
func survey(files fs.FS, folder string, limits Limits) (*surveyResult, error) {
	root, err := cleanFolder(files, folder)
	if err != nil {
		return nil, err
	}
	s := &surveyResult{limits: limits}
	entries := 0
	err = fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && isTooDeep(name, limits) {
			s.errors = append(s.errors, Error{File: name, Message: fmt.Sprintf(
				"the folder is more than %d folders deep, and what it holds is not released: move it up", limits.Depth)})
			return fs.SkipDir
		}
		if entries++; entries > limits.Entries {
			return fmt.Errorf("%w: there are more than %d files and folders below %q", ErrLimit, limits.Entries, folder)
		}
		if name != root && strings.HasPrefix(d.Name(), ".") {
			return skip(d)
		}
		return s.visit(files, name, d)
	})
	return s, err
}

// isTooDeep reports whether a folder is one whose files are not looked at: each costs as much as there are folders above it.
func isTooDeep(folder string, limits Limits) bool { return strings.Count(folder, "/") >= limits.Depth }

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// ownFolder is where Sluice keeps what people approve. Nothing in it is a manifest, whoever names it: else an
// approval could bring what is to be released along.
const ownFolder = ".sluice"

func isOwn(name string) bool {
	return name == ownFolder || strings.HasPrefix(name, ownFolder+"/")
}

// cleanFolder checks that a folder is one of the repository's.
func cleanFolder(files fs.FS, folder string) (string, error) {
	clean := path.Clean(strings.TrimLeft(folder, "/"))
	if folder == "" || folder == "/" {
		clean = "."
	}
	info, err := fs.Lstat(files, clean)
	switch {
	case isOwn(clean):
		return "", fmt.Errorf("%q is not a folder of manifests: %s is Sluice's own", folder, ownFolder)
	case !fs.ValidPath(clean), errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no folder %q in the repository", folder)
	case err != nil:
		return "", fmt.Errorf("look at folder %q: %w", folder, err)
	case !info.IsDir():
		return "", fmt.Errorf("%q is not a folder", folder)
	}
	return clean, nil
}

func (s *surveyResult) visit(files fs.FS, name string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return s.visitFolder(files, name)
	case d.Type() == fs.ModeSymlink:
		s.visitLink(files, name)
		return nil
	case !d.Type().IsRegular():
		s.errors = append(s.errors, Error{File: name, Message: "a submodule is not followed: what it holds is not released"})
		return nil
	case isYAML(name):
		return s.visitManifest(name, d)
	}
	return nil
}

func (s *surveyResult) visitFolder(files fs.FS, name string) error {
	if slices.ContainsFunc(kustomizationNames, func(kustomization string) bool {
		info, err := fs.Lstat(files, path.Join(name, kustomization))
		return err == nil && info.Mode().IsRegular()
	}) {
		s.kustomizations = append(s.kustomizations, name)
		return fs.SkipDir
	}
	return nil
}

func (s *surveyResult) visitManifest(name string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return err
	}
	s.manifests = append(s.manifests, surveyed{name, info})
	if size := info.Size(); size <= s.limits.FileBytes {
		s.bytes += size
	}
	if s.bytes > s.limits.TotalBytes {
		return fmt.Errorf("%w: the manifest files are larger than %d bytes together", ErrLimit, s.limits.TotalBytes)
	}
	return nil
}

// visitLink reports links behind which there may be manifests. Links to other files
// of the repository do no harm and are left out.
func (s *surveyResult) visitLink(files fs.FS, name string) {
	target, err := fs.ReadLink(files, name)
	inside := path.Join(path.Dir(name), target)
	switch {
	case err == nil && (path.IsAbs(target) || !fs.ValidPath(inside)):
		s.errors = append(s.errors, Error{File: name, Message: "a symbolic link is not followed, and this one leads out of the repository"})
	case isYAML(name) || isFolder(files, inside):
		s.errors = append(s.errors, Error{File: name, Message: "a symbolic link is not followed: what it leads to is not released"})
	}
}

func isFolder(files fs.FS, name string) bool {
	info, err := lstat(files, name)
	return err == nil && info.IsDir()
}

// lstat describes a file or folder that is reached without following a link.
func lstat(files fs.FS, name string) (fs.FileInfo, error) {
	if linkTo(files, path.Dir(name)) != "" {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
	}
	return fs.Lstat(files, name)
}

// linkTo is the first part of a path that is a link, or a submodule; empty if there is none.
func linkTo(files fs.FS, name string) string {
	for at := 0; at < len(name); at++ {
		end := strings.IndexByte(name[at:], '/')
		if end < 0 {
			end = len(name) - at
		}
		at += end
		info, err := fs.Lstat(files, name[:at])
		switch {
		case err != nil || !fs.ValidPath(name):
			return ""
		case !info.IsDir() && !info.Mode().IsRegular():
			return name[:at]
		}
	}
	return ""
}

func isYAML(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".yaml" || ext == ".yml"
}

// readProblem is the reason why a file can't be read, without its path.
func readProblem(err error) string {
	if located, ok := errors.AsType[*fs.PathError](err); ok {
		return located.Err.Error()
	}
	return err.Error()
}

func tooLarge(size, limit int64) error {
	return fmt.Errorf("the file is too large: %d bytes or more; the limit is %d", size, limit)
}
