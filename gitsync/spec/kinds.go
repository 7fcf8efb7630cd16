package spec

import (
	"slices"
	"strings"
)

// kind is a kind of object that is read.
type kind string

const (
	releaseKind     kind = "BatchRelease"
	deploymentKind  kind = "Deployment"
	statefulSetKind kind = "StatefulSet"
	daemonSetKind   kind = "DaemonSet"
)

// workloadVersion is the apiVersion of all workloads that can be released.
const workloadVersion = "apps/v1"

// workloadKinds are those of workloads that can be released.
var workloadKinds = []kind{deploymentKind, statefulSetKind, daemonSetKind}

// isWorkload reports whether objects of the kind can be released.
func (k kind) isWorkload() bool { return slices.Contains(workloadKinds, k) }

// releasable names all workloadKinds, with a word between the last two.
func releasable(word string) string {
	var names []string
	for _, kind := range workloadKinds {
		names = append(names, string(kind))
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " " + word + " " + names[last]
}

// objectKey names a release.
type objectKey struct{ namespace, name string }

// workloadKey names a workload: those of two kinds may have the same name.
type workloadKey struct {
	kind            kind
	namespace, name string
}

// String is the workload in words, such as Deployment shop/web.
func (k workloadKey) String() string { return string(k.kind) + " " + k.namespace + "/" + k.name }
