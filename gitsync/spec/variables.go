package spec

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// variable matches what Flux substitutes after a build: ${NAME}, and ${NAME followed by one of the
// operators that it knows, such as ${NAME:=default}. Kubernetes' own $(NAME) is none.
var variable = regexp.MustCompile(`\$\{#?([A-Za-z_][A-Za-z0-9_]*)[}:=/#%^,+?-]`)

// checkVariables refuses a template with variables that only Flux could substitute: Sluice releases
// templates without substitution. A shell, or the program itself, may substitute variables in a
// command, its arguments and its environment.
func (p *pass) checkVariables(release *Release) bool {
	if !bytes.Contains(release.template, []byte("${")) {
		return true
	}
	found := variablesIn(decode(release.template), field.NewPath("spec", "template"))
	for _, problem := range found {
		p.failAt(release.templatePlace, problem.path, problem.message)
	}
	if found != nil {
		p.withVariables = append(p.withVariables, release)
	}
	return found == nil
}

// variablesIn finds variables in a value and what it holds.
func variablesIn(value any, at *field.Path) []pathProblem {
	var found []pathProblem
	switch value := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(value) {
			if _, isList := value[key].([]any); isList && slices.Contains([]string{"command", "args"}, key) {
				continue
			}
			if key == "env" {
				found = append(found, variablesIn(withoutValues(value[key]), at.Child(key))...)
				continue
			}
			found = append(found, variablesIn(value[key], at.Child(key))...)
		}
	case []any:
		for i := range value {
			found = append(found, variablesIn(value[i], at.Index(i))...)
		}
	case string:
		if match := variable.FindStringSubmatch(value); match != nil {
			found = []pathProblem{{at.String(), fmt.Sprintf("%s: ${%s} is a variable that Flux substitutes (spec.postBuild), and Sluice does not: "+
				"the pods would get it as it is written. Commit the value, for an image with images in kustomization.yaml (docs/flux.md)", at, match[1])}}
		}
	}
	return found
}

// withoutValues leaves the values of environment variables out.
func withoutValues(env any) any {
	list, _ := env.([]any)
	var names []any
	for _, item := range list {
		if object, is := item.(map[string]any); is {
			item = map[string]any{"name": object["name"], "valueFrom": object["valueFrom"]}
		}
		names = append(names, item)
	}
	return names
}
