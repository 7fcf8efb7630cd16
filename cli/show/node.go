package show

import (
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/internal/plain"
)

// Node is a line of a tree, with those below it.
type Node struct {
	// Name tells it from the others of its tree.
	Name  string
	State State
	// Text describes it, without times that go by.
	Text string
	// Since is when it came to be so; zero if nobody wants to know.
	Since    metav1.Time
	Children []Node
}

// State is how something is, at a glance.
type State int

// The states. What has none is neither good nor bad.
const (
	Plain State = iota
	Good
	Moving
	Waiting
	Bad
)

// mark returns a sign for a state, for those who see no colours.
func (s State) mark() string { return [...]string{"", "✔ ", "▸ ", "◷ ", "✖ "}[s] }

// paint colours a text by a state, as terminals have it.
func (s State) paint(text string) string {
	const reset = "\x1b[0m"
	colour := [...]string{"", "\x1b[32m", "\x1b[36m", "\x1b[33m", "\x1b[31m"}[s]
	if colour == "" {
		return text
	}
	return colour + text + reset
}

// Draw returns the lines of a tree at a time.
func Draw(root Node, now time.Time, colours bool) []string {
	d := drawing{now: now, colours: colours}
	d.line("", root, 0)
	d.below("", root.Children)
	return d.lines
}

type drawing struct {
	now     time.Time
	colours bool
	lines   []string
}

// below draws nodes beside each other, their texts in one column.
func (d *drawing) below(indent string, nodes []Node) {
	width := 0
	for _, node := range nodes {
		width = max(width, utf8.RuneCountInString(node.title()))
	}
	for i, node := range nodes {
		branch, deeper := "├─ ", "│  "
		if i == len(nodes)-1 {
			branch, deeper = "└─ ", "   "
		}
		d.line(indent+branch, node, width)
		d.below(indent+deeper, node.Children)
	}
}

func (n Node) title() string { return n.State.mark() + line(n.Name) }

// mostText is how many bytes of a text are shown in a line of a tree, and mostCell in a cell of a
// table: a cell makes the rows of all others as wide. Who may write a status has room for a
// megabyte there.
const (
	mostText = 2000
	mostCell = 1000
)

// line returns what somebody has written, as much of it as people read.
func line(text string) string { return plain.UpTo(plain.Line(text), mostText) }

func (d *drawing) line(indent string, node Node, width int) {
	title, text := node.title(), line(node.Text)
	padding := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(title)))
	if d.colours {
		title = node.State.paint(title)
	}
	drawn := indent + title
	if text != "" {
		drawn += padding + "  " + text
	}
	if !node.Since.IsZero() {
		drawn += " (" + since(node.Since, d.now) + ")"
	}
	d.lines = append(d.lines, drawn)
}

// Changes returns a line for each node of a tree that is new, has changed, or is gone.
func Changes(before *Node, after Node) []string {
	known := map[string]Node{}
	if before != nil {
		before.visit("", func(name string, n Node) { known[name] = n })
	}
	var lines []string
	after.visit("", func(name string, n Node) {
		was, found := known[name]
		delete(known, name)
		if !found || was.Text != n.Text || was.State != n.State {
			lines = append(lines, strings.TrimSuffix(n.State.mark()+name+": "+line(n.Text), ": "))
		}
	})
	gone := slices.Sorted(maps.Keys(known))
	for i := range gone {
		gone[i] += ": gone"
	}
	return append(lines, gone...)
}

// visit sees a node and those below it, by names that stand alone: that of an object does, anything
// else is the parent's.
func (n Node) visit(parent string, see func(name string, n Node)) {
	name := line(n.Name)
	if strings.HasPrefix(parent, "gate/") || parent == "traffic" {
		name = parent + " " + name
	}
	see(name, n)
	for _, child := range n.Children {
		child.visit(name, see)
	}
}

// Cut returns as much of a line as a terminal has columns for. Colours take none.
func Cut(line string, width int) string {
	var cut strings.Builder
	columns, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case columns == width:
			continue // colours after it still end
		default:
			columns++
		}
		cut.WriteRune(r)
	}
	return cut.String()
}
