package spec

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// IgnoreFile names files that Read leaves out, in the format of .gitignore. It counts for its
// folder and what is below.
const IgnoreFile = ".sluiceignore"

// Bounds of what is ignored: each file is compared with each pattern.
const (
	maxIgnoreFile = 64 << 10
	maxPatterns   = 100
	maxPattern    = 256
	// maxComparing bounds the work of matching: bytes of names times bytes of patterns, a few seconds.
	maxComparing = 10_000_000_000
)

// Ignorer compiles lines in the format of .gitignore, each relative to a folder ("." is the root);
// later ones go first. The returned function reports whether a file or folder is ignored.
type Ignorer func(lines, folders []string) func(name string, folder bool) bool

// patterns are lines of ignore files, and the folders of these.
type patterns struct{ lines, folders []string }

func (p *patterns) add(folder string, lines ...string) {
	for _, line := range lines {
		p.lines, p.folders = append(p.lines, line), append(p.folders, folder)
	}
}

// ignoring collects patterns on the way through a tree.
type ignoring struct {
	compile Ignorer
	// files are patterns of the tree, and own the patterns of the source, which go first.
	files, own patterns
	matches    func(name string, folder bool) bool
	// takesBack says that a pattern reads again what others ignore.
	takesBack bool
	errors    []Error
	// bytes is the size of all patterns, and compared the number of comparisons so far.
	bytes, compared int64
}

func newIgnoring(opts Options) *ignoring {
	i := &ignoring{compile: opts.Ignorer}
	i.own.add(".", opts.Ignore...)
	i.recompile()
	return i
}

func (i *ignoring) recompile() {
	lines := slices.Concat(i.files.lines, i.own.lines)
	i.bytes = 0
	for _, line := range lines {
		i.bytes += int64(len(line))
	}
	i.takesBack = slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "!") })
	if i.matches = nil; len(lines) > 0 && i.compile != nil {
		i.matches = i.compile(lines, slices.Concat(i.files.folders, i.own.folders))
	}
}

func (i *ignoring) ignores(name string, folder bool) bool {
	if i.matches == nil || name == "." {
		return false
	}
	i.compared += int64(len(name)) * i.bytes
	return i.compared <= maxComparing && i.matches(name, folder)
}

// check returns an error once comparing has taken more than it may.
func (i *ignoring) check() error {
	if i.compared > maxComparing {
		return fmt.Errorf("%w: there are too many files to compare with the patterns of %s and spec.ignore: write fewer or shorter ones, such as the folder of several files",
			ErrLimit, IgnoreFile)
	}
	return nil
}

// skipsFolder reports whether all that a folder holds is ignored: no pattern takes part of it back.
func (i *ignoring) skipsFolder(name string) bool {
	return !i.takesBack && i.ignores(name, true)
}

// enterAbove takes in the ignore files of all folders that a folder is in.
func (i *ignoring) enterAbove(files fs.FS, folder string) {
	if folder != "." {
		i.enter(files, ".")
	}
	for at, c := range folder {
		if c == '/' {
			i.enter(files, folder[:at])
		}
	}
}

// enter takes in the ignore file of a folder. With a file that is wrong nothing more is ignored
// than without it.
func (i *ignoring) enter(files fs.FS, folder string) {
	name := path.Join(folder, IgnoreFile)
	lines, err := readPatterns(files, name, maxPatterns-len(i.files.lines))
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err == nil && i.compile == nil:
		i.errors = append(i.errors, Error{File: name, Message: "this program can't read the file"})
	case err != nil:
		i.errors = append(i.errors, Error{File: name, Message: readProblem(err)})
	default:
		i.files.add(folder, lines...)
		i.recompile()
	}
}

// readPatterns returns the lines of an ignore file that are patterns.
func readPatterns(files fs.FS, name string, most int) ([]string, error) {
	info, err := fs.Lstat(files, name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("it must be a regular file: links and submodules are not followed")
	case info.Size() > maxIgnoreFile:
		return nil, tooLarge(info.Size(), maxIgnoreFile)
	}
	data, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	var patterns []string
	for line := range strings.Lines(strings.TrimPrefix(string(data), string(byteOrderMark))) {
		if line = strings.TrimRight(line, "\r\n"); strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "#") {
			patterns = append(patterns, line)
			if len(line) > maxPattern {
				return nil, fmt.Errorf("a pattern is longer than %d bytes", maxPattern)
			}
		}
	}
	if len(patterns) > most {
		return nil, fmt.Errorf("there are more than %d patterns in all %s files together: write fewer, such as the folder of several files", maxPatterns, IgnoreFile)
	}
	return patterns, nil
}
