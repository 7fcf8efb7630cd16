package preview

import (
	"cmp"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/show"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/plan"
	"github.com/sluice-dev/sluice/rollout/preflight"
)

// Live is the part of the cluster that a release goes to.
type Live struct {
	// Release is the one of that name; nil if there is none, or it could not be read.
	Release *v1alpha1.BatchRelease
	// Workload is the workload, whose pods have the template Running; nil if there is none, or it
	// could not be read.
	Workload *plan.Workload
	// Claims are the volume claim templates of the workload, and Fixed has its other fields that never
	// change. Fixed is nil if there is no workload, or it could not be read.
	Claims  []corev1.PersistentVolumeClaim
	Fixed   *spec.Fixed
	Running *corev1.PodTemplateSpec
	// Namespace are the objects that can limit a release.
	Namespace preflight.Namespace
	// Routes are the routes that it names.
	Routes Routes
	// Missing are sentences on what is not there, or could not be read.
	Missing []string
}

// Found is the situation that a release meets in the cluster.
type Found struct {
	// Manifest is how many pods the workload's manifest asks for, if the workload has another number.
	Manifest *int32 `json:"manifestReplicas,omitempty"`
	// Now is how far the release is there.
	Now string `json:"now,omitempty"`
	// Prospect is the fate of a new template, and Why the cause that it waits for.
	Prospect plan.Admission `json:"prospect,omitempty"`
	Why      string         `json:"why,omitempty"`
	// WillNotFit and Warnings are the findings of preflight. Held reports whether the first stop
	// the release.
	WillNotFit []string `json:"willNotFit,omitempty"`
	Held       bool     `json:"held,omitempty"`
	Warnings   []string `json:"warnings,omitempty"`
	// Routes are the routes that can share requests, and Traffic the problems of others.
	Routes  []string `json:"routes,omitempty"`
	Traffic []string `json:"traffic,omitempty"`
	// Refused is the reason not to start the release at all.
	Refused string `json:"refused,omitempty"`
	// Missing are sentences on what is not there, or could not be read.
	Missing []string `json:"missing,omitempty"`

	replicas int32
	// kind of the workload.
	kind string
}

// Meet adds what the changes come upon in the cluster, where somebody has looked. The batches are
// then those of the workloads that are there.
func (p *Preview) Meet(cluster map[types.NamespacedName]*Live, now time.Time) error {
	p.met = true
	for i := range p.Releases {
		change := &p.Releases[i]
		live := cluster[change.Key()]
		if live == nil {
			continue
		}
		if err := change.meet(live, p.freeze, now); err != nil {
			return err
		}
	}
	return nil
}

// Key names the release.
func (c *Change) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: c.Name}
}

func (c *Change) meet(live *Live, freeze *spec.Freeze, now time.Time) error {
	c.Cluster = &Found{Missing: live.Missing, kind: c.WorkloadKind}
	if live.Release != nil {
		c.Cluster.Now = show.Progress(live.Release)
	}
	if c.release == nil || c.Kind == Kept || c.isTrain() {
		return nil // it is gone, or stays as it is
	}
	c.scale(live.Workload)
	c.compareClaims(live)
	c.compareFixed(live.Fixed)
	c.meetRoutes(live)
	c.Cluster.Refused = cmp.Or(c.obstacle(live), c.Cluster.Refused)
	if c.Kind == Changed {
		return nil
	}
	if c.Train != "" {
		return c.preflight(live) // its train decides when the template begins
	}
	c.Cluster.Prospect, c.Cluster.Why = plan.AdmissionOf(c.given(live.Release, freeze), live.Workload, c.release.TemplateDigest, now)
	if waits := c.Cluster.Prospect == plan.Waits || c.Cluster.Prospect == plan.Queues; waits && c.Kind == RolledBack {
		c.note("A template that the cluster has kept as one that was stable waits for nothing.")
	}
	return c.preflight(live)
}

// scale sets the batches by the size of the workload that is there.
func (c *Change) scale(workload *plan.Workload) {
	if workload == nil {
		return
	}
	if c.Replicas != nil && *c.Replicas != workload.Replicas {
		c.Cluster.Manifest, c.Cluster.replicas = c.Replicas, workload.Replicas
	}
	c.dropNote(c.unknownSize())
	c.batches(workload)
}

// compareClaims refuses volume claim templates that the workload in the cluster does not have. An
// earlier commit does not matter then.
func (c *Change) compareClaims(live *Live) {
	given, known := c.release.Claims()
	if live.Fixed == nil || !known {
		return
	}
	c.Claims = nil
	if names := spec.ChangedClaims(given, live.Claims); len(names) > 0 {
		at := c.release.ClaimsPlace()
		c.Cluster.Refused = place(at.File, at.Line) + ": " + spec.ClaimsRefused(c.Workload, names)
	}
}

// compareFixed refuses other fields that never change. An earlier commit does not matter then.
func (c *Change) compareFixed(kept *spec.Fixed) {
	if kept == nil {
		return
	}
	c.dropNote(c.fixedNote)
	if fields := c.release.ChangedFixed(*kept); len(fields) > 0 {
		at := c.release.WorkloadPlace()
		c.Cluster.Refused = cmp.Or(c.Cluster.Refused, place(at.File, at.Line)+": "+c.release.FixedRefused(fields))
	}
}

