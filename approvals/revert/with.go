package revert

import (
	"bytes"
	"cmp"
	"errors"
	"maps"
	"reflect"
	"slices"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"
)

// With returns the file with the template that another has. Nothing changes where the two have the
// same.
func (f *File) With(then *File) ([]byte, error) {
	c := &comparison{now: f.document, then: then.document}
	template, old := *entryOf(f.holder, "template"), *entryOf(then.holder, "template")
	edits, ok := c.entry(template, old, false)
	if !ok {
		return nil, errors.New("the template is written in a way that can't be changed piece by piece")
	}
	changed := f.document.apply(edits)
	if !f.becomes(changed, then) {
		return nil, errors.New("the template can't be put back piece by piece")
	}
	return slices.Concat(f.text[:f.start], changed, f.text[f.start+len(f.document.text):]), nil
}

// becomes reads a changed document again: it must say what it said, with the other template.
func (f *File) becomes(changed []byte, then *File) bool {
	value, err := newDocument(changed).decode()
	if err != nil {
		return false
	}
	wanted := maps.Clone(f.value)
	spec, _ := wanted["spec"].(map[string]any)
	spec = maps.Clone(spec)
	spec["template"] = templateIn(then.value)
	wanted["spec"] = spec
	return reflect.DeepEqual(value, wanted)
}

// edit puts a text in the place of a part.
type edit struct {
	span
	text []byte
}

// apply makes the changes. They don't overlap, and insertions at one place keep their order.
func (d *document) apply(edits []edit) []byte {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Or(a.from-b.from, a.to-b.to) })
	var out bytes.Buffer
	at := 0
	for _, e := range edits {
		out.Write(d.text[at:e.from])
		out.Write(e.text)
		at = e.to
	}
	out.Write(d.text[at:])
	return out.Bytes()
}

// comparison finds what makes the values of one document those of another. Its methods report false
// where that can't be done in place: then what holds the value is exchanged as a whole.
type comparison struct{ now, then *document }

// entry makes the value of a key that of the other, if need be with the key and all.
func (c *comparison) entry(now, then entry, flow bool) ([]edit, bool) {
	if edits, ok := c.value(now.value, then.value, flow); ok {
		return edits, true
	}
	if flow {
		return nil, false
	}
	return c.exchange(now, then)
}

func (c *comparison) value(now, then *yaml.Node, flow bool) ([]edit, bool) {
	flow = flow || isFlow(now)
	switch {
	case same(now, then):
		return nil, true
	case now.Kind != then.Kind:
		return nil, false
	case now.Kind == yaml.ScalarNode:
		return c.scalar(now, then, flow)
	case now.Kind == yaml.SequenceNode:
		return c.sequence(now, then, flow)
	}
	return c.mapping(now, then, flow)
}

func isFlow(n *yaml.Node) bool { return n.Style&yaml.FlowStyle != 0 }

// same reports whether two values say the same, however they are formatted.
func same(now, then *yaml.Node) bool {
	if now.Kind != then.Kind || len(now.Content) != len(then.Content) {
		return false
	}
	switch now.Kind {
	case yaml.ScalarNode:
		return now.Value == then.Value && ((now.Style == 0) == (then.Style == 0) || isText(now) && isText(then))
	case yaml.MappingNode:
		return !slices.ContainsFunc(entriesOf(now), func(e entry) bool {
			other := valueOf(then, e.key.Value)
			return other == nil || !same(e.value, other)
		})
	}
	for i := range now.Content {
		if !same(now.Content[i], then.Content[i]) {
			return false
		}
	}
	return true
}

// isText reports whether a value is a text, as what reads the file sees it: one without quotes may
// be none.
func isText(n *yaml.Node) bool {
	var value any
	return n.Style != 0 || kyaml.Unmarshal([]byte(n.Value), &value) == nil && value == n.Value
}

// scalar exchanges the characters of a value.
func (c *comparison) scalar(now, then *yaml.Node, flow bool) ([]edit, bool) {
	from, okFrom := c.now.spanOf(now)
	by, okBy := c.then.spanOf(then)
	text := c.then.text[by.from:by.to]
	if !okFrom || !okBy || flow && then.Style == 0 && bytes.ContainsAny(text, ",[]{}") || bytes.ContainsAny(text, "\n") {
		return nil, false
	}
	return []edit{{from, text}}, true
}

