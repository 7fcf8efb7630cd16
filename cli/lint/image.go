package lint

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// reference matches an image as container runtimes take it: a registry, a path, a tag and a digest,
// as the grammar of github.com/distribution/reference has them.
var reference = regexp.MustCompile(`^(?:(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:]+\])(?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*` +
	`(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9A-Fa-f]{32,})?$`)

// checkImages looks for images that no container runtime takes. The API server takes any text.
func (r *review) checkImages() {
	var template corev1.PodTemplateSpec
	if json.Unmarshal(r.object.Spec.Template.Raw, &template) != nil {
		return
	}
	for list, containers := range map[string][]corev1.Container{"initContainers": template.Spec.InitContainers, "containers": template.Spec.Containers} {
		for i := range containers {
			path := fmt.Sprintf("spec.template.spec.%s[%d].image", list, i)
			if image := containers[i].Image; image != "" && !reference.MatchString(image) {
				r.find(Error, r.release.TemplatePlace(), path, fmt.Sprintf("%s: %q is no image reference, such as registry.example.com/web:1.2: "+
					"pods would fail with InvalidImageName", path, image))
			}
		}
	}
}

// checkFew looks for workloads of one pod: nothing happens before the last step, whose pods are all
// there are.
func (r *review) checkFew() {
	steps, replicas := r.object.Spec.Strategy.Steps, r.workload.replicas
	if r.workload.daemon || r.object.Spec.Strategy.Traffic != nil || len(steps) < 2 || replicas != nil && *replicas != 1 {
		return
	}
	severity, has := Warning, "has 1 replica"
	if replicas == nil {
		severity, has = Notice, "names no replicas, which is 1 unless something else sets them, such as an autoscaler"
	}
	asked := ""
	if slices.ContainsFunc(steps[:len(steps)-1], func(s v1alpha1.Step) bool { return len(s.Gates) > 0 }) {
		asked = ", and gates before it are asked while no pod runs the new version"
	}
	r.find(severity, r.place(), "spec.strategy.steps", fmt.Sprintf(
		"spec.strategy.steps: %s %s: only the last step replaces its pod%s", r.workload.name, has, asked))
}
