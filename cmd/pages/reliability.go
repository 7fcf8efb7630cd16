package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

const reliabilityHead = "<!-- Written by make generate from docs/reliability.yaml: change that. -->\n# Reliability\n\n"

type reliability struct {
	Text     string  `json:"text"`
	Sections []areas `json:"sections"`
}

// areas lists the failures around each part of Sluice.
type areas struct {
	Section string  `json:"section"`
	Text    string  `json:"text"`
	Faults  []fault `json:"faults"`
	// After follows the table.
	After string `json:"after"`
}

type fault struct {
	Fault     string `json:"fault"`
	Guarantee string `json:"guarantee"`
	// Tests show it, named as those of a feature.
	Tests []string `json:"tests"`
}

// reliabilityPage lists what can go wrong, what Sluice guarantees then, and the tests that show it.
func reliabilityPage(source, root string) (string, error) {
	data, err := os.ReadFile(source)
	if err != nil {
		return "", fmt.Errorf("read the faults: %w", err)
	}
	var page reliability
	if err := yaml.UnmarshalStrict(data, &page); err != nil {
		return "", fmt.Errorf("decode %s: %w", source, err)
	}
	tests, err := testsBelow(root)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	var problems []error
	text.WriteString(reliabilityHead + page.Text)
	for _, section := range page.Sections {
		text.WriteString("\n## " + section.Section + "\n\n" + section.Text)
		if section.Text != "" && len(section.Faults) != 0 {
			text.WriteString("\n")
		}
		if len(section.Faults) != 0 {
			text.WriteString("| fault | guarantee | shown by |\n|---|---|---|\n")
		}
		for _, fault := range section.Faults {
			names, err := tests.names(fault.Tests)
			if err != nil {
				problems = append(problems, fmt.Errorf("%s: %q: %w", source, fault.Fault, err))
			}
			fmt.Fprintf(&text, "| %s | %s | %s |\n", fault.Fault, fault.Guarantee, names)
		}
		if section.After != "" {
			text.WriteString("\n" + section.After)
		}
	}
	return text.String(), errors.Join(problems...)
}
