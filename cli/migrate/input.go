package migrate

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sluice-dev/sluice/gitsync/spec"
)

// input is a document of the input.
type input struct {
	t        *translation
	file     string
	document spec.Document
}

// reported is a finding of a document, without its place, which takes time.
type reported struct {
	in            *input
	kind          Kind
	path, message string
}

// report reports what became of the field at a path.
func (in *input) report(kind Kind, path, message string) {
	if in.t.more > 0 { // the place of one more takes time, and is not shown
		in.t.more++
		return
	}
	path = strings.TrimSuffix(path, ".")
	one := reported{in, kind, path, message}
	if in.t.reported[one] {
		return
	}
	in.t.reported[one] = true
	line, column := in.document.Place(path)
	in.t.report(Finding{File: in.file, Line: line, Column: column, Kind: kind, Field: path, Message: message})
}

// object is an object of a document, which notes the fields that are read.
type object struct {
	*input

	path   string
	fields map[string]any
	read   map[string]bool
}

func (in *input) object(path string, fields map[string]any) *object {
	return &object{in, prefix(path), fields, map[string]bool{}}
}

// report reports what became of a field of the object, or with an empty name of the object.
func (o *object) report(kind Kind, name, message string) { o.input.report(kind, o.path+name, message) }

// has reports whether the object has a field with a value, and marks it as read.
func (o *object) has(name string) bool {
	o.read[name] = true
	return o.fields[name] != nil
}

// text returns a scalar as text; empty if there is none. A text that nobody can see whole is left
// out.
func (o *object) text(name string) string {
	if !o.has(name) {
		return ""
	}
	var text string
	switch value := o.fields[name].(type) {
	case string:
		text = value
	case json.Number:
		text = value.String()
	case bool:
		text = strconv.FormatBool(value)
	default:
		o.report(LeftOut, name, "is not a text: correct it")
		return ""
	}
	if strings.ContainsFunc(text, unseen) {
		o.report(LeftOut, name, "has characters that are not visible: remove them")
		return ""
	}
	return text
}

// unseen reports whether a character is not visible, or changes how others are seen.
func unseen(r rune) bool {
	return !unicode.IsPrint(r) && r != '\n' && r != '\t' || r == unicode.ReplacementChar
}

// flag returns whether a field is true.
func (o *object) flag(name string) bool {
	value := o.text(name)
	if value != "" && value != "true" && value != "false" {
		o.report(LeftOut, name, "is neither true nor false: correct it")
	}
	return value == "true"
}

// child returns an object that is a field; nil if there is none.
func (o *object) child(name string) *object {
	if !o.has(name) {
		return nil
	}
	fields, is := o.fields[name].(map[string]any)
	if !is {
		o.report(LeftOut, name, "is not an object: correct it")
		return nil
	}
	return o.object(o.path+name, fields)
}

// list returns the objects of a list that is a field.
func (o *object) list(name string) []*object {
	if !o.has(name) {
		return nil
	}
	items, is := o.fields[name].([]any)
	if !is {
		o.report(LeftOut, name, "is not a list: correct it")
		return nil
	}
	var all []*object
	for i, item := range items {
		at := fmt.Sprintf("%s[%d]", name, i)
		if fields, is := item.(map[string]any); is {
			all = append(all, o.object(o.path+at, fields))
			continue
		}
		o.report(LeftOut, at, "is not an object: correct it")
	}
	return all
}

// names returns the names of the fields, sorted.
func (o *object) names() []string { return slices.Sorted(maps.Keys(o.fields)) }

// rest reports the fields that were not read.
func (o *object) rest(kind Kind, message string) {
	for _, name := range o.names() {
		if !o.read[name] && o.fields[name] != nil {
			o.report(kind, name, message)
		}
	}
}

// noEqual reports the fields that were not read as such without an equal.
func (o *object) noEqual() { o.rest(LeftOut, "has no equal: remove it, if the gate does without") }

// skip marks fields as read that mean nothing to a translation.
func (o *object) skip(names ...string) {
	for _, name := range names {
		o.read[name] = true
	}
}

// metadata reads name and namespace of an object, and reports what else its author wrote.
func (o *object) metadata() (name, namespace string) {
	o.skip("apiVersion", "kind", "status")
	meta := o.child("metadata")
	if meta == nil {
		return "", ""
	}
	name, namespace = meta.text("name"), meta.text("namespace")
	if namespace != "" && !isLabel(namespace) {
		meta.report(LeftOut, "namespace", "is not the name of a namespace: correct it")
		namespace = ""
	}
	meta.skip("creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid")
	meta.rest(Note, "is not copied to the MetricProvider")
	return name, namespace
}

// duration reads a text as a duration within bounds; nil if there is none.
func (o *object) duration(name, text string, least, most time.Duration) *time.Duration {
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		o.report(LeftOut, name, "is not a duration such as 30s: correct it")
		return nil
	}
	if bounded := min(max(d, least), most); bounded != d {
		o.report(Changed, name, fmt.Sprintf("Sluice takes from %s to %s: it is written as %s", short(least), short(most), short(bounded)))
		d = bounded
	}
	return &d
}

// short writes a duration of whole seconds as people do: 1h, and not 1h0m0s.
func short(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return strings.Replace(text, "h0m", "h", 1)
}

// whole reads a text as a number of at least the least; nil if there is none.
func (o *object) whole(name, text string, least int32) *int32 {
	if text == "" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || int32(n) < least {
		o.report(LeftOut, name, fmt.Sprintf("is not a whole number from %d: correct it", least))
		return nil
	}
	return new(int32(n))
}
