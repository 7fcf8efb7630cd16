package proof

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// images checks that each image of the template is pinned by its digest, and that the node runs
// that one.
func (c *checking) images() {
	running := map[string]string{}
	for _, status := range slices.Concat(c.Pod.Status.InitContainerStatuses, c.Pod.Status.ContainerStatuses) {
		running[status.Name] = status.ImageID
	}
	for _, container := range slices.Concat(c.Template.Spec.InitContainers, c.Template.Spec.Containers) {
		pinned, runs := digestIn(container.Image), digestIn(running[container.Name])
		name := line(container.Name)
		switch {
		case pinned != "" && runs != "" && pinned != runs:
			c.refute(Image, "container %s runs %s, and the template has %s", name, line(running[container.Name]), line(container.Image))
		case pinned != "" && runs != "":
			c.prove(Image, "container %s runs %s", name, line(running[container.Name]))
		case runs == "":
			c.lack(Image, "the node does not say which image container %s runs: it has not started", name)
		case c.roots.accept(MovingTags):
			c.prove(Image, "container %s runs %s; the template has %s, which may move, as --accept %s allows",
				name, line(running[container.Name]), line(container.Image), MovingTags)
		default:
			c.lack(Image, "container %s runs %s, but the template has %s, which may move: write NAME@sha256:DIGEST in Git, or --accept %s",
				name, line(running[container.Name]), line(container.Image), MovingTags)
		}
	}
}

// digestIn returns the digest of an image; empty if it has none.
func digestIn(image string) string {
	_, digest, found := strings.Cut(image, "@")
	if !found || !strings.HasPrefix(digest, "sha256:") {
		return ""
	}
	return digest
}

// pod checks that the pod has what the template says, and nothing else than what the API server and
// its usual admission add.
func (c *checking) pod() {
	if name := c.added(); name != "" {
		c.refute(Pod, "container %s is not in the template: it was added to the pod; if admission does that, give --accept-container %s", line(name), line(name))
		return
	}
	wanted := podtemplate.Canonical(&corev1.PodTemplateSpec{Spec: c.Template.Spec})
	have := podtemplate.Canonical(&corev1.PodTemplateSpec{Spec: *c.asWritten()})
	if !equality.Semantic.DeepEqual(wanted, have) {
		c.refute(Pod, "the pod is not as the template has it: %s", difference(wanted, have))
		return
	}
	for key, value := range c.Template.Labels {
		if c.Pod.Labels[key] != value {
			c.refute(Pod, "label %s of the pod is %q, and the template has %q", line(key), line(c.Pod.Labels[key]), line(value))
			return
		}
	}
	for key, value := range c.Template.Annotations {
		if c.Pod.Annotations[key] != value {
			c.refute(Pod, "annotation %s of the pod is %q, and the template has %q", line(key), line(c.Pod.Annotations[key]), line(value))
			return
		}
	}
	c.prove(Pod, "%s/%s, UID %s, has what the template says", line(c.Pod.Namespace), line(c.Pod.Name), line(string(c.Pod.UID)))
}

// added returns the name of a container that neither the template has nor admission adds.
func (c *checking) added() string {
	known := map[string]bool{}
	for _, container := range slices.Concat(c.Template.Spec.InitContainers, c.Template.Spec.Containers) {
		known[container.Name] = true
	}
	for _, container := range slices.Concat(c.Pod.Spec.InitContainers, c.Pod.Spec.Containers) {
		if !known[container.Name] && !slices.Contains(c.roots.Containers, container.Name) {
			return container.Name
		}
	}
	for _, container := range c.Pod.Spec.EphemeralContainers {
		if !slices.Contains(c.roots.Containers, container.Name) {
			return container.Name
		}
	}
	return ""
}

// The API server gives each pod its token by a volume of such a name, in this folder.
const (
	tokenVolume = "kube-api-access-"
	tokenFolder = "/var/run/secrets/kubernetes.io/serviceaccount" //nolint:gosec // a folder
)

// tokenSources lists the sources of such a volume without the time for which the token is valid
// (TokenVolumeSource in plugin/pkg/admission/serviceaccount of Kubernetes).
var tokenSources = []corev1.VolumeProjection{
	{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token"}},
	{ConfigMap: &corev1.ConfigMapProjection{
		LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"}, Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
	}},
	{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
		{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
	}}},
}

// isToken reports whether a volume has a token for the API server, its authority and the name of
// the namespace, and nothing else.
func isToken(v corev1.Volume) bool {
	if !strings.HasPrefix(v.Name, tokenVolume) || v.Projected == nil {
		return false
	}
	return !slices.ContainsFunc(v.Projected.Sources, func(source corev1.VolumeProjection) bool {
		source = *source.DeepCopy()
		if source.ServiceAccountToken != nil {
			source.ServiceAccountToken.ExpirationSeconds = nil
		}
		return !slices.ContainsFunc(tokenSources, func(t corev1.VolumeProjection) bool { return equality.Semantic.DeepEqual(source, t) })
	})
}