// sequence goes on into the items, if there are as many.
func (c *comparison) sequence(now, then *yaml.Node, flow bool) ([]edit, bool) {
	if len(now.Content) != len(then.Content) {
		return nil, false
	}
	var edits []edit
	for i := range now.Content {
		more, ok := c.value(now.Content[i], then.Content[i], flow)
		if !ok {
			return nil, false
		}
		edits = append(edits, more...)
	}
	return edits, true
}

// mapping goes on into the keys that both have, and adds and takes away the others.
func (c *comparison) mapping(now, then *yaml.Node, flow bool) ([]edit, bool) {
	if len(then.Content) == 0 || !flow && isFlow(then) {
		return nil, false
	}
	var edits []edit
	for _, e := range entriesOf(now) {
		more, ok := c.keepOrTakeAway(e, then, flow)
		if !ok {
			return nil, false
		}
		edits = append(edits, more...)
	}
	added, ok := c.addMissing(now, then, flow)
	return append(edits, added...), ok
}

func (c *comparison) keepOrTakeAway(e entry, then *yaml.Node, flow bool) ([]edit, bool) {
	if old := entryOf(then, e.key.Value); old != nil {
		return c.entry(e, *old, flow)
	}
	if flow || !c.now.beginsLine(e.key) {
		return nil, false
	}
	return []edit{{span: c.now.withComments(e)}}, true
}

// addMissing adds the keys that only the other has, each after the one that it followed there.
func (c *comparison) addMissing(now, then *yaml.Node, flow bool) ([]edit, bool) {
	var edits []edit
	var before *entry
	for _, e := range entriesOf(then) {
		if known := entryOf(now, e.key.Value); known != nil {
			before = known
			continue
		}
		if flow {
			return nil, false
		}
		added, ok := c.add(e, before, now)
		if !ok {
			return nil, false
		}
		edits = append(edits, added)
	}
	return edits, true
}

// add puts an entry of the other document behind one of this, or in front of all.
func (c *comparison) add(e entry, before *entry, now *yaml.Node) (edit, bool) {
	first := entriesOf(now)[0]
	if !c.then.beginsLine(e.key) || before == nil && !c.now.beginsLine(first.key) {
		return edit{}, false
	}
	at := c.now.withComments(first).from
	if before != nil {
		at = c.now.extent(*before).to
	}
	part := c.then.withComments(e)
	text := c.reindent(c.then.text[part.from:part.to], e.key.Column-1, first.key.Column-1)
	if at > 0 && c.now.text[at-1] != '\n' { // the file ends without an end of line
		return edit{span{at, at}, append(c.now.newline(), bytes.TrimRight(text, "\r\n")...)}, true
	}
	return edit{span{at, at}, text}, true
}

// exchange puts an entry of the other document in the place of one of this.
func (c *comparison) exchange(now, then entry) ([]edit, bool) {
	if now.key.Kind != yaml.ScalarNode || now.key.Line == 0 {
		return nil, false
	}
	at, by := c.now.extent(now), c.then.extent(then)
	text := c.reindent(c.then.text[by.from:by.to], then.key.Column-1, now.key.Column-1)
	if c.now.text[at.to-1] != '\n' {
		text = bytes.TrimRight(text, "\r\n")
	}
	return []edit{{at, text}}, true
}

// reindent moves the lines of a block, except the first where it has lost its indentation, and
// gives them the ends that lines have here.
func (c *comparison) reindent(block []byte, from, to int) []byte {
	var out bytes.Buffer
	newline := c.now.newline()
	for line := range bytes.Lines(block) {
		line = bytes.TrimRight(line, "\r\n")
		indented := len(line) - len(bytes.TrimLeft(line, " "))
		switch {
		case len(line) == indented:
		case out.Len() == 0 && indented < from:
		case to > from:
			out.Write(bytes.Repeat([]byte(" "), to-from))
		default:
			line = line[min(indented, from-to):]
		}
		out.Write(line)
		out.Write(newline)
	}
	return out.Bytes()
}
