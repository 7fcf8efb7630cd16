// Package podtemplate computes digests and hashes of pod templates; pure.
package podtemplate

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/dump"

	"github.com/sluice-dev/sluice/internal/subset"
)

// Given returns the digest of a template as its author gave it: sha256 over the
// JSON with sorted keys and no white space, so that formatting does not count.
// It fails if raw is not one JSON object.
func Given(raw []byte) (string, error) {
	var value map[string]any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return "", fmt.Errorf("read pod template: %w", err)
	}
	return digest(value)
}

// Digest returns the digest of a template with the API server's defaults. Two templates have the
// same one exactly if the native controller takes them for the same (EqualIgnoreHash in
// pkg/controller/deployment/util of Kubernetes): the pod-template-hash label does not count, nor
// how a quantity or a time is written, nor whether a list is empty or not there.
func Digest(template *corev1.PodTemplateSpec) (string, error) {
	return digest(unlabelled(Canonical(template)))
}

// unlabelled takes the pod-template-hash label off a template.
func unlabelled(template *corev1.PodTemplateSpec) *corev1.PodTemplateSpec {
	delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
	return template
}

func digest(value any) (string, error) {
	data, err := json.Marshal(value)
	if err != nil {
		return "", fmt.Errorf("encode pod template: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16]), nil
}

// Within reports whether a template, as its author gave it, says nothing that another one, as the
// API server keeps it, does not say. Defaults are not missed, and quantities are compared by what
// they mean.
func Within(given, kept []byte) bool {
	a, okA := canonical(given)
	b, okB := canonical(kept)
	return okA && okB && subset.Of(a, b)
}

// canonical returns a template as the API server writes it, except for defaults.
func canonical(raw []byte) (any, bool) {
	var template corev1.PodTemplateSpec
	if json.Unmarshal(raw, &template) != nil {
		return nil, false
	}
	data, err := json.Marshal(template)
	if err != nil {
		return nil, false
	}
	var value any
	return value, json.Unmarshal(data, &value) == nil
}

// Hash returns the pod template hash as the native Deployment controller computes
// it (ComputeHash in pkg/controller/controller_utils.go of Kubernetes): FNV-1a over a
// dump of the template and, where a name was taken, the collision count. The dump has every
// field of the Go type, so a control plane of another version than our API libraries comes to
// another hash; it finds a ReplicaSet by its template, so that this does no harm.
func Hash(template *corev1.PodTemplateSpec, collisions *int32) string {
	hasher := fnv.New32a()
	fmt.Fprintf(hasher, "%v", dump.ForHash(*template))
	if collisions != nil {
		var count [8]byte
		binary.LittleEndian.PutUint32(count[:], uint32(*collisions))
		hasher.Write(count[:])
	}
	return rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
}

// RevisionHash returns the hash that the native StatefulSet controller gives a ControllerRevision
// of a template (getPatch in pkg/controller/statefulset and HashControllerRevision in
// pkg/controller/history of Kubernetes): FNV-1 over the JSON of a patch that replaces the template,
// and over the collision count in digits. A control plane of another version may write the template
// in other JSON, and come to another hash.
func RevisionHash(template *corev1.PodTemplateSpec, collisions int32) string {
	data, err := json.Marshal(template)
	if err != nil { // a template that was read always encodes
		return ""
	}
	return RevisionHashOf(data, collisions)
}

// RevisionHashOf returns RevisionHash for the JSON of a template as the API server has it; empty if
// it is none.
func RevisionHashOf(raw []byte, collisions int32) string {
	var template map[string]any
	if json.Unmarshal(raw, &template) != nil || template == nil {
		return ""
	}
	template["$patch"] = "replace"
	data, err := json.Marshal(map[string]any{"spec": map[string]any{"template": template}})
	if err != nil {
		return ""
	}
	hasher := fnv.New32()
	hasher.Write(data)
	hasher.Write([]byte(strconv.FormatInt(int64(collisions), 10)))
	return rand.SafeEncodeString(fmt.Sprint(hasher.Sum32()))
}
