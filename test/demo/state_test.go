package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestStateDirIsRemovedUnlessItIsOfUse(t *testing.T) {
	broken := errors.New("broken")
	tests := map[string]struct {
		reason      string
		named       bool
		failure     error
		interrupted bool
		stays       bool
	}{
		"Done":        {"a temporary folder goes when all went well", false, nil, false, false},
		"Interrupted": {"and on Ctrl-C, whatever error that causes", false, broken, true, false},
		"Failed":      {"its logs are of use when the demo failed", false, broken, false, true},
		"Named":       {"a folder that somebody named is theirs", true, nil, false, true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			named := ""
			if tc.named {
				named = filepath.Join(t.TempDir(), "state")
			}
			state, err := openStateDir(named)
			if err != nil {
				t.Fatal(err)
			}
			if err := state.close(tc.failure, tc.interrupted); !errors.Is(err, tc.failure) {
				t.Errorf("%s: the failure must stay: got %v, want %v", tc.reason, err, tc.failure)
			}
			if _, err := os.Stat(state.path); (err == nil) != tc.stays {
				t.Errorf("%s: folder stays: %t, want %t", tc.reason, err == nil, tc.stays)
			}
		})
	}
}
