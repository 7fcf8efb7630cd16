package gitcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Modes of the entries that a tree can have.
const (
	ModeFile       = "100644"
	ModeExecutable = "100755"
	ModeSymlink    = "120000"
	ModeSubmodule  = "160000"
	ModeTree       = "040000"
)

// Entry is a file, folder or submodule of a tree. An Entry to be written with SHA Zero is a
// deletion.
type Entry struct {
	Mode, Type, SHA, Path string
	// Size is a blob's, in bytes.
	Size int64
}

// ListTree lists the entries under a path ("" is the root), with all that is below them if
// recursive. The path of a file lists the file itself.
func (r *Repository) ListTree(ctx context.Context, treeish, path string, recursive bool) ([]Entry, error) {
	args := []string{"ls-tree", "-z", "-l", "--full-tree"}
	if recursive {
		args = append(args, "-r", "-t")
	}
	args = append(args, treeish)
	if path != "" {
		args = append(args, "--", path)
	}
	out, err := r.output(ctx, call{args: args, env: []string{"GIT_LITERAL_PATHSPECS=1"}})
	if err != nil {
		return nil, fmt.Errorf("list tree: %w", err)
	}
	var entries []Entry
	for record := range strings.SplitSeq(out, "\x00") {
		if entry, ok := parseEntry(record); ok {
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

// Entry returns what a path of a tree holds.
func (r *Repository) Entry(ctx context.Context, treeish, path string) (Entry, error) {
	entries, err := r.ListTree(ctx, treeish, path, false)
	if err != nil {
		return Entry{}, err
	}
	if len(entries) != 1 || entries[0].Path != path {
		return Entry{}, fmt.Errorf("path %q: %w", path, ErrNotFound)
	}
	return entries[0], nil
}

// parseEntry reads "mode type sha size\tpath".
func parseEntry(record string) (Entry, bool) {
	head, path, ok := strings.Cut(record, "\t")
	fields := strings.Fields(head)
	if !ok || len(fields) != 4 {
		return Entry{}, false
	}
	size, err := strconv.ParseInt(fields[3], 10, 64)
	if err != nil {
		size = 0 // a tree or a submodule: it has "-"
	}
	return Entry{Mode: fields[0], Type: fields[1], SHA: fields[2], Path: path, Size: size}, true
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

// WriteTree stores the tree that base becomes by the entries. Base may be "" for an empty tree.
func (r *Repository) WriteTree(ctx context.Context, base string, entries []Entry) (string, error) {
	scratch, err := os.MkdirTemp(r.dir, "index-")
	if err != nil {
		return "", fmt.Errorf("make index: %w", err)
	}
	defer os.RemoveAll(scratch)
	env := []string{"GIT_INDEX_FILE=" + filepath.Join(scratch, "index")}
	if base != "" {
		if _, err := r.output(ctx, call{args: []string{"read-tree", base}, env: env}); err != nil {
			return "", fmt.Errorf("read tree %s: %w", base, errors.Join(ErrNotFound, err))
		}
	}
	if err := r.updateIndex(ctx, env, entries); err != nil {
		return "", err
	}
	out, err := r.output(ctx, call{args: []string{"write-tree"}, env: env})
	if err != nil {
		return "", fmt.Errorf("write tree: %w", err)
	}
	return strings.TrimSpace(out), nil
}

func (r *Repository) updateIndex(ctx context.Context, env []string, entries []Entry) error {
	if len(entries) == 0 {
		return nil
	}
	var list strings.Builder
	for _, e := range entries {
		if err := checkPath(e.Path); err != nil {
			return err
		}
		mode := e.Mode
		if e.SHA == Zero {
			mode = "0"
		}
		fmt.Fprintf(&list, "%s %s\t%s\x00", mode, e.SHA, e.Path)
	}
	index := call{args: []string{"update-index", "-z", "--index-info"}, env: env, stdin: strings.NewReader(list.String())}
	if _, err := r.output(ctx, index); err != nil {
		return fmt.Errorf("update index: %w", err)
	}
	return nil
}

// Graft returns the tree that base becomes with a whole tree put at a folder of it.
func (r *Repository) Graft(ctx context.Context, base, path, tree string) (string, error) {
	below, err := r.ListTree(ctx, tree, "", true)
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
	return r.WriteTree(ctx, base, entries)
}

// ReadBlob returns the content of a blob.
func (r *Repository) ReadBlob(ctx context.Context, sha string) ([]byte, error) {
	out, err := r.output(ctx, call{args: []string{"cat-file", "blob", sha}})
	if err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	return []byte(out), nil
}

// WriteBlob stores content and gives its object name.
func (r *Repository) WriteBlob(ctx context.Context, content []byte) (string, error) {
	out, err := r.output(ctx, call{args: []string{"hash-object", "-w", "--stdin"}, stdin: strings.NewReader(string(content))})
	if err != nil {
		return "", fmt.Errorf("write blob: %w", err)
	}
	return strings.TrimSpace(out), nil
}
