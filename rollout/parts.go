package rollout

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/daemonset"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
	"github.com/sluice-dev/sluice/rollout/mover/statefulset"
	"github.com/sluice-dev/sluice/rollout/workload"
)

// parts read and write the owners of a workload's pods: ReplicaSets, or places. The shell knows
// nothing else of a kind beyond its object.
type parts interface {
	// observe reads them from what is cached or watched, and read from the API server.
	observe(context.Context, *kindShell, *view) error
	read(context.Context, *kindShell, *view) error
	// owns reports whether a pod belongs to the workload.
	owns(*view, *corev1.Pod) bool
	// failing says in a sentence what keeps updated pods from being available.
	failing(context.Context, *kindShell, *view) (string, error)
	// updatedPods returns those of the version that is released, as they are known or read from the API
	// server.
	updatedPods(context.Context, *kindShell, *view) ([]*corev1.Pod, error)
	// mover returns the workload as its mover takes it, and size how many pods there are to be.
	mover(*view) mover.Mover
	size(*view) int32
	// revision returns the name of the version that the workload's template has.
	revision(v *view, digest string) string
	// foretell returns the name that the version of a template has already, or is going to have: it is
	// that of an answer to a dry run.
	foretell(v *view, answer workload.Workload, template json.RawMessage, digest string) string
	// move carries out a write of the mover.
	move(context.Context, *kindShell, *view, mover.Write) error
	// template returns that of a revision, as the cluster keeps it without our doing; nil if it has
	// none.
	template(ctx context.Context, r *kindShell, v *view, revision string) (json.RawMessage, error)
	// templates returns those of all versions as they are known.
	templates(*view) []*corev1.PodTemplateSpec
}

// shells has a line for each kind: its parts read and write what the pods are in.
var shells = map[string]func(workload.Workload) parts{
	kinds.Deployment:  func(w workload.Workload) parts { return replicaSets{w.(*deployment.Object)} },
	kinds.StatefulSet: func(w workload.Workload) parts { return ordinals{places{w}, w.(*statefulset.Object)} },
	kinds.DaemonSet:   func(w workload.Workload) parts { return nodes{places{w}, w.(*daemonset.Object)} },
}

// parts returns those of the workload, which must be there.
func (v *view) parts() parts {
	if v.workload == nil {
		return nil
	}
	return shells[v.workload.Kind()](v.workload)
}
