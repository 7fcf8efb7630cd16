package chart

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	v2 "helm.sh/helm/v4/pkg/chart/v2"
	v2util "helm.sh/helm/v4/pkg/chart/v2/util"
)

// checkDependencies names the dependencies of the chart, and of those that it holds, that are not
// vendored: nothing is fetched, whatever repository and lock file say.
func (c Chart) checkDependencies(loaded *v2.Chart) []Problem {
	var problems []Problem
	for _, dependency := range loaded.Metadata.Dependencies {
		if dependency == nil {
			continue
		}
		found, version := false, ""
		for _, vendored := range loaded.Dependencies() {
			if vendored.Name() == dependency.Name {
				version = vendored.Metadata.Version
				found = found || v2util.IsCompatibleRange(dependency.Version, version)
			}
		}
		if !found {
			problems = append(problems, c.missing(loaded, dependency, version))
		}
	}
	for _, vendored := range loaded.Dependencies() {
		problems = append(problems, c.checkDependencies(vendored)...)
	}
	return problems
}

func (c Chart) missing(loaded *v2.Chart, dependency *v2.Dependency, vendored string) Problem {
	is := "is not in its folder charts"
	if vendored != "" {
		is = "is in its folder charts as " + vendored
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
