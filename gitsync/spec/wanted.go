package spec

import (
	"maps"
	"path"
	"slices"
	"strings"
)

// Wanted are the files of a large repository that a Read of a folder needs: manifests below the
// folder, what Sluice keeps beside them, and what was missed before, since kustomizations refer to
// it. A Read that misses others is of no use, and is done again with those.
type Wanted struct {
	// Folder as Read takes it.
	Folder string
	// Whole says that all files below the folder are read, as those of a chart.
	Whole bool

	// missed are files, and their folders.
	missed map[string]bool
}

// Rounds of reads after which one that still misses files is given up: its kustomizations lead from
// one to another.
const Rounds = 20

// mostMissed are remembered.
const mostMissed = 20_000

// Miss adds files, and the manifests beside them. It reports whether any of them is new.
func (w *Wanted) Miss(files []string) (more bool) {
	if w.missed == nil || len(w.missed) > mostMissed {
		w.missed = map[string]bool{}
	}
	for _, file := range files {
		more = more || !w.missed[file]
		w.missed[file], w.missed[path.Dir(file)] = true, true
	}
	return more
}

// Reads returns whether a file is wanted, as of now, by its path.
func (w *Wanted) Reads() func(file string) bool {
	root, missed := path.Clean(strings.TrimLeft(w.Folder, "/"))+"/", maps.Clone(w.missed)
	if root == "./" {
		root = ""
	}
	return func(file string) bool {
		switch {
		case isOwn(file), missed[file], w.Whole && strings.HasPrefix(file, root):
			return true
		case !isYAML(file) && !slices.Contains(kustomizationNames, path.Base(file)):
			return false
		}
		rest, below := strings.CutPrefix(file, root)
		return below && !strings.HasPrefix(rest, ".") && !strings.Contains(rest, "/.") || missed[path.Dir(file)]
	}
}
