package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// stateDir is the folder with all that a run of the demo writes.
type stateDir struct {
	path      string
	temporary bool
}

// openStateDir takes an empty folder, or makes a temporary one if none is named.
func openStateDir(path string) (*stateDir, error) {
	if path == "" {
		tmp, err := os.MkdirTemp("", "sluice-demo-")
		if err != nil {
			return nil, fmt.Errorf("make state folder: %w", err)
		}
		return &stateDir{path: tmp, temporary: true}, nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find state folder: %w", err)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make state folder: %w", err)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("read state folder: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("use state folder %s: it is not empty", path)
	}
	return &stateDir{path: path}, nil
}

func (d *stateDir) join(name string) string { return filepath.Join(d.path, name) }

// close removes a temporary folder, unless the demo failed, and not because it was interrupted:
// then the logs in it are of use, and the error says where they are.
func (d *stateDir) close(failure error, interrupted bool) error {
	if failure != nil && !interrupted {
		return fmt.Errorf("%w\nlogs are in %s", failure, d.path)
	}
	if !d.temporary {
		return failure
	}
	if err := os.RemoveAll(d.path); err != nil {
		return errors.Join(failure, fmt.Errorf("remove state folder: %w", err))
	}
	return failure
}
