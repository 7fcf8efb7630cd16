// Command pages writes the pages of docs/ that are generated from other files:
//
//	pages FOLDER    # in the root of the checkout
//
// api.md comes from the types in api/v1alpha1 and their comments, reasons.md from the comments in
// api/v1alpha1/reasons.go.
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: pages FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "pages:", err)
		os.Exit(1)
	}
}

func write(folder string) error {
	for name, page := range map[string]func() (string, error){
		"api.md":     func() (string, error) { return apiPage("api/v1alpha1") },
		"reasons.md": func() (string, error) { return reasonsPage("api/v1alpha1/reasons.go") },
	} {
		text, err := page()
		if err != nil {
			return err
		}
		//nolint:gosec // G306: it is published
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write a page: %w", err)
		}
	}
	return nil
}
