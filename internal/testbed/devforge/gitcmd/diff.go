package gitcmd

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// emptyTree is the object name of the tree without entries, which every Git knows.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// Change is one file that differs between two trees.
type Change struct {
	// Status is added, removed, modified or renamed.
	Status string
	Path   string
	// Previous is the path before a rename.
	Previous string
	// SHA is the blob after the change, or before it where the file is removed.
	SHA                  string
	Additions, Deletions int
	// Patch is the text of the change from its first "@@" on; empty for binary files.
	Patch string
}

// Diff lists what differs from one tree (or commit) to another. An empty "from" is the empty tree.
func (r *Repository) Diff(ctx context.Context, from, to string) ([]Change, error) {
	if from == "" {
		from = emptyTree
	}
	out, err := r.outputOf(ctx, []string{"diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev", "--numstat", "--patch", "--no-color"}, from, to)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	// The patch comes last, after an empty field.
	summary, patch, _ := strings.Cut(out, "\x00\x00diff --git ")
	changes, numbers := parseRaw(summary)
	addCounts(changes, numbers)
	addPatches(changes, patch)
	return changes, nil
}

var statuses = map[byte]string{'A': "added", 'D': "removed", 'M': "modified", 'R': "renamed", 'T': "changed", 'C': "copied"}

// parseRaw reads ":oldmode newmode oldsha newsha status\0path\0", with a second path for a rename,
// and gives the fields that come after all of these.
func parseRaw(raw string) (changes []Change, rest []string) {
	fields := strings.Split(raw, "\x00")
	i := 0
	for ; i+1 < len(fields) && strings.HasPrefix(fields[i], ":"); i += 2 {
		head := strings.Fields(fields[i])
		if len(head) < 5 {
			break
		}
		change := Change{Status: statuses[head[4][0]], Path: fields[i+1], SHA: head[3]}
		if change.Status == "removed" {
			change.SHA = head[2]
		}
		if change.Status == "renamed" || change.Status == "copied" {
			change.Previous, change.Path = fields[i+1], fields[i+2]
			i++
		}
		changes = append(changes, change)
	}
	return changes, fields[i:]
}

// addCounts reads "added\tdeleted\tpath\0", or "added\tdeleted\t\0old\0new\0" for a rename, in the
// order of the changes. Binary files have "-".
func addCounts(changes []Change, fields []string) {
	for i, at := 0, 0; i < len(changes) && at < len(fields); i++ {
		counts := strings.SplitN(fields[at], "\t", 3)
		if len(counts) < 3 {
			return
		}
		changes[i].Additions, changes[i].Deletions = count(counts[0]), count(counts[1])
		at++
		if counts[2] == "" {
			at += 2
		}
	}
}

func count(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0
	}
	return n
}

// addPatches cuts the whole patch into those of the files, which come in the order of the changes.
func addPatches(changes []Change, patch string) {
	parts := strings.Split(patch, "\ndiff --git ")
	for i := range changes {
		if i >= len(parts) {
			return
		}
		if at := strings.Index(parts[i], "\n@@ "); at >= 0 {
			changes[i].Patch = strings.TrimSuffix(parts[i][at+1:], "\n")
		}
	}
}
