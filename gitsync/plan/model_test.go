package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing/fstest"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
)

const namespace = "shop"

func named(name string) Key { return Key{Namespace: namespace, Name: name} }

// cluster is a model of an API server that keeps what gitsync writes.
type cluster struct {
	releases map[Key]*v1alpha1.BatchRelease
	// workloads have the size of their volumes that they were made with, empty where they have none.
	workloads map[Workload]string
	// copies has the names of the copies of ConfigMaps.
	copies map[string]bool
	// kept are the templates that releases in mid-release keep of what was released last.
	kept map[Key]json.RawMessage
	// shared are releases of which somebody else owns fields that Git gives.
	shared map[Key]bool
	// refuses are the writes that it refuses, and rewrites the releases whose template a webhook
	// changes.
	refuses  map[Sent]bool
	rewrites map[Key]bool
	uids     int
}

func newCluster() *cluster {
	return &cluster{
		releases: map[Key]*v1alpha1.BatchRelease{}, workloads: map[Workload]string{}, copies: map[string]bool{}, kept: map[Key]json.RawMessage{}, shared: map[Key]bool{},
		refuses: map[Sent]bool{}, rewrites: map[Key]bool{},
	}
}

func (c *cluster) clone() *cluster {
	other := *c
	other.workloads, other.shared, other.kept = maps.Clone(c.workloads), maps.Clone(c.shared), maps.Clone(c.kept)
	other.releases, other.copies = map[Key]*v1alpha1.BatchRelease{}, maps.Clone(c.copies)
	for key, release := range c.releases {
		other.releases[key] = release.DeepCopy()
	}
	return &other
}

// observe returns gitsync's snapshot, with caches that don't lag, because overlays hide a lag.
func (c *cluster) observe(desired Desired) Observed {
	seen := Observed{
		Now: now, Releases: map[Key]*v1alpha1.BatchRelease{}, Workloads: map[Workload]bool{}, Claims: map[Workload][]string{},
		Approved: c.kept, Writers: map[Key]Key{}, Shared: map[Key]Shared{},
	}
	for workload := range c.workloads {
		seen.Workloads[workload] = true
	}
	for _, release := range desired.Content.Releases {
		if c.claimsDiffer(release) {
			seen.Claims[WorkloadOf(release)] = []string{"data"}
		}
	}
	for key, release := range c.releases {
		inGit := slices.ContainsFunc(desired.Content.Releases, func(r *spec.Release) bool { return KeyOf(r) == key })
		ours := Ours(desired.Source, release)
		if ours || inGit {
			seen.Releases[key] = release.DeepCopy()
		}
		if release.Labels[v1alpha1.SourceLabel] == otherSource {
			seen.Writers[key] = named(otherSource)
		}
		if ours && c.shared[key] {
			seen.Shared[key] = Shared{Version: release.ResourceVersion}
		}
	}
	return seen
}

// claimsDiffer reports whether Git has other volume claim templates for the workload of a release
// than the cluster.
func (c *cluster) claimsDiffer(release *spec.Release) bool {
	disk, there := c.workloads[WorkloadOf(release)]
	return there && disk != diskOf(release)
}

// refersElsewhere reports whether the release of the cluster names another workload than that of
// Git.
func (c *cluster) refersElsewhere(release *spec.Release) bool {
	live := c.releases[KeyOf(release)]
	return live != nil && live.Spec.WorkloadRef != release.WorkloadRef()
}

// inMidRelease has a release wait at a gate, with the template before it kept or not.
func (c *cluster) inMidRelease(name string, kept bool) {
	live := c.releases[named(name)]
	live.Annotations[v1alpha1.CurrentStableAnnotation] = "stable"
	live.Status.Resolved = &v1alpha1.ResolvedTemplate{Given: live.Annotations[v1alpha1.GitTemplateAnnotation], Revision: "next"}
	if delete(c.kept, named(name)); kept {
		c.kept[named(name)] = json.RawMessage(`{"metadata":{"labels":{"app":"` + name + `"}}}`)
	}
}

// isLost reports whether the workload of a release can't come back.
func (c *cluster) isLost(release *spec.Release) bool {
	live := c.releases[KeyOf(release)]
	return live != nil && live.Status.Resolved != nil && c.kept[KeyOf(release)] == nil
}

// diskOf returns the size of the volumes that Git has for the workload of a release; empty if none.
func diskOf(release *spec.Release) string {
	claims, _ := release.Claims()
	if len(claims) == 0 {
		return ""
	}
	return claims[0].Spec.Resources.Requests.Storage().String()
}

