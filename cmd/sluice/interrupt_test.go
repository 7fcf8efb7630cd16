package main

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// TestInterrupted: after Ctrl-C a waiting command reports that it was interrupted, and nothing of
// a context.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	canceled := fmt.Errorf("read release: %w", context.Canceled)
	cases := map[string]struct {
		ctx  context.Context //nolint:containedctx // an argument of the case
		err  error
		want string
	}{
		"Interrupted":    {ended, canceled, "interrupted"},
		"AnotherError":   {ended, errors.New("no such release"), "no such release"},
		"NotByTheUser":   {t.Context(), canceled, "read release: context canceled"},
		"NotInterrupted": {t.Context(), errors.New("no such release"), "no such release"},
	}
	for name, tc := range cases {
		if got := wordsOf(tc.ctx, tc.err); got != tc.want {
			t.Errorf("%s: want %q, got %q", name, tc.want, got)
		}
	}
}
