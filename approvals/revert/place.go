package revert

import (
	"bytes"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// offset returns where a node begins. The parser counts characters, and both from 1.
func (d *document) offset(n *yaml.Node) int {
	at := d.lines[min(max(n.Line, 1), len(d.lines))-1]
	for range n.Column - 1 {
		_, size := utf8.DecodeRune(d.text[at:])
		at += size
	}
	return at
}

// spanOf returns where a value stands that is on one line; false where it is not.
func (d *document) spanOf(n *yaml.Node) (span, bool) {
	from := d.offset(n)
	rest := d.text[from:]
	if i := bytes.IndexByte(rest, '\n'); i >= 0 {
		rest = rest[:i]
	}
	length, ok := 0, false
	switch n.Style {
	case 0:
		length, ok = len(n.Value), n.Value != "" && bytes.HasPrefix(rest, []byte(n.Value))
	case yaml.SingleQuotedStyle:
		length, ok = quoted(rest, '\'')
	case yaml.DoubleQuotedStyle:
		length, ok = quoted(rest, '"')
	}
	return span{from, from + length}, ok
}

// quoted returns how long a text in quotes is; false where it does not end.
func quoted(text []byte, quote byte) (int, bool) {
	for i := 1; i < len(text) && text[0] == quote; i++ {
		doubled := quote == '\'' && i+1 < len(text) && text[i+1] == quote
		switch {
		case quote == '"' && text[i] == '\\', text[i] == quote && doubled:
			i++
		case text[i] == quote:
			return i + 1, true
		}
	}
	return 0, false
}

// beginsLine reports whether nothing but space is before a key on its line.
func (d *document) beginsLine(key *yaml.Node) bool {
	return len(bytes.TrimSpace(d.text[d.lineStart(key):d.offset(key)])) == 0
}

func (d *document) lineStart(n *yaml.Node) int { return d.lines[n.Line-1] }

// newline returns how lines end.
func (d *document) newline() []byte {
	if bytes.Contains(d.text, []byte("\r\n")) {
		return []byte("\r\n")
	}
	return []byte("\n")
}

// withComments returns an entry with its whole first line, and the comments right above it.
func (d *document) withComments(e entry) span {
	part, indent := d.extent(e), e.key.Column-1
	line := e.key.Line - 1
	for line > 0 {
		above, depth := d.line(line - 1)
		if depth != indent || len(above) == 0 || above[0] != '#' {
			break
		}
		line--
	}
	part.from = d.lines[line]
	return part
}

// extent returns where an entry of a mapping in block style stands: from its key to the end of the
// last line that belongs to its value. Comments behind it that are not deeper than the key belong
// to what follows.
func (d *document) extent(e entry) span {
	indent := e.key.Column - 1
	end := e.key.Line
	for line := e.key.Line; line < len(d.lines); line++ {
		text, depth := d.line(line)
		switch {
		case len(text) == 0, text[0] == '#' && depth <= indent:
			continue
		case depth > indent, depth == indent && continues(text[0], e.value):
			end = line + 1
			continue
		}
		break
	}
	part := span{d.offset(e.key), len(d.text)}
	if end < len(d.lines) {
		part.to = d.lines[end]
	}
	return part
}

// continues reports whether a line that is no deeper than a key belongs to its value: the items of
// a sequence may stand there, and the bracket that closes one.
func continues(first byte, value *yaml.Node) bool {
	switch {
	case value.Kind == yaml.SequenceNode && !isFlow(value):
		return first == '-'
	case value.Kind == yaml.SequenceNode:
		return first == ']'
	case value.Kind == yaml.MappingNode && isFlow(value):
		return first == '}'
	}
	return false
}

// line returns a line without the space around it, and how deep it is indented.
func (d *document) line(n int) (text []byte, depth int) {
	end := len(d.text)
	if n+1 < len(d.lines) {
		end = d.lines[n+1]
	}
	whole := d.text[d.lines[n]:end]
	trimmed := bytes.TrimLeft(whole, " ")
	return bytes.TrimSpace(trimmed), len(whole) - len(trimmed)
}
