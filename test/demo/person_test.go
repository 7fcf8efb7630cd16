package main

import (
	"testing"
)

// town is the forge of the demo, with all its people, and the developer's clone.
type town struct {
	*testing.T
	*environment
	work *clone
}

// git works on what the forge has now.
func (w *town) git(args ...string) string {
	w.Helper()
	if _, err := w.work.git(w.Context(), "fetch", "--quiet"); err != nil {
		w.Fatal(err)
	}
	out, err := w.work.git(w.Context(), args...)
	if err != nil {
		w.Fatal(err)
	}
	return out
}