// carryOut applies a write as the API server does.
func (c *cluster) carryOut(t *rapid.T, write Write) Fate {
	if c.refuses[write.Sent()] {
		return Failed
	}
	switch w := write.(type) {
	case SetFreeze:
		live := c.releases[keyOf(w.Release)]
		if delete(live.Annotations, v1alpha1.FreezeAnnotation); w.Text != "" {
			live.Annotations[v1alpha1.FreezeAnnotation] = w.Text
		}
	case CopyConfig:
		for _, made := range w.Release.Copies {
			c.copies[made.Name] = true
		}
	case CreateWorkload:
		c.workloads[WorkloadOf(w.Release)] = diskOf(w.Release)
	case ApplyRelease:
		if c.refersElsewhere(w.Release) { // spec.workloadRef can't be changed
			return Failed
		}
		c.apply(t, w)
	case TakeOwnership:
		delete(c.shared, KeyOf(w.Release))
	case DeleteRelease:
		delete(c.releases, keyOf(w.Release))
	}
	return Took
}

func (c *cluster) apply(t *rapid.T, w ApplyRelease) {
	data, err := w.Object().MarshalJSON()
	wanted := &v1alpha1.BatchRelease{}
	if err != nil || json.Unmarshal(data, wanted) != nil {
		t.Fatalf("release %s can't be read back: %v", w.Release.Name, err)
	}
	key := KeyOf(w.Release)
	live := c.releases[key]
	if live == nil {
		c.uids++
		live = &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name, UID: types.UID(fmt.Sprint(c.uids))}}
		c.releases[key] = live
	}
	before := live.DeepCopy()
	live.Labels, live.Annotations = with(live.Labels, wanted.Labels), with(live.Annotations, wanted.Annotations)
	wanted.Spec.Suspend = wanted.Spec.Suspend || live.Spec.Suspend
	live.Spec = wanted.Spec
	if c.rewrites[key] {
		live.Spec.Template = &runtime.RawExtension{Raw: []byte(strings.ReplaceAll(string(live.Spec.Template.Raw), "app:", "mirror/app:"))}
	}
	if !equality.Semantic.DeepEqual(before.Spec, live.Spec) {
		live.Generation++
	}
}

// pass plays one pass over a commit. It returns the number of its writes, and whether it died
// after one of them.
func (c *cluster) pass(t *rapid.T, desired Desired, applied map[Key]Applied, dies func() bool) (int, bool) {
	sent := map[Sent]Fate{}
	for writes := 0; ; {
		next := Next(desired, c.observe(desired), Remembered{Applied: applied, Sent: sent})
		maps.Copy(applied, next.Settled)
		if len(next.Writes) == 0 {
			return writes, false
		}
		for _, write := range rapid.Permutation(next.Writes).Draw(t, "order") {
			if _, again := sent[write.Sent()]; again {
				t.Fatalf("%T is sent twice in a pass", write)
			}
			c.mustBeAllowed(t, desired, write)
			sent[write.Sent()] = c.carryOut(t, write)
			if writes++; dies() {
				return writes, true
			}
		}
	}
}

// lacksCopies reports whether a template would come before a copy that it names.
func (c *cluster) lacksCopies(release *spec.Release) bool {
	return slices.ContainsFunc(release.Copies, func(made *spec.Copy) bool { return !c.copies[made.Name] })
}