// tokens returns the names of the volumes that the API server has added for tokens. It adds none
// where the template forbids that.
func (c *checking) tokens() map[string]bool {
	added := map[string]bool{}
	if mounts := c.Template.Spec.AutomountServiceAccountToken; mounts != nil && !*mounts {
		return added
	}
	for _, v := range c.Pod.Spec.Volumes {
		added[v.Name] = isToken(v)
	}
	for _, v := range c.Template.Spec.Volumes {
		delete(added, v.Name)
	}
	return added
}

// asWritten returns the spec of the pod without what the API server, its usual admission, the
// scheduler and native controllers write into it: where the pod runs, its place in a set, and the
// resources that it may use.
func (c *checking) asWritten() *corev1.PodSpec {
	spec, template := c.Pod.Spec.DeepCopy(), &c.Template.Spec
	spec.NodeName, spec.NodeSelector, spec.Affinity = template.NodeName, template.NodeSelector, template.Affinity
	spec.Tolerations, spec.TopologySpreadConstraints = template.Tolerations, template.TopologySpreadConstraints
	spec.Priority, spec.PriorityClassName, spec.PreemptionPolicy = template.Priority, template.PriorityClassName, template.PreemptionPolicy
	spec.SchedulingGates, spec.Overhead = template.SchedulingGates, template.Overhead
	if template.EnableServiceLinks == nil { // true is the default of pods, and not of templates
		spec.EnableServiceLinks = nil
	}
	spec.EphemeralContainers, spec.Resources = nil, template.Resources
	if template.ServiceAccountName == "" && spec.ServiceAccountName == "default" {
		spec.ServiceAccountName = ""
	}
	spec.DeprecatedServiceAccount = template.DeprecatedServiceAccount
	if len(template.ImagePullSecrets) == 0 {
		spec.ImagePullSecrets = nil
	}
	if template.Hostname == "" && spec.Hostname == c.Pod.Name { // a StatefulSet's
		spec.Hostname, spec.Subdomain = template.Hostname, template.Subdomain
	}
	tokens := c.tokens()
	spec.InitContainers = c.containersAsWritten(spec.InitContainers, template.InitContainers, tokens)
	spec.Containers = c.containersAsWritten(spec.Containers, template.Containers, tokens)
	known, used := map[string]bool{}, map[string]bool{}
	for _, v := range template.Volumes {
		known[v.Name] = true
	}
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		for _, mount := range container.VolumeMounts {
			used[mount.Name] = true
		}
		for _, device := range container.VolumeDevices {
			used[device.Name] = true
		}
	}
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool {
		claim := v.PersistentVolumeClaim
		ofSet := claim != nil && claim.ClaimName == v.Name+"-"+c.Pod.Name
		return !known[v.Name] && (!used[v.Name] || ofSet) // only containers that admission adds have the others
	})
	return spec
}

func (c *checking) containersAsWritten(have, template []corev1.Container, tokens map[string]bool) []corev1.Container {
	places := map[string]*corev1.Container{}
	for i := range template {
		places[template[i].Name] = &template[i]
	}
	var kept []corev1.Container
	for _, container := range have {
		wanted := places[container.Name]
		if wanted == nil && slices.Contains(c.roots.Containers, container.Name) {
			continue
		}
		container.VolumeMounts = slices.DeleteFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool {
			return tokens[m.Name] && m.MountPath == tokenFolder && m.SubPath == "" && m.SubPathExpr == ""
		})
		if wanted != nil {
			container.Resources, container.ResizePolicy = wanted.Resources, wanted.ResizePolicy
			if container.ImagePullPolicy == corev1.PullAlways { // AlwaysPullImages
				container.ImagePullPolicy = wanted.ImagePullPolicy
			}
			withoutHostPorts(&container, wanted, c.Template.Spec.HostNetwork)
		}
		kept = append(kept, container)
	}
	return kept
}

// withoutHostPorts removes the ports of the node that the API server gives pods with the network of
// their node, and not their templates.
func withoutHostPorts(container, wanted *corev1.Container, hostNetwork bool) {
	for i := range min(len(container.Ports), len(wanted.Ports)) {
		if port := &container.Ports[i]; hostNetwork && port.HostPort == port.ContainerPort {
			port.HostPort = wanted.Ports[i].HostPort
		}
	}
}

// difference names the first field in which two values differ.
func difference(wanted, have any) string {
	a, b := map[string]any{}, map[string]any{}
	flatten("", decoded(wanted), a)
	flatten("", decoded(have), b)
	paths := slices.Sorted(maps.Keys(a))
	paths = append(paths, slices.Sorted(maps.Keys(b))...)
	for _, path := range paths {
		if a[path] != b[path] {
			return fmt.Sprintf("%s is %s, and the template has %s", strings.TrimPrefix(path, "."), short(b[path]), short(a[path]))
		}
	}
	return "it can't be compared"
}

func decoded(value any) (made any) {
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, &made)
	}
	if err != nil {
		return nil // it came from JSON
	}
	return made
}

// flatten puts the leaves of decoded JSON into a map by their paths.
func flatten(path string, value any, into map[string]any) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			flatten(path+"."+key, field, into)
		}
	case []any:
		for i, element := range value {
			flatten(fmt.Sprintf("%s[%d]", path, i), element, into)
		}
	default:
		into[path] = value
	}
}

// short returns a value as JSON for people.
func short(value any) string {
	if value == nil {
		return "not set"
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return "unreadable"
	}
	return line(string(encoded))
}
