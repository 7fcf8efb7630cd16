package spec

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// noteGenerated remembers an object that kustomize has generated: no file has it.
func (b *build) noteGenerated(built builtObject) {
	var object header
	if built.File == "" && json.Unmarshal(built.Object, &object) == nil && object.APIVersion == "v1" &&
		(object.Kind == "ConfigMap" || object.Kind == "Secret") {
		b.generated = append(b.generated, object)
	}
}

// generatedFor returns which of the generated objects the template of a manifest names.
func generatedFor(m *manifest, generated []header) []string {
	var template corev1.PodTemplateSpec
	if len(generated) == 0 || m.template == nil || json.Unmarshal(m.template, &template) != nil {
		return nil
	}
	named := usedBy(&template.Spec)
	var names []string
	for _, object := range generated {
		name := object.Kind + " " + object.Metadata.Name
		if named[name] && object.Metadata.Namespace == m.namespace {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// used are ConfigMaps and Secrets that pods name, by kind and name.
type used map[string]bool

func (u used) configMap(name string) { u["ConfigMap "+name] = true }
func (u used) secret(name string)    { u["Secret "+name] = true }

func usedBy(pod *corev1.PodSpec) used {
	all := used{}
	for _, container := range slices.Concat(pod.InitContainers, pod.Containers) {
		all.addEnv(container)
	}
	for _, volume := range pod.Volumes {
		if volume.ConfigMap != nil {
			all.configMap(volume.ConfigMap.Name)
		}
		if volume.Secret != nil {
			all.secret(volume.Secret.SecretName)
		}
		if volume.Projected != nil {
			all.addProjected(volume.Projected.Sources)
		}
	}
	return all
}

func (u used) addEnv(container corev1.Container) {
	for _, from := range container.EnvFrom {
		if from.ConfigMapRef != nil {
			u.configMap(from.ConfigMapRef.Name)
		}
		if from.SecretRef != nil {
			u.secret(from.SecretRef.Name)
		}
	}
	for _, env := range container.Env {
		if from := env.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			u.configMap(from.ConfigMapKeyRef.Name)
		} else if from != nil && from.SecretKeyRef != nil {
			u.secret(from.SecretKeyRef.Name)
		}
	}
}

func (u used) addProjected(sources []corev1.VolumeProjection) {
	for _, source := range sources {
		if source.ConfigMap != nil {
			u.configMap(source.ConfigMap.Name)
		}
		if source.Secret != nil {
			u.secret(source.Secret.Name)
		}
	}
}
