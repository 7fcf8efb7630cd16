package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLedgerGoesOnWithTheNextVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, version := range []string{"v1", "v2"} {
		l, err := openLedger(dir, "store-0", version)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := l.answer(version); err != nil {
				t.Fatal(err)
			}
		}
	}
	l, err := openLedger(dir, "store-0", "v2")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"v1", "v2", "v2"}, l.Starts); diff != "" {
		t.Errorf("starts: -want +got:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"v1": 2, "v2": 2}, l.Answered); diff != "" {
		t.Errorf("answers: -want +got:\n%s", diff)
	}
}

func TestLedgerOfAnotherPodIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := openLedger(dir, "store-0", "v1"); err != nil {
		t.Fatal(err)
	}
	if _, err := openLedger(dir, "store-1", "v1"); err == nil || !strings.Contains(err.Error(), "that of store-0") {
		t.Errorf("want the volume of store-0 refused, got %v", err)
	}
}
