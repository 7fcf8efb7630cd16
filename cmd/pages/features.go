package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

const featuresHead = `<!-- Written by make generate from docs/features.yaml: change that. -->
# Features

What Sluice does, and the tests that show it. Those in ` + "`test/journeys`" + ` run on a real control plane.
`

type section struct {
	Section  string    `json:"section"`
	Features []feature `json:"features"`
}

type feature struct {
	// Does describes the feature, in Markdown.
	Does string `json:"does"`
	// Tests show it: "TestName", or "folder.TestName" where several packages have a test of that name.
	Tests []string `json:"tests"`
}

// featuresPage lists the features, each with the tests that show it. A test that the checkout does
// not have is an error, and so is a name that could mean several.
func featuresPage(source, root string) (string, error) {
	data, err := os.ReadFile(source)
	if err != nil {
		return "", fmt.Errorf("read the features: %w", err)
	}
	var sections []section
	if err := yaml.UnmarshalStrict(data, &sections); err != nil {
		return "", fmt.Errorf("decode %s: %w", source, err)
	}
	tests, err := testsBelow(root)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	var problems []error
	text.WriteString(featuresHead)
	for _, section := range sections {
		fmt.Fprintf(&text, "\n## %s\n\n| feature | shown by |\n|---|---|\n", section.Section)
		for _, feature := range section.Features {
			names, err := tests.names(feature.Tests)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %q: %w", source, feature.Does, err))
			}
			fmt.Fprintf(&text, "| %s | %s |\n", feature.Does, names)
		}
	}
	return text.String(), errors.Join(problems...)
}

// tests are the packages that have a test of a name.
type tests map[string][]string

var function = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)

func testsBelow(root string) (tests, error) {
	found := tests{}
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && entry.Name() == ".git":
			return fs.SkipDir
		case !strings.HasSuffix(file, "_test.go"):
			return nil
		}
		data, err := os.ReadFile(file) //nolint:gosec // G304, G122: it is in the checkout
		if err != nil {
			return fmt.Errorf("read a test: %w", err)
		}
		folder, err := filepath.Rel(root, filepath.Dir(file))
		if err != nil {
			return fmt.Errorf("name a package: %w", err)
		}
		for _, match := range function.FindAllSubmatch(data, -1) {
			if test, folder := string(match[1]), filepath.ToSlash(folder); !slices.Contains(found[test], folder) {
				found[test] = append(found[test], folder)
			}
		}
		return nil
	})
	return found, err
}

func (t tests) names(wanted []string) (string, error) {
	if len(wanted) == 0 {
		return "", errors.New("no test shows it")
	}
	names := make([]string, len(wanted))
	for i, name := range wanted {
		folder, err := t.folder(name)
		if err != nil {
			return "", err
		}
		names[i] = "`" + folder + "." + name[strings.LastIndex(name, ".")+1:] + "`"
	}
	return strings.Join(names, ", "), nil
}

// folder returns where the test of a name is.
func (t tests) folder(name string) (string, error) {
	within, test, ok := strings.Cut(name, ".")
	if !ok {
		within, test = "", name
	}
	var folders []string
	for _, folder := range t[test] {
		if within == "" || folder == within || strings.HasSuffix(folder, "/"+within) {
			folders = append(folders, folder)
		}
	}
	switch len(folders) {
	case 0:
		return "", fmt.Errorf("there is no test %s", name)
	case 1:
		return folders[0], nil
	}
	return "", fmt.Errorf("%s is in %s: name one as FOLDER.%s", name, strings.Join(folders, " and in "), test)
}
