package chart

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
	v2util "helm.sh/helm/v4/pkg/chart/v2/util"
)

// checkDependencies names the dependencies of the chart, and of those that it holds, that are not
// vendored: nothing is fetched, whatever repository and lock file say.
func (c Chart) checkDependencies(loaded *v2.Chart) []Problem {
	problems := c.checkTwice(loaded)
	for _, dependency := range loaded.Metadata.Dependencies {
		if dependency == nil {
			continue
		}
		var fits, others []string
		for _, vendored := range loaded.Dependencies() {
			version := vendored.Metadata.Version
			switch {
			case vendored.Name() != dependency.Name:
			case v2util.IsCompatibleRange(dependency.Version, version):
				fits = append(fits, version)
			default:
				others = append(others, version)
			}
		}
		if len(fits) != 1 {
			problems = append(problems, c.notVendored(loaded, dependency, fits, others))
		}
	}
	for _, vendored := range loaded.Dependencies() {
		problems = append(problems, c.checkDependencies(vendored)...)
	}
	return problems
}

// checkTwice names charts that a chart holds twice: Helm takes any of them.
func (c Chart) checkTwice(loaded *v2.Chart) []Problem {
	var problems []Problem
	seen := map[string]bool{}
	for _, vendored := range loaded.Dependencies() {
		name := vendored.Name() + " " + vendored.Metadata.Version
		if seen[name] {
			problems = append(problems, *c.fail(File, fmt.Sprintf("chart %s has %s twice in its folder charts: delete one", loaded.Name(), name)))
		}
		seen[name] = true
	}
	return problems
}

// notVendored says of a dependency that not exactly one vendored chart fits.
func (c Chart) notVendored(loaded *v2.Chart, dependency *v2.Dependency, fits, others []string) Problem {
	is := "is not in its folder charts"
	switch {
	case len(fits) > 1:
		is = "is in its folder charts as " + strings.Join(fits, " and ") + ", of which Helm takes any"
	case len(others) > 0:
		is = "is in its folder charts as " + strings.Join(others, " and ")
	}
	line := 0
	if loaded.IsRoot() {
		line = lineOf(c.Files[path.Join(c.Folder, File)], dependency.Name)
	}
	problem := c.fail(File, fmt.Sprintf("dependencies: %s %s of chart %s %s, and nothing is fetched from elsewhere: "+
		"run helm dependency update, and commit the folder charts", dependency.Name, dependency.Version, loaded.Name(), is))
	problem.Line = line
	return *problem
}

// putInOrder sorts the charts that a chart holds, and those that they hold: Helm loads them in any
// order, and of two templates with one name takes the last.
func putInOrder(loaded *v2.Chart) {
	vendored := slices.Clone(loaded.Dependencies())
	slices.SortStableFunc(vendored, func(a, b *v2.Chart) int {
		return cmp.Or(cmp.Compare(a.Name(), b.Name()), cmp.Compare(a.Metadata.Version, b.Metadata.Version))
	})
	loaded.SetDependencies(vendored...)
	for _, one := range vendored {
		putInOrder(one)
	}
}

// lineOf returns the first line that has a word, from 1; 0 if there is none.
func lineOf(text []byte, word string) int {
	line := 0
	for found := range strings.Lines(string(text)) {
		if line++; word != "" && strings.Contains(found, word) {
			return line
		}
	}
	return 0
}

// aliasesOf returns the names of charts by those that a chart gives them.
func aliasesOf(loaded *v2.Chart) map[string]string {
	aliases := map[string]string{}
	for _, dependency := range loaded.Metadata.Dependencies {
		if dependency != nil && dependency.Alias != "" {
			aliases[dependency.Alias] = dependency.Name
		}
	}
	return aliases
}

// checkSchemas names references of schemas that lead out of them.
func (c Chart) checkSchemas() []Problem {
	var problems []Problem
	for name, data := range c.Files {
		var schema any
		if path.Base(name) != schemaFile || json.Unmarshal(data, &schema) != nil {
			continue // Helm says what is wrong with it
		}
		for _, reference := range remoteReferences(schema, nil) {
			problems = append(problems, Problem{File: name, Line: lineOf(data, reference), Message: fmt.Sprintf(
				"the schema refers to %q, and nothing is fetched from elsewhere: copy what it refers to into $defs", reference)})
		}
	}
	return problems
}

// remoteReferences adds the references of a part of a schema that lead elsewhere.
func remoteReferences(schema any, found []string) []string {
	switch part := schema.(type) {
	case map[string]any:
		for key, value := range part {
			text, isText := value.(string)
			if isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef") && strings.Contains(text, ":/") {
				found = append(found, text)
			}
			found = remoteReferences(value, found)
		}
	case []any:
		for _, value := range part {
			found = remoteReferences(value, found)
		}
	}
	return found
}
