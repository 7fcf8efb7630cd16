package spec

import (
	"path"

	"sigs.k8s.io/yaml"
)

// nameReference tells kustomize that a BatchRelease names its workload and Jobs, so that a prefix
// or suffix of the name gets into all of them, and that a template of its own names ConfigMaps and
// Secrets. For whoever builds the same folder with another program it is in examples/kustomize.
const nameReference = `nameReference:
- kind: Deployment
  group: apps
  fieldSpecs:
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/workloadRef/name}
- kind: StatefulSet
  group: apps
  fieldSpecs:
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/workloadRef/name}
- kind: DaemonSet
  group: apps
  fieldSpecs:
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/workloadRef/name}
- kind: Job
  group: batch
  fieldSpecs:
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/strategy/steps/gates/job/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/rollback/steps/gates/job/name}
- kind: ConfigMap
  version: v1
  fieldSpecs:
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/config/configMap}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/volumes/configMap/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/volumes/projected/sources/configMap/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/containers/env/valueFrom/configMapKeyRef/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/containers/envFrom/configMapRef/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/initContainers/env/valueFrom/configMapKeyRef/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/initContainers/envFrom/configMapRef/name}
- kind: Secret
  version: v1
  fieldSpecs:
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/config/secret}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/volumes/secret/secretName}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/volumes/projected/sources/secret/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/containers/env/valueFrom/secretKeyRef/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/containers/envFrom/secretRef/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/initContainers/env/valueFrom/secretKeyRef/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/initContainers/envFrom/secretRef/name}
  - {group: rollouts.sluice.dev, kind: BatchRelease, path: spec/template/spec/imagePullSecrets/name}
`

// nameReferenceFile is what it is called beside the kustomization. No file that is read has a name
// that begins with a dot.
const nameReferenceFile = ".sluice-name-reference.yaml"

// referNames makes a kustomization read the configuration, along with its own. Kustomize complains
// of a file that is not a kustomization.
func (b bundle) referNames(kustomization string) {
	var content map[string]any
	if yaml.Unmarshal(b[kustomization], &content) != nil || content == nil {
		return
	}
	configurations, is := content["configurations"].([]any)
	if !is && content["configurations"] != nil {
		return
	}
	content["configurations"] = append(configurations, nameReferenceFile)
	data, err := yaml.Marshal(content)
	if err != nil {
		return
	}
	b[kustomization], b[path.Join(path.Dir(kustomization), nameReferenceFile)] = data, []byte(nameReference)
}
