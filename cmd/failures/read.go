package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// event is what go test -json says of a test, of a package (which has no test), or of a build (no package either).
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

// test is what the events say of a test, a package or a build.
type test struct {
	pkg, name      string
	failed, passed bool
	output         strings.Builder
}

// read reads events. Tests are in the order in which they began.
func read(from io.Reader) ([]*test, error) {
	var tests []*test
	known := map[[2]string]*test{}
	for events := json.NewDecoder(from); ; {
		var e event
		err := events.Decode(&e)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) { // the runner may have been killed
			return tests, nil
		}
		if err != nil {
			return nil, fmt.Errorf("decode event: %w", err)
		}
		id := [2]string{e.Package + e.ImportPath, e.Test} // only one of the first two is there
		if known[id] == nil {
			known[id] = &test{pkg: id[0], name: e.Test}
			tests = append(tests, known[id])
		}
		known[id].take(e)
	}
}

func (t *test) take(e event) {
	switch e.Action {
	case "output", "build-output":
		t.output.WriteString(e.Output)
	case "fail", "build-fail":
		t.failed = e.FailedBuild == "" // of which there are events too
	case "pass":
		t.passed = true
	}
}

// crashed tells whether a panic is in the output: that of a test which never ended, for one, or whose part it was.
func (t *test) crashed() bool {
	return !t.passed && crash.MatchString(t.output.String())
}

// failed are those that failed by themselves, not because a part of them did.
func failed(tests []*test) []*test {
	parents := map[[2]string]bool{}
	for _, t := range tests {
		if t.name != "" && (t.failed || t.crashed()) {
			parents[[2]string{t.pkg, ""}] = true
			for i, c := range t.name {
				if c == '/' {
					parents[[2]string{t.pkg, t.name[:i]}] = true
				}
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(tests), func(t *test) bool {
		return !t.crashed() && (!t.failed || parents[[2]string{t.pkg, t.name}])
	})
}
