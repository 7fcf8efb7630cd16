package podtemplate

import (
	"fmt"
	"strings"
)

// Reference names a ConfigMap or Secret.
type Reference struct{ Kind, Name string }

// The kinds of references.
const (
	ConfigMap = "ConfigMap"
	Secret    = "Secret"
)

// References returns the ConfigMaps and Secrets that a template, as decoded JSON, names in volumes
// and environment variables.
func References(template map[string]any) map[Reference]bool {
	found := map[Reference]bool{}
	Refer(template, func(ref Reference, _ string) string {
		found[ref] = true
		return ref.Name
	})
	return found
}

// Refer replaces the names of the ConfigMaps and Secrets that a template, as decoded JSON, names in
// volumes and environment variables. The function gets each name with the path of its field.
func Refer(template map[string]any, to func(ref Reference, path string) string) {
	pod, _ := template["spec"].(map[string]any)
	each(pod, "volumes", "spec.", func(volume map[string]any, at string) {
		rename(volume, ConfigMap, "configMap.name", at, to)
		rename(volume, Secret, "secret.secretName", at, to)
		projected, _ := volume["projected"].(map[string]any)
		each(projected, "sources", at+"projected.", func(source map[string]any, at string) {
			rename(source, ConfigMap, "configMap.name", at, to)
			rename(source, Secret, "secret.name", at, to)
		})
	})
	for _, containers := range []string{"initContainers", "containers", "ephemeralContainers"} {
		each(pod, containers, "spec.", func(container map[string]any, at string) {
			each(container, "envFrom", at, func(from map[string]any, at string) {
				rename(from, ConfigMap, "configMapRef.name", at, to)
				rename(from, Secret, "secretRef.name", at, to)
			})
			each(container, "env", at, func(env map[string]any, at string) {
				from, _ := env["valueFrom"].(map[string]any)
				rename(from, ConfigMap, "configMapKeyRef.name", at+"valueFrom.", to)
				rename(from, Secret, "secretKeyRef.name", at+"valueFrom.", to)
			})
		})
	}
}

// each calls a function with the objects of a list in a field, and the path of their fields.
func each(object map[string]any, field, at string, do func(item map[string]any, at string)) {
	list, _ := object[field].([]any)
	for i := range list {
		if item, is := list[i].(map[string]any); is {
			do(item, fmt.Sprintf("%s%s[%d].", at, field, i))
		}
	}
}

// rename replaces the name at a path such as configMap.name, if there is one.
func rename(object map[string]any, kind, path, at string, to func(Reference, string) string) {
	field, name, _ := strings.Cut(path, ".")
	ref, _ := object[field].(map[string]any)
	if text, is := ref[name].(string); is && text != "" {
		ref[name] = to(Reference{kind, text}, at+path)
	}
}
