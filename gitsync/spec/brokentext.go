package spec

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Beginnings of a pointer of Git LFS: its specification, and its name of old.
var lfsPointers = [][]byte{[]byte("version https://git-lfs.github.com/spec/"), []byte("version https://hawser.github.com/spec/")}

// Lines that Git leaves in a file that it could not merge.
var conflictMarks = [][]byte{[]byte("<<<<<<< "), []byte("||||||| "), []byte(">>>>>>> ")}

// hiddenBreak finds what ends a line for YAML 1.1, except its end: a carriage return alone, and the
// next line, line separator and paragraph separator of Unicode. Editors and forges mostly show one
// line.
func hiddenBreak(line []byte) (rune, bool) {
	line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
	at := bytes.IndexAny(line, "\r\u0085\u2028\u2029")
	if at < 0 {
		return 0, false
	}
	r, _ := utf8.DecodeRune(line[at:])
	return r, true
}

// isUTF16 reports whether a text begins as editors of Windows mark UTF-16.
func isUTF16(data []byte) bool {
	return bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff"))
}

// isUnreadable reports whether the content of a file can't be known.
func isUnreadable(data []byte) bool {
	return !utf8.Valid(data) || slices.ContainsFunc(lfsPointers, func(pointer []byte) bool { return bytes.HasPrefix(data, pointer) })
}

// damage finds what a manifest becomes by accident, in words that say how to get out of it. Some of
// it would pass for YAML that says nothing of a release, as if the release had been taken out; of
// the rest the YAML library says little.
func damage(data []byte) *problem {
	for _, pointer := range lfsPointers {
		if bytes.HasPrefix(data, pointer) {
			return &problem{lineStart(1), "the file is a pointer of Git LFS, and not the manifest, which is not fetched: " +
				"take manifests out of LFS in .gitattributes, and commit the file again with git add --renormalize"}
		}
	}
	switch {
	case isUTF16(data):
		return &problem{lineStart(1), "the file is not UTF-8 text, but UTF-16: save it as UTF-8"}
	case !utf8.Valid(data):
		return &problem{lineStart(1), "the file is not UTF-8 text"}
	}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		for _, mark := range conflictMarks {
			if bytes.HasPrefix(text, mark) {
				return &problem{lineStart(line), "the file has a merge conflict that is not resolved: resolve it, and commit the file"}
			}
		}
		if r, found := hiddenBreak(text); found {
			return &problem{lineStart(line), fmt.Sprintf("the line has a character in it (%U) that ends a line in YAML, but hardly anywhere else: the text "+
				"after it would count, while reviewers may see it as part of a comment. Remove it, or write it as an escape in double quotes", r)}
		}
	}
	return nil
}
