package view

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
)

// The bounds of a diff: how large the two templates may be, as JSON and as YAML, how deep each, and
// how many lines of the difference are shown. YAML is indented, so that a small and deep one would
// be a thousand times as large; a pod template is about 12 deep.
const (
	mostTemplate = 512 << 10
	deepest      = 24
	// mostChanged is how large both templates of a release in progress may be for its own page.
	mostChanged   = 64 << 10
	mostDiffLines = 2000
)

// Diff is the difference between two templates in the history of a release.
type Diff struct {
	Namespace, Name, From, To string
	Lines                     []DiffLine
	// Note says why there are no lines.
	Note string
}

// DiffLine is a line of a diff, and which kind it is: add, del, hunk or same.
type DiffLine struct{ Class, Text string }

// DiffOf returns what differs between two templates that a release keeps, by their revisions. It
// reports false if either is not kept.
func DiffOf(release *v1alpha1.BatchRelease, kept []appsv1.ControllerRevision, from, to string) (*Diff, bool) {
	before, foundBefore := find(kept, from)
	after, foundAfter := find(kept, to)
	if !foundBefore || !foundAfter {
		return nil, false
	}
	shown := &Diff{Namespace: release.Namespace, Name: release.Name, From: from, To: to}
	if before == nil || after == nil || len(before)+len(after) > mostTemplate {
		shown.Note = fmt.Sprintf("The templates are too large to be shown here. Run: sluice history %s -n %s --revision %s -o yaml", release.Name, release.Namespace, to)
		return shown, true
	}
	text := diff.Diff(from, before, to, after)
	if len(text) == 0 {
		shown.Note = "The templates are the same."
		return shown, true
	}
	shown.Lines = diffLines(text)
	return shown, true
}

// changesOf returns what the release in progress changes in the template: nil where none is in
// progress, or the viewer may not read both templates. The page is made again at each event for
// each viewer, so it does not compare large templates.
func changesOf(sight *show.Sight) *Diff {
	status := &sight.Release.Status
	if status.Held == nil || status.Rollback != nil || status.StableRevision == status.UpdateRevision {
		return nil
	}
	kept := withReleased(sight)
	before, after := keptOf(kept, status.StableRevision), keptOf(kept, status.UpdateRevision)
	if before == nil || after == nil {
		return nil
	}
	if len(before.Data.Raw)+len(after.Data.Raw) > mostChanged {
		return &Diff{From: status.StableRevision, To: status.UpdateRevision, Note: "The templates are too large to be compared here. The pull request or the commit shows what changes."}
	}
	changes, _ := DiffOf(sight.Release, kept, status.StableRevision, status.UpdateRevision)
	return changes
}

// find returns the template of a revision as YAML; nil if it is too large or deep for that.
func find(kept []appsv1.ControllerRevision, revision string) ([]byte, bool) {
	for i := range kept {
		if revision == "" || kept[i].Labels[v1alpha1.RevisionLabel] != revision {
			continue
		}
		if raw := kept[i].Data.Raw; len(raw) > mostTemplate || depthOf(raw) > deepest {
			return nil, true
		}
		text, err := yaml.JSONToYAML(kept[i].Data.Raw)
		if err != nil {
			return nil, false
		}
		return text, true
	}
	return nil, false
}

// depthOf returns how many objects and lists are in each other, in JSON.
func depthOf(raw []byte) int {
	most, depth, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			depth++
			most = max(most, depth)
		case c == '}', c == ']':
			depth--
		}
	}
	return most
}

func diffLines(text []byte) []DiffLine {
	var lines []DiffLine
	for part := range bytes.Lines(text) {
		if len(lines) == mostDiffLines {
			return append(lines, DiffLine{"hunk", "... more lines are left out"})
		}
		one := strings.TrimSuffix(string(part), "\n")
		class := "same"
		switch {
		case strings.HasPrefix(one, "diff "), strings.HasPrefix(one, "--- "), strings.HasPrefix(one, "+++ "), strings.HasPrefix(one, "@@"):
			class = "hunk"
		case strings.HasPrefix(one, "+"):
			class = "add"
		case strings.HasPrefix(one, "-"):
			class = "del"
		}
		lines = append(lines, DiffLine{class, visible(one)})
	}
	return lines
}

// visible returns a line with its indentation and without invisible characters.
func visible(text string) string {
	indent := len(text) - len(strings.TrimLeft(text, " +-"))
	return text[:indent] + line(text[indent:])
}
