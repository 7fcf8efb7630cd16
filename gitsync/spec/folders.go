package spec

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/gitsync/chart"
)

// ErrLimit is what Read returns, with the reason, where a repository is too large.
var ErrLimit = errors.New("limit exceeded")

// surveyed is a file or folder that is worth reading.
type surveyed struct {
	path string
	info fs.FileInfo
}

// link is a symbolic link, and what it leads to in the repository.
type link struct{ name, target string }

// surveyResult lists the manifests and kustomizations of a folder.
type surveyResult struct {
	manifests      []surveyed
	kustomizations []string // their folders
	// chart is the folder of the chart that is rendered; empty if none is. All that it holds belongs to
	// it.
	chart   string
	errors  []Error
	notices []Error
	doubts  []Doubt
	// leftOut says why files and folders, these with a slash at the end, are not read.
	leftOut map[string]string
	ignore  *ignoring
	links   []link
	// charts are the folders of other Helm charts.
	charts map[string]bool
	bytes  int64
	limits Limits
}

func (s *surveyResult) count() int { return len(s.manifests) + len(s.builds()) }

// builds returns the folders of all that is built.
func (s *surveyResult) builds() []string {
	if s.chart == "" {
		return s.kustomizations
	}
	return append(s.kustomizations, s.chart)
}

// kustomizationNames are the names that kustomize looks for.
var kustomizationNames = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// survey lists the files to read below a folder. It leaves out names that start with a dot, ignored
// files, and parts of a Helm chart. Everything in and below the folder of a kustomization belongs
// to it.
func survey(files fs.FS, folder string, opts Options) (*surveyResult, error) {
	root, err := cleanFolder(files, folder)
	if err != nil {
		return nil, err
	}
	limits := opts.Limits
	s := &surveyResult{limits: limits, leftOut: map[string]string{}, ignore: newIgnoring(opts), charts: map[string]bool{}}
	s.ignore.enterAbove(files, root)
	if opts.Helm != nil {
		s.ignore.enter(files, root)
		s.errors = s.ignore.errors
		s.chart, err = chartAt(files, root)
		return s, err
	}
	entries := 0
	err = fs.WalkDir(files, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && isTooDeep(name, limits) {
			s.errors = append(s.errors, Error{File: name, Message: fmt.Sprintf(
				"the folder is more than %d folders deep, and what it holds is not released: move it up", limits.Depth)})
			s.doubts = append(s.doubts, Doubt{File: name, Any: true})
			return fs.SkipDir
		}
		if entries++; entries > limits.Entries {
			return fmt.Errorf("%w: there are more than %d files and folders below %q", ErrLimit, limits.Entries, folder)
		}
		if name != root && strings.HasPrefix(d.Name(), ".") {
			return skip(d)
		}
		if s.leavesOut(name, d) {
			return skip(d)
		}
		return cmp.Or(s.visit(files, name, d), s.ignore.check())
	})
	s.errors = append(s.errors, s.ignore.errors...)
	return s, err
}

// isIgnored says why a file is left out.
const isIgnored = "it is ignored (" + IgnoreFile + ", or spec.ignore of the source)"

// leavesOut reports whether a file or folder is not looked at, and notes why.
func (s *surveyResult) leavesOut(name string, d fs.DirEntry) bool {
	var why string
	switch {
	case s.charts[path.Dir(name)] && isOfChart(d.Name(), d.IsDir()):
		why = "it is part of the Helm chart in " + path.Dir(name) + ", which is not rendered"
	case d.IsDir() && s.ignore.skipsFolder(name), !d.IsDir() && s.ignore.ignores(name, false):
		why = isIgnored
	default:
		return false
	}
	if d.IsDir() {
		name += "/"
	}
	s.leftOut[name] = why
	return true
}

// isTooDeep reports whether a folder is one whose files are not looked at: each costs as much as
// there are folders above it.
func isTooDeep(folder string, limits Limits) bool { return strings.Count(folder, "/") >= limits.Depth }

func skip(d fs.DirEntry) error {
	if d.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// ownFolder is where Sluice keeps what people approve. Nothing in it is a manifest, whoever names
// it: else an approval could bring what is to be released along.
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
		s.leavesFolderOut(name, "a submodule is not followed: what it holds is not released")
		return nil
	case isYAML(name):
		return s.visitManifest(name, d)
	}
	return nil
}

func (s *surveyResult) visitFolder(files fs.FS, name string) error {
	s.ignore.enter(files, name)
	if isRegular(files, path.Join(name, chart.File)) {
		s.charts[name] = true
		s.notices = append(s.notices, Error{File: path.Join(name, chart.File), Message: "the folder is a Helm chart, which is not rendered: " +
			"its templates and values are left out. To render it, name its folder and spec.helm in a ReleaseSource: docs/repositories.md#helm-charts"})
	}
	if slices.ContainsFunc(kustomizationNames, func(kustomization string) bool {
		file := path.Join(name, kustomization)
		return isRegular(files, file) && !s.ignore.ignores(file, false)
	}) {
		s.kustomizations = append(s.kustomizations, name)
		return fs.SkipDir
	}
	return nil
}

func isRegular(files fs.FS, name string) bool {
	info, err := fs.Lstat(files, name)
	return err == nil && info.Mode().IsRegular()
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

// visitLink notes links behind which there may be manifests: their targets are read in their own
// place, if at all. Links to other files of the repository do no harm.
func (s *surveyResult) visitLink(files fs.FS, name string) {
	target, err := fs.ReadLink(files, name)
	inside := path.Join(path.Dir(name), target)
	switch {
	case err == nil && (path.IsAbs(target) || !fs.ValidPath(inside)) && isYAML(name):
		s.errors = append(s.errors, Error{File: name, Message: leadsOut})
		s.leftOut[name] = leadsOut
	case err == nil && (path.IsAbs(target) || !fs.ValidPath(inside)):
		s.leavesFolderOut(name, leadsOut)
	case isKustomization(name):
		s.errors = append(s.errors, Error{File: name, Message: "a symbolic link is not followed: the kustomization is not built"})
		s.doubts = append(s.doubts, Doubt{File: name, Any: true})
	case isYAML(name) || isFolder(files, inside):
		s.links = append(s.links, link{name, inside})
	}
}

const leadsOut = "a symbolic link is not followed, and this one leads out of the repository"

// leavesFolderOut notes that what is behind a name is not read. Releases that were read there stay.
func (s *surveyResult) leavesFolderOut(name, why string) {
	s.notices = append(s.notices, Error{File: name, Message: why})
	s.leftOut[name+"/"] = why
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

// linkTo returns the first part of a path that is a link, or a submodule; empty if there is none.
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

// readProblem returns the reason why a file can't be read, without its path.
func readProblem(err error) string {
	if located, ok := errors.AsType[*fs.PathError](err); ok {
		return located.Err.Error()
	}
	return err.Error()
}

func tooLarge(size, limit int64) error {
	return fmt.Errorf("the file is too large: %d bytes or more; the limit is %d", size, limit)
}
