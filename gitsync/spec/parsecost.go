package spec

import (
	"bytes"
	"fmt"
	"sync"
)

// What a document takes to parse depends on how many values it has, and hardly on its bytes: a
// value of three bytes takes some hundreds while it is parsed.
const (
	// maxDensity is how many values a document may have at most, roughly: more than a file of a
	// mebibyte of ordinary YAML has.
	maxDensity = 250_000
	// sparse is how many values of a document are parsed whenever it is.
	sparse = 10_000
)

// weigh returns how many values a text has at most. It counts what begins one, also where it stands
// in a text.
func weigh(text []byte) int {
	count := 1
	for i, c := range text {
		switch c {
		case '[', '{', '?':
			count++
		case ',':
			count += 2
		case ':', '-':
			if i+1 == len(text) || bytes.IndexByte(blanks, text[i+1]) >= 0 {
				count += 2
			}
		}
	}
	return count
}

var blanks = []byte(" \t\r\n,[]{}\"'")

// checkDensity refuses documents that take too much to parse.
func checkDensity(d document) *problem {
	if weigh(d.text) <= maxDensity {
		return nil
	}
	return &problem{lineStart(d.line), fmt.Sprintf("the document has more than %d values: make it several", maxDensity)}
}

// turnstile lets texts of many values through one after the other, of whatever source they are:
// together they would take more memory than there is. Others need not wait.
type turnstile struct{ one sync.Mutex }

// enter waits until a text may be parsed, and returns what is to be called after.
func (g *turnstile) enter(weight int) (leave func()) {
	if weight <= sparse {
		return func() {}
	}
	g.one.Lock()
	return g.one.Unlock
}

// dense is that of the whole program, since all its sources share its memory.
var dense turnstile

// maxProblems of one document that are reported: whoever has more will look again after these.
const maxProblems = 100

// locate finds the places of problems of an object at a path of a document, and leaves out what is
// more than anybody reads.
func locate(doc document, path string, found []pathProblem) []problem {
	var problems []problem
	for i, p := range found {
		if i == maxProblems {
			return append(problems, problem{lineStart(doc.line), fmt.Sprintf("there are %d more problems in this document", len(found)-i)})
		}
		problems = append(problems, problem{doc.find(path + p.path), p.message})
	}
	return problems
}
