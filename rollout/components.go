package rollout

import (
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/internal/podwatch"
)

// cluster is the API server as all components use it. Its methods read a workload live, take over
// the answers to writes, and report whether a decision is outdated.
type cluster struct {
	// client reads from caches, and writes.
	client client.Client
	// live reads from the API server, where a decision must not depend on a cache.
	live      client.Reader
	recorder  events.EventRecorder
	clock     clock.PassiveClock
	processes *processes
	// snapshots hold what a namespace contains, for preflight.
	snapshots *snapshots
	// watches are of the pods that are replaced one by one.
	watches *podwatch.Watches
	// routes is nil unless releases may share requests.
	routes *routes
}

// The components of a Reconciler. Each names the others that it uses:
//
//	Reconciler ──► observer ──► podReader, historian, routeReader ──► sides
//	           └─► workloadWriter, podWriter, objectWriter, historian, routeWriter ──► sides
type (
	// observer reads a release and its objects, from caches and live.
	observer struct {
		*cluster
		pods        *podReader
		history     *historian
		routeReader *routeReader
		kinds       *kindShell
	}
	// podReader reads the pods of a workload, their nodes, and their problems.
	podReader struct{ *cluster }
	// historian reads and writes the templates that are kept to roll back to.
	historian struct {
		*cluster
		kinds *kindShell
	}
	// workloadWriter takes workloads over, and hands them back.
	workloadWriter struct {
		*cluster
		history *historian
	}
	// podWriter changes how many pods a version has, and deletes pods.
	podWriter struct{ *cluster }
	// objectWriter writes Gates, and annotations of the release.
	objectWriter struct{ *cluster }
	// routeReader reads the routes of a release.
	routeReader struct {
		*cluster
		sides *sides
	}
	// routeWriter writes routes.
	routeWriter struct {
		*cluster
		routeReader *routeReader
		sides       *sides
	}
	// sides reads and writes the stable and the canary Service of each Service that routes share.
	sides struct{ *cluster }
	// watchMaps find the releases that a changed object belongs to.
	watchMaps struct{ *cluster }
	// kindShell holds the components that a kind of workload uses (parts).
	kindShell struct {
		*cluster
		pods      *podReader
		history   *historian
		workloads *workloadWriter
		mover     *podWriter
	}
)

// newReconciler connects the components.
func newReconciler(c *cluster) *Reconciler {
	pods, mover, objects, sides := &podReader{c}, &podWriter{c}, &objectWriter{c}, &sides{c}
	history := &historian{cluster: c}
	workloads := &workloadWriter{c, history}
	history.kinds = &kindShell{c, pods, history, workloads, mover}
	routeReader := &routeReader{c, sides}
	return &Reconciler{
		cluster: c, pods: pods, history: history, workloads: workloads, objects: objects, sides: sides, kinds: history.kinds,
		routeReader: routeReader, routeWriter: &routeWriter{c, routeReader, sides}, maps: &watchMaps{c},
		observer: &observer{c, pods, history, routeReader, history.kinds},
	}
}
