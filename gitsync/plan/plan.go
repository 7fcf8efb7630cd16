package plan

import (
	"encoding/json"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

// Key is the name of a release.
type Key = types.NamespacedName

// Workload is the kind and name of a workload: two of different kinds may have the same name.
type Workload struct {
	Kind string
	Key
}

// String returns the workload in words, such as Deployment shop/web.
func (w Workload) String() string { return w.Kind + " " + w.Key.String() }

// Origin is the commit that brought a template, as its release shows it.
type Origin struct {
	Commit, Author, Subject string
	// Time is when it was committed, as its committer claims, as RFC 3339; empty where that can't be.
	Time string
	// Reference is the commit's ReferenceCommit as JSON; empty if it has none.
	Reference string
}

// Desired is the content of a commit.
type Desired struct {
	Source  *v1alpha1.ReleaseSource
	Content *spec.Result
	// Freeze of the repository, nil if there is none.
	Freeze *spec.Freeze
	// Origin is the commit, and Before the one that was read before it.
	Origin, Before Origin
	// ReadAt is when this process read the commit.
	ReadAt time.Time
}

// Observed is the state of the cluster. Next does not change it.
type Observed struct {
	Now time.Time
	// Releases of the source, and those that have a name that Git gives.
	Releases map[Key]*v1alpha1.BatchRelease
	// Workloads in the namespaces of the source.
	Workloads map[Workload]bool
	// UIDs of these, as the cache has them.
	UIDs map[Workload]types.UID
	// Claims names the volume claim templates of StatefulSets that are others than those in Git.
	Claims map[Workload][]string
	// Fixed names other fields of workloads that never change, and are others than those in Git.
	Fixed map[Workload][]string
	// Approved has the templates to create missing workloads with, by release, as far as they are kept.
	Approved map[Key]json.RawMessage
	// Writers are the other sources that write a release.
	Writers map[Key]Key
	// Shared are releases of which others own fields that Git gives.
	Shared map[Key]Shared
}

// Shared holds the present and the wanted owners of the fields of a release.
type Shared struct {
	// Version is the resourceVersion that this was found in.
	Version string
	// Owners are the wanted owners of all fields.
	Owners []metav1.ManagedFieldsEntry
}

// Remembered holds what this process knows of its own writes. A process without it reaches the same
// end, but a release that was deleted gets the commit that Git has now.
type Remembered struct {
	// Applied are releases when they were as Git asked. BenchmarkAtRest has what it saves.
	Applied map[Key]Applied
	// Sent are the writes of this pass: without them a pass with a refused write has no end.
	Sent map[Sent]Fate
}

// Applied is a release when it was as Git asked.
type Applied struct {
	UID        types.UID
	Generation int64
	// Digest of what was applied.
	Digest string
	// Template is the digest of the template, and Origin the commit that brought it.
	Template string
	Origin   Origin
	// Labels and Annotations are the labels and annotations in Git.
	Labels, Annotations map[string]string
}

// Plan holds the writes to do now, and the state of each object.
type Plan struct {
	// Writes to carry out, in any order. If there are none, what follows is the end of the pass.
	Writes []Write
	// Settled are releases that were compared and are as Git asks.
	Settled map[Key]Applied
	// Problems of single releases.
	Problems []Problem
	// Vanished are releases that are missing from Git as if by accident.
	Vanished []spec.Error
	// Held says why releases that Git lacks are kept; nil if none are for that.
	Held *Held
	// Adopts reports whether a release has the template of the commit before: that of this one follows.
	Adopts bool
	// Left are releases that Git lacks, without doubt, and that stay because the source does not prune.
	Left []Key
}

// Next decides what to write to a cluster so that it has what a commit asks for.
func Next(desired Desired, observed Observed, remembered Remembered) Plan {
	if writes := freezes(desired, observed, remembered); len(writes) > 0 {
		return Plan{Writes: writes}
	}
	next := releases(desired, observed, remembered)
	if len(next.Writes) > 0 {
		return next
	}
	prune(&next, desired, observed, remembered)
	return next
}

// Ours reports whether a release came from a source.
func Ours(source *v1alpha1.ReleaseSource, release *v1alpha1.BatchRelease) bool {
	return release.Labels[v1alpha1.SourceLabel] == source.LabelIn(release.Namespace)
}

func keyOf(object metav1.Object) Key {
	return Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// KeyOf returns the name of a release.
func KeyOf(release *spec.Release) Key { return Key{Namespace: release.Namespace, Name: release.Name} }

// Missing returns the releases of the source that are in the cluster and not in Git, by name.
func Missing(desired Desired, observed Observed) []Key {
	var keys []Key
	for _, release := range goneFrom(desired, observed) {
		keys = append(keys, keyOf(release))
	}
	return keys
}

// WorkloadOf returns the workload of a release.
func WorkloadOf(release *spec.Release) Workload {
	return Workload{release.WorkloadKind, Key{Namespace: release.Namespace, Name: release.Workload}}
}
