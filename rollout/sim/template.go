package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// respelling, behind the name of a template, is the same template with a quantity written in
// another way.
const respelling = "~"

// pod is a pod template with the digests that we tell it apart by.
type pod struct {
	template      corev1.PodTemplateSpec
	given, digest string
}

// pods are the pod templates by their names.
var pods sync.Map

func podOf(name string) *pod {
	if known, found := pods.Load(name); found {
		return known.(*pod)
	}
	known, _ := pods.LoadOrStore(name, newPod(name))
	return known.(*pod)
}

// newPod returns the template of a name. It panics for none, since the text is ours.
func newPod(name string) *pod {
	image, memory := name, "1Gi"
	if plain, respelled := strings.CutSuffix(name, respelling); respelled {
		image, memory = plain, "1073741824"
	}
	text := fmt.Sprintf(`{"spec":{"containers":[{"name":"web","image":%q,"resources":{"limits":{"memory":%q}}}]}}`, image, memory)
	made := &pod{}
	if err := json.Unmarshal([]byte(text), &made.template); err != nil {
		panic(err)
	}
	made.given, _ = podtemplate.Given([]byte(text))
	made.digest, _ = podtemplate.Digest(&made.template)
	return made
}

// same reports whether two templates are the same to the native controller (EqualIgnoreHash).
func same(a, b string) bool {
	if a == b || a == "" || b == "" || !strings.HasSuffix(a, respelling) && !strings.HasSuffix(b, respelling) {
		return a == b
	}
	return equality.Semantic.DeepEqual(podOf(a).template, podOf(b).template)
}

// Digest returns the digest of a template with defaults.
func Digest(template string) string { return podOf(template).digest }

// Given returns the digest of a template as given.
func Given(template string) string {
	if template == "" {
		return ""
	}
	return podOf(template).given
}

// revisionOf returns the pod template hash of a template: that of its ReplicaSet if it has one.
func revisionOf(template string, sets []Set) string {
	for i := range sets {
		if Digest(sets[i].Revision) == Digest(template) {
			return sets[i].Revision
		}
	}
	return template
}