// mustBeAllowed checks the laws of every write.
func (c *cluster) mustBeAllowed(t *rapid.T, desired Desired, write Write) {
	_, applies := write.(ApplyRelease)
	_, creates := write.(CreateWorkload)
	for _, release := range desired.Content.Releases {
		if (applies || creates) && KeyOf(release) == write.Of() && c.lacksCopies(release) {
			t.Fatalf("%T of %s comes before the copies of its ConfigMaps", write, release.Name)
		}
	}
	switch w := write.(type) {
	case DeleteRelease:
		inGit := slices.ContainsFunc(desired.Content.Releases, func(r *spec.Release) bool { return KeyOf(r) == keyOf(w.Release) })
		_, hollow := desired.Content.Hollow[w.Release.Annotations[v1alpha1.FileAnnotation]]
		for _, problem := range desired.Content.Errors {
			if problem.File == w.Release.Annotations[v1alpha1.FileAnnotation] {
				t.Fatalf("release %s is deleted, and its file is wrong: %v", w.Release.Name, problem)
			}
		}
		if inGit || hollow || !desired.Source.Spec.Prune || !Ours(desired.Source, c.releases[keyOf(w.Release)]) {
			t.Fatalf("release %s is deleted: in Git %t, its file is hollow %t, errors %v", w.Release.Name, inGit, hollow, desired.Content.Errors)
		}
	case ApplyRelease:
		live := c.releases[KeyOf(w.Release)]
		if live != nil && live.Labels[v1alpha1.SourceLabel] == otherSource {
			t.Fatalf("release %s of another source is written", live.Name)
		}
		if frozen := desired.Freeze != nil && desired.Freeze.Covers(namespace, w.Object().GetLabels()); frozen != (w.Object().GetAnnotations()[v1alpha1.FreezeAnnotation] != "") {
			t.Fatalf("release %s is applied with the annotations %v, want a freeze: %t", w.Release.Name, w.Object().GetAnnotations(), frozen)
		}
		if _, there := c.workloads[WorkloadOf(w.Release)]; w.Release.HasWorkload() && !there && w.Freeze == "" && !c.isLost(w.Release) {
			t.Fatalf("release %s is applied before its workload", w.Release.Name)
		}
		if c.refersElsewhere(w.Release) {
			t.Fatalf("release %s is applied with another workload", w.Release.Name)
		}
		if c.claimsDiffer(w.Release) {
			t.Fatalf("release %s is applied with volume claim templates that %s does not have", w.Release.Name, WorkloadOf(w.Release))
		}
	case SetFreeze:
		if !Ours(desired.Source, w.Release) {
			t.Fatalf("release %s of somebody else is frozen", w.Release.Name)
		}
	case CreateWorkload:
		if _, there := c.workloads[WorkloadOf(w.Release)]; there {
			t.Fatalf("%s is there already", WorkloadOf(w.Release))
		}
		if c.refersElsewhere(w.Release) {
			t.Fatalf("%s is created, and release %s of the cluster is of another workload", WorkloadOf(w.Release), w.Release.Name)
		}
		if live := c.releases[KeyOf(w.Release)]; live != nil && live.Labels[v1alpha1.SourceLabel] == otherSource {
			t.Fatalf("%s is created, and another source writes release %s", WorkloadOf(w.Release), live.Name)
		}
		if live := c.releases[KeyOf(w.Release)]; live != nil && live.Status.Resolved != nil && (w.Approved == nil || string(w.Approved) != string(c.kept[KeyOf(w.Release)])) {
			t.Fatalf("%s is created past the gates of release %s", WorkloadOf(w.Release), live.Name)
		}
	case CopyConfig: // takes part in the law above
	case TakeOwnership:
		if !c.shared[KeyOf(w.Release)] {
			t.Fatalf("nobody else owns fields of release %s", w.Release.Name)
		}
	}
}

// read returns the desired state of a repository with some files.
func read(t interface{ Fatal(...any) }, prune bool, commit string, files map[string]string) Desired {
	tree := fstest.MapFS{}
	for name, text := range files {
		tree[name] = &fstest.MapFile{Data: []byte(text)}
	}
	content, err := spec.NewReader(spec.Options{Namespace: namespace}).Read(tree, ".")
	if err != nil {
		t.Fatal(err)
	}
	freeze, _ := spec.ReadFreeze(tree)
	source := &v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "shop"}}
	source.Spec.Prune = prune
	return Desired{Source: source, Content: content, Freeze: freeze, Origin: Origin{Commit: commit, Author: "ada", Subject: "of " + commit}}
}

var now = time.Date(2026, time.November, 22, 12, 0, 0, 0, time.UTC)

const otherSource = "other"

// workloads of the releases: those of three kinds have the same name.
var workloads = map[string]Workload{
	"a": {Kind: "Deployment", Key: named("app")}, "b": {Kind: "StatefulSet", Key: named("app")},
	"c": {Kind: "DaemonSet", Key: named("app")}, "d": {Kind: "StatefulSet", Key: named("d")},
}

func releaseText(name, image, tier string, steps, disk int) string {
	workload, volumes := workloads[name], ""
	config, uses, object := "", "", ""
	if name == "d" { // its ConfigMap changes with the steps
		config, uses = "  config: [{configMap: settings}]\n", ", envFrom: [{configMapRef: {name: settings}}]"
		object = fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {steps: '%d'}\n", steps)
	}
	if workload.Kind == "StatefulSet" {
		volumes = fmt.Sprintf("  volumeClaimTemplates: [{metadata: {name: data}, spec: {resources: {requests: {storage: %dGi}}}}]\n", disk)
	}
	return fmt.Sprintf(`apiVersion: rollouts.sluice.dev/v1alpha1
kind: BatchRelease
metadata: {name: %[1]s, labels: {tier: %[3]s}}
spec:
  workloadRef: {apiVersion: apps/v1, kind: %[5]s, name: %[6]s}
  strategy: {steps: [{replicas: %[4]d}, {replicas: 100%%}]}
%[8]s---
apiVersion: apps/v1
kind: %[5]s
metadata: {name: %[6]s}
spec:
%[7]s  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec: {containers: [{name: app, image: "app:%[2]s"%[9]s}]}
%[10]s`, name, image, tier, steps, workload.Kind, workload.Name, volumes, config, uses, object)
}
