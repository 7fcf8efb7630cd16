package rollout

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/rollout/workload"
)

var (
	kustomizations = schema.GroupVersionKind{Group: "kustomize.toolkit.fluxcd.io", Version: "v1", Kind: "Kustomization"}
	helmReleases   = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}
	applications   = schema.GroupVersionKind{Group: "argoproj.io", Version: "v1alpha1", Kind: "Application"}
)

// argoNamespace has the Applications whose tracking IDs name no namespace.
const argoNamespace = "argocd"

// originKeys are the annotations that say where a template comes from.
var originKeys = []string{v1alpha1.CommitAnnotation, v1alpha1.AuthorAnnotation, v1alpha1.SubjectAnnotation, v1alpha1.CommitTimeAnnotation}

var (
	// commitName matches the full name of a commit.
	commitName = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
	// gitRevision matches a revision of Flux that is a commit, such as main@sha1:<hash>. A digest of an
	// OCI artifact is a sha256.
	gitRevision = regexp.MustCompile(`^(?:.*@)?sha1:([0-9a-f]{40})$`)
)

// longestClaim limits what a workload says of the origin of its template, in bytes.
const longestClaim = 300

// longestLook limits the reads of what applies a workload: they are only shown, so a release does
// not wait for them.
const longestLook = 2 * time.Second

// claims returns the origin that a workload names for its template: the commit of its annotations,
// or else its change cause, or its Helm release. A user who may write the workload can name any.
func claims(w metav1.Object) map[string]string {
	annotations, labels := w.GetAnnotations(), w.GetLabels()
	claim := func(text string) string { return plain.UpTo(plain.Line(text), longestClaim) }
	subject := cmp.Or(annotations[v1alpha1.SubjectAnnotation], annotations["kubernetes.io/change-cause"])
	if release := annotations["meta.helm.sh/release-name"]; subject == "" && release != "" {
		subject = strings.TrimSuffix("Helm release "+release+", "+cmp.Or(labels["helm.sh/chart"], labels["chart"]), ", ")
	}
	from := map[string]string{v1alpha1.SubjectAnnotation: claim(subject)}
	if commit := annotations[v1alpha1.CommitAnnotation]; commitName.MatchString(commit) {
		from[v1alpha1.CommitAnnotation] = commit
		from[v1alpha1.AuthorAnnotation] = claim(annotations[v1alpha1.AuthorAnnotation])
		from[v1alpha1.CommitTimeAnnotation] = claim(annotations[v1alpha1.CommitTimeAnnotation])
	}
	return from
}

// origin returns the origin of a workload's template: its claims, or else the commit that Flux or
// Argo CD applies.
func (c *cluster) origin(ctx context.Context, w workload.Workload) map[string]string {
	from := claims(w)
	if from[v1alpha1.CommitAnnotation] != "" {
		return from
	}
	ctx, cancel := context.WithTimeout(ctx, longestLook)
	defer cancel()
	if commit := (applied{c.live}).commit(ctx, w); commit != "" {
		from[v1alpha1.CommitAnnotation] = commit
	}
	return from
}

// applied finds the commit that Flux or Argo CD applies. It believes what these say of an object,
// and not what the object says of itself: one that they don't apply gets no commit of theirs.
type applied struct{ live client.Reader }

// commit returns the commit by which a workload is applied; empty if that is not known.
func (a applied) commit(ctx context.Context, w workload.Workload) string {
	at := target{Group: "apps", Kind: w.Kind(), Namespace: w.GetNamespace(), Name: w.GetName()}
	if by := a.read(ctx, helmReleases, applierOf(w, "helm.toolkit.fluxcd.io")); by != nil {
		if into, _, _ := unstructured.NestedString(by.Object, "spec", "targetNamespace"); cmp.Or(into, by.GetNamespace()) != at.Namespace {
			return ""
		}
		return a.ofKustomization(ctx, by, target{helmReleases.Group, helmReleases.Kind, by.GetNamespace(), by.GetName()})
	}
	return cmp.Or(a.ofKustomization(ctx, w, at), a.ofApplication(ctx, w, at))
}

// target names an object as Flux and Argo CD do.
type target struct{ Group, Kind, Namespace, Name string }

// ofKustomization returns the commit of the Kustomization that applies an object.
func (a applied) ofKustomization(ctx context.Context, object metav1.Object, at target) string {
	by := a.read(ctx, kustomizations, applierOf(object, "kustomize.toolkit.fluxcd.io"))
	if by == nil {
		return ""
	}
	entries, _, _ := unstructured.NestedSlice(by.Object, "status", "inventory", "entries")
	id := strings.Join([]string{at.Namespace, at.Name, at.Group, at.Kind}, "_")
	if !slices.ContainsFunc(entries, func(entry any) bool { return text(entry, "id") == id }) {
		return ""
	}
	// The revision is attempted before anything is applied, and applied once everything is.
	for _, key := range []string{"lastAttemptedOriginRevision", "lastAttemptedRevision", "lastAppliedOriginRevision", "lastAppliedRevision"} {
		if found := gitRevision.FindStringSubmatch(text(by.Object["status"], key)); found != nil {
			return found[1]
		}
	}
	return ""
}

// ofApplication returns the commit of the Application that applies an object.
func (a applied) ofApplication(ctx context.Context, object metav1.Object, at target) string {
	name, _, _ := strings.Cut(object.GetAnnotations()["argocd.argoproj.io/tracking-id"], ":")
	key := types.NamespacedName{Namespace: argoNamespace, Name: name}
	if namespace, rest, found := strings.Cut(name, "_"); found {
		key = types.NamespacedName{Namespace: namespace, Name: rest}
	}
	by := a.read(ctx, applications, key)
	if by == nil {
		return ""
	}
	resources, _, _ := unstructured.NestedSlice(by.Object, "status", "resources")
	mine := func(entry any) bool {
		return at == target{text(entry, "group"), text(entry, "kind"), text(entry, "namespace"), text(entry, "name")}
	}
	if !slices.ContainsFunc(resources, mine) {
		return ""
	}
	// The operation is the sync in progress, or the last one.
	for _, path := range [][]string{{"operationState", "operation", "sync"}, {"operationState", "syncResult"}, {"sync"}} {
		sync, _, _ := unstructured.NestedMap(by.Object, append([]string{"status"}, path...)...)
		if commit := text(sync, "revision"); commitName.MatchString(commit) {
			return commit
		}
	}
	return ""
}

// applierOf returns the object of Flux that an object names as its applier.
func applierOf(object metav1.Object, group string) types.NamespacedName {
	labels := object.GetLabels()
	return types.NamespacedName{Namespace: labels[group+"/namespace"], Name: labels[group+"/name"]}
}

// read reads an object; nil if it can't be read.
func (a applied) read(ctx context.Context, kind schema.GroupVersionKind, key types.NamespacedName) *unstructured.Unstructured {
	if key.Namespace == "" || key.Name == "" {
		return nil
	}
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(kind)
	if a.live.Get(ctx, key, found) != nil {
		return nil
	}
	return found
}

// text returns a text in a JSON object; empty if it has none of that name.
func text(object any, key string) string {
	fields, _ := object.(map[string]any)
	found, _ := fields[key].(string)
	return found
}
