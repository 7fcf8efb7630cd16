// Command schemas writes the JSON schemas of the CRDs, for editors:
//
//	schemas FOLDER CRD...
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/sluice-dev/sluice/internal/schema"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: schemas FOLDER CRD...")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func write(folder string, names []string) error {
	crds := make([][]byte, len(names))
	for i, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read a CRD: %w", err)
		}
		crds[i] = data
	}
	files, err := schema.Files(crds...)
	if err != nil {
		return err
	}
	for name, content := range files {
		//nolint:gosec // G306: it is published
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o644); err != nil {
			return fmt.Errorf("write a schema: %w", err)
		}
	}
	return nil
}