// obstacle returns what keeps a release from anything that is asked of it; empty if it is nothing.
func (c *Change) obstacle(live *Live) string {
	if there := live.Release; there != nil {
		was, is := there.Spec.WorkloadRef, c.object.Spec.WorkloadRef
		switch {
		case there.DeletionTimestamp != nil:
			return "BatchRelease " + c.Name + " is being deleted"
		case was != is:
			return fmt.Sprintf("spec.workloadRef can't be changed, and is %s %s there: the API server refuses the release", was.Kind, was.Name)
		}
	}
	switch w := live.Workload; {
	case w == nil:
		return ""
	case w.Deleting:
		return c.WorkloadKind + " " + c.Workload + " is being deleted"
	case c.heldByAnother(live):
		return fmt.Sprintf("%s %s is taken over by BatchRelease %s: delete one of the two", c.WorkloadKind, c.Workload, w.Hold.Release)
	}
	return ""
}

// heldByAnother reports whether the workload is held by a release of another name.
func (c *Change) heldByAnother(live *Live) bool {
	hold := live.Workload.Hold
	return hold != nil && hold.Release != c.Name && (live.Release == nil || hold.UID != live.Release.UID)
}

// given returns the release of the cluster as it is once it has what the repository says. A release
// that a person suspended stays so if the repository sets nothing, and a freeze of the repository
// replaces any other.
func (c *Change) given(live *v1alpha1.BatchRelease, freeze *spec.Freeze) *v1alpha1.BatchRelease {
	given := &v1alpha1.BatchRelease{}
	if live != nil {
		given = live.DeepCopy()
	}
	given.Namespace, given.Name, given.Spec = c.Namespace, c.Name, c.object.Spec
	if _, says, _ := unstructured.NestedFieldNoCopy(c.release.Object().Object, "spec", "suspend"); !says && live != nil {
		given.Spec.Suspend = live.Spec.Suspend
	}
	switch {
	case freeze.Covers(c.Namespace, c.object.Labels):
		text, _ := json.Marshal(v1alpha1.Freeze{Reason: freeze.Reason, Until: freeze.Until}) // it always encodes
		metav1.SetMetaDataAnnotation(&given.ObjectMeta, v1alpha1.FreezeAnnotation, string(text))
	case frozenByGit(given):
		delete(given.Annotations, v1alpha1.FreezeAnnotation)
	}
	return given
}

// frozenByGit tells a freeze that ends with the file that asked for it.
func frozenByGit(release *v1alpha1.BatchRelease) bool {
	var freeze v1alpha1.Freeze
	err := json.Unmarshal([]byte(release.Annotations[v1alpha1.FreezeAnnotation]), &freeze)
	return err == nil && freeze.Commit != ""
}

// preflight asks what the controller asks before it takes a workload over. A rollback it does not
// ask for, nor where it has taken it over already.
func (c *Change) preflight(live *Live) error {
	known := c.Cluster.Prospect == plan.Known || c.Cluster.Prospect == plan.Quarantined
	if live.Workload == nil || live.Workload.Hold != nil || known || c.Kind == RolledBack {
		return nil
	}
	template, err := templateOf(c.release)
	if err != nil {
		return err
	}
	found := preflight.Check(preflight.Release{
		Kind: c.WorkloadKind, Workload: c.Workload, Replicas: live.Workload.Replicas, Surge: c.surge(), Unavailable: c.Unavailable,
		Running: live.Running, Released: template, NewSet: true, Shared: c.shares(),
	}, live.Namespace)
	if plan.MixesVersions(&c.object.Spec.Strategy, live.Workload) {
		c.Cluster.Refused = cmp.Or(c.Cluster.Refused, preflight.MixesVersions(live.Workload.Name))
	}
	c.Cluster.WillNotFit, c.Cluster.Warnings = found.WillNotFit, found.Warnings
	c.Cluster.Held = len(found.WillNotFit) > 0 && c.object.Spec.Strategy.Preflight != v1alpha1.PreflightWarn
	return nil
}

// lines returns what was found, in clauses for people.
func (f *Found) lines() []string {
	if f == nil {
		return nil
	}
	var lines []string
	if f.Manifest != nil {
		lines = append(lines, fmt.Sprintf("the %s has %d replicas, its manifest says %d; the batches are those of %d", f.kind, f.replicas, *f.Manifest, f.replicas))
	}
	if f.Now != "" {
		lines = append(lines, "the release says: "+f.Now)
	}
	if text := f.prospect(); text != "" {
		lines = append(lines, text)
	}
	if f.Refused != "" {
		lines = append(lines, "it is not released: "+f.Refused)
	}
	lines = append(lines, f.Routes...)
	for _, text := range f.Traffic {
		lines = append(lines, "requests can't be moved: "+text)
	}
	for _, text := range f.WillNotFit {
		lines = append(lines, "it will not fit: "+text)
	}
	if f.Held {
		lines = append(lines, "the "+f.kind+" is not taken over until it fits")
	}
	lines = append(lines, f.Missing...)
	for _, text := range f.Warnings { // last: there may be any number of them
		lines = append(lines, "warning: "+text)
	}
	for i, text := range lines {
		lines[i] = plain.UpTo(plain.Line(text), mostFound)
	}
	return lines
}

// mostFound is how many bytes are shown of a line on what was found in the cluster: who may write a
// freeze, or what holds a workload, has room for hundreds of thousands there.
const mostFound = 2000

// prospect says what happens to a new template.
func (f *Found) prospect() string {
	switch f.Prospect {
	case plan.Supersedes:
		return "the new template replaces the release in progress"
	case plan.Queues:
		return "the new template waits until the release in progress has ended"
	case plan.Waits:
		return "the new template waits: " + f.Why
	case plan.Known:
		return "the release has this template already"
	case plan.Quarantined:
		return "the template was rolled back there: it is not released again until another one has been"
	case plan.Begins:
	}
	return ""
}
