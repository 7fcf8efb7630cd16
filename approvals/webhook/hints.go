package webhook

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/approvals/gate"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/forge/record"
)

// isOf reports whether a source is of the repository owner/name. Where no forge is configured, its
// clone address says so.
func isOf(source *v1alpha1.ReleaseSource, fullName string) bool {
	if f := source.Spec.Forge; f != nil {
		return strings.EqualFold(f.Owner+"/"+f.Repo, fullName)
	}
	path := strings.ToLower("/" + strings.Trim(pathOf(source.Spec.URL), "/"))
	return strings.HasSuffix(strings.TrimSuffix(path, ".git"), "/"+strings.ToLower(fullName))
}

// pathOf returns the path of a clone address: a URL, or user@host:path.
func pathOf(address string) string {
	if !strings.Contains(address, "://") {
		_, path, _ := strings.Cut(address, ":")
		return path
	}
	parsed, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return parsed.Path
}

// concerned returns the objects that an event may be news for. Git shows what was merged.
func (r *Receiver) concerned(ctx context.Context, source *v1alpha1.ReleaseSource, e forge.Event) ([]client.Object, error) {
	merged := e.Kind == forge.EventPullRequest && e.Action == "closed" && e.Merged
	if e.Kind == forge.EventPush || merged {
		if e.Branch == source.Branch() {
			return []client.Object{&v1alpha1.ReleaseSource{ObjectMeta: metav1.ObjectMeta{Namespace: source.Namespace, Name: source.Name}}}, nil
		}
	}
	waitsFor := awaiting(source, e)
	if waitsFor == nil {
		return nil, nil
	}
	return r.gates(ctx, source, waitsFor)
}

// awaiting tells gates for which an event may be news from others; nil if it is news for none.
func awaiting(source *v1alpha1.ReleaseSource, e forge.Event) func(*v1alpha1.Gate) bool {
	switch {
	case e.Kind == forge.EventPullRequest && (e.Action == "closed" || e.Action == "reopened"):
		return func(g *v1alpha1.Gate) bool { return isFor(g, source, e) }
	case e.Kind == forge.EventReview:
		return func(g *v1alpha1.Gate) bool { return isFor(g, source, e) && asksForReviews(g) }
	case e.Kind == forge.EventStatus:
		return func(g *v1alpha1.Gate) bool {
			policy := g.Spec.Policy.CommitStatus
			all := e.Name == "" // of a pipeline, which has several
			return policy != nil && g.Spec.Commit == e.SHA && (all || strings.EqualFold(policy.Context, e.Name))
		}
	case e.Kind == forge.EventCheckRun && e.Action == "completed":
		return func(g *v1alpha1.Gate) bool {
			policy := g.Spec.Policy.CheckRun
			return policy != nil && g.Spec.Commit == e.SHA && policy.Name == e.Name && policy.App == e.App
		}
	case e.Kind == forge.EventCheckSuite && e.Action == "completed":
		return func(g *v1alpha1.Gate) bool {
			policy := g.Spec.Policy.CheckRun
			return policy != nil && g.Spec.Commit == e.SHA && policy.App == e.App
		}
	}
	return nil
}

// isFor reports whether an event is about the pull request of a gate. One that was opened just now
// is known by its branch: the gate may not say its number yet, or the cache not have heard of it.
func isFor(g *v1alpha1.Gate, source *v1alpha1.ReleaseSource, e forge.Event) bool {
	opened := g.Status.PullRequest
	if opened == nil || opened.Number == 0 {
		return g.Spec.Type == v1alpha1.GatePullRequest && e.Head == record.Branch(g)
	}
	return opened.Number == int64(e.Number) &&
		opened.Source == v1alpha1.SourceReference{Namespace: source.Namespace, Name: source.Name}
}

// asksForReviews reports whether reviews can decide a gate: where none are required the merge alone
// does.
func asksForReviews(g *v1alpha1.Gate) bool {
	return g.Spec.Policy.PullRequest != nil && g.Spec.Policy.PullRequest.MinApprovals > 0
}

// gates returns those of the source's releases that are not decided yet and for which something is
// news.
func (r *Receiver) gates(ctx context.Context, source *v1alpha1.ReleaseSource, isNews func(*v1alpha1.Gate) bool) ([]client.Object, error) {
	var all v1alpha1.GateList
	if err := r.cached.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list gates: %w", err)
	}
	var found []client.Object
	for i := range all.Items {
		g := &all.Items[i]
		if gate.Decided(g) || !isNews(g) {
			continue
		}
		from, err := r.isFrom(ctx, g, source)
		if err != nil {
			return nil, err
		}
		if from {
			found = append(found, &v1alpha1.Gate{ObjectMeta: metav1.ObjectMeta{Namespace: g.Namespace, Name: g.Name}})
		}
	}
	return found, nil
}

// isFrom reports whether a gate is one of a release from a source.
func (r *Receiver) isFrom(ctx context.Context, g *v1alpha1.Gate, source *v1alpha1.ReleaseSource) (bool, error) {
	release := &v1alpha1.BatchRelease{}
	key := client.ObjectKey{Namespace: g.Namespace, Name: g.Spec.ReleaseRef.Name}
	if err := r.cached.Get(ctx, key, release, client.UnsafeDisableDeepCopy); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return release.Labels[v1alpha1.SourceLabel] == source.LabelIn(g.Namespace), nil
}

// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=releasesources;gates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rollouts.sluice.dev,resources=batchreleases,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// hint asks for a look at an object. Several hints before the next look are one.
func (r *Receiver) hint(ctx context.Context, object client.Object) error {
	now := r.options.Clock.Now().UTC().Format(time.RFC3339Nano)
	annotations := map[string]string{v1alpha1.RequestedAtAnnotation: now}
	if _, is := object.(*v1alpha1.ReleaseSource); is {
		annotations[v1alpha1.WebhookAtAnnotation] = now
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": annotations}})
	if err != nil {
		return fmt.Errorf("write a patch: %w", err)
	}
	raw := client.RawPatch(types.MergePatchType, patch)
	if err := r.cached.Patch(ctx, object, raw, client.FieldOwner(v1alpha1.OwnerApprovals)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("request a look at %T %s: %w", object, client.ObjectKeyFromObject(object), err)
	}
	return nil
}
