package spec

import (
	"bytes"
	"unicode/utf8"
)

// Beginnings of a pointer of Git LFS: its specification, and its name of old.
var lfsPointers = [][]byte{[]byte("version https://git-lfs.github.com/spec/"), []byte("version https://hawser.github.com/spec/")}

// Lines that Git leaves in a file that it could not merge.
var conflictMarks = [][]byte{[]byte("<<<<<<< "), []byte("||||||| "), []byte(">>>>>>> ")}

// damage finds what a manifest becomes by accident, in words that say how to get out of it. Some of it would pass for
// YAML that says nothing of a release, as if the release had been taken out; of the rest the YAML library says little.
func damage(data []byte) *problem {
	for _, pointer := range lfsPointers {
		if bytes.HasPrefix(data, pointer) {
			return &problem{lineStart(1), "the file is a pointer of Git LFS, and not the manifest, which is not fetched: " +
				"take manifests out of LFS in .gitattributes, and commit the file again with git add --renormalize"}
		}
	}
	if !utf8.Valid(data) {
		return &problem{lineStart(1), "the file is not UTF-8 text"}
	}
	line := 0
	for text := range bytes.Lines(data) {
		line++
		for _, mark := range conflictMarks {
			if bytes.HasPrefix(text, mark) {
				return &problem{lineStart(line), "the file has a merge conflict that is not resolved: edit it to what is meant, and commit it"}
			}
		}
	}
	return nil
}
