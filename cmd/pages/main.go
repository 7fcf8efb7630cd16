// Command pages writes the pages of docs/ that are generated from other files:
//
//	pages FOLDER    # in the root of the checkout
//
// reasons.md comes from the comments in api/v1alpha1/reasons.go, packages.md from the comments of
// all packages, features.md and reliability.md from the YAML files beside them.
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
		"reasons.md":     func() (string, error) { return reasonsPage("api/v1alpha1/reasons.go") },
		"features.md":    func() (string, error) { return featuresPage("docs/features.yaml", ".") },
		"packages.md":    func() (string, error) { return packagesPage(".") },
		"reliability.md": func() (string, error) { return reliabilityPage("docs/reliability.yaml", ".") },
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
