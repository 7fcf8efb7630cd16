package gitsync

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/podtemplate"
	"github.com/sluice-dev/sluice/internal/subset"
)

func keyOf(release *spec.Release) client.ObjectKey {
	return client.ObjectKey{Namespace: release.Namespace, Name: release.Name}
}

// settled tells, without looking far, that there is nothing to do for a release: its
// Deployment is there, and it is as the API server returned it when it was written.
func (p *pass) settled(release *spec.Release) bool {
	known, _ := p.written(keyOf(release))
	live := p.releases[keyOf(release)]
	return live != nil && !p.lacksDeployment(release) &&
		known.digest == release.Digest && known.uid == live.UID && known.generation == live.Generation
}

// lacksDeployment tells whether the release's Deployment is to be created.
func (p *pass) lacksDeployment(release *spec.Release) bool {
	return !p.deployments[workloadOf(release)] && release.HasDeployment()
}

func workloadOf(release *spec.Release) client.ObjectKey {
	return client.ObjectKey{Namespace: release.Namespace, Name: release.Workload}
}

// apply makes a release in the cluster what it is in Git, after its Deployment.
func (p *pass) apply(ctx context.Context, release *spec.Release) error {
	if p.lacksDeployment(release) && !p.frozenNow(release) {
		if err := p.createDeployment(ctx, release); err != nil {
			return err
		}
	}
	live, err := p.current(ctx, release)
	if err != nil {
		return err
	}
	if live == nil {
		return p.write(ctx, release, p.lastOrigin(release), nil)
	}
	if err := p.mayWrite(ctx, live); err != nil {
		return err
	}
	if p.asGitAsks(live, release) {
		p.remember(release, live.UID, live.Generation, p.originOf(live, release))
		return nil
	}
	return p.write(ctx, release, p.originOf(live, release), live)
}

// createDeployment is the first deploy. It is not updated later: its template is
// released, and the rest is the cluster's.
func (p *pass) createDeployment(ctx context.Context, release *spec.Release) error {
	deployment := release.Deployment()
	err := p.writer.Create(ctx, deployment, client.FieldValidation("Strict"))
	switch {
	case apierrors.IsAlreadyExists(err): // the cache is behind
		return nil
	case err != nil:
		return fmt.Errorf("create Deployment %s: %w", deployment.GetName(), err)
	}
	p.note(&p.created, deployment.GetNamespace()+"/"+deployment.GetName())
	return nil
}

// current returns the release as it is in the cluster; nil if it is not. What the
// cache has is believed unless it lacks what was written before.
func (p *pass) current(ctx context.Context, release *spec.Release) (*v1alpha1.BatchRelease, error) {
	key := keyOf(release)
	known, wasWritten := p.written(key)
	live := p.releases[key]
	if live != nil && (!wasWritten || live.UID == known.uid && live.Generation >= known.generation) {
		return live, nil
	}
	reader := client.Reader(p.client)
	if wasWritten {
		reader = p.live
	}
	live = &v1alpha1.BatchRelease{}
	err := reader.Get(ctx, key, live)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read BatchRelease %s: %w", key, err)
	}
	return live, nil
}

// mayWrite refuses releases that another source of the cluster writes: the two would
// undo each other.
func (p *pass) mayWrite(ctx context.Context, live *v1alpha1.BatchRelease) error {
	owner := live.Labels[v1alpha1.SourceLabel]
	if owner == "" || owner == p.source.LabelIn(live.Namespace) {
		return nil
	}
	var sources v1alpha1.ReleaseSourceList
	if err := p.client.List(ctx, &sources); err != nil {
		return fmt.Errorf("list sources: %w", err)
	}
	for i := range sources.Items {
		if other := &sources.Items[i]; other.LabelIn(live.Namespace) == owner {
			return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("batchreleases").GroupResource(), live.Name,
				fmt.Errorf("ReleaseSource %s/%s writes it", other.Namespace, other.Name))
		}
	}
	return nil
}

// asGitAsks tells whether a release is what was applied last and nobody has changed
// what Git says of it.
func (p *pass) asGitAsks(live *v1alpha1.BatchRelease, release *spec.Release) bool {
	return live.Annotations[v1alpha1.AppliedDigestAnnotation] == release.Digest &&
		live.Annotations[v1alpha1.GitTemplateAnnotation] == release.TemplateDigest &&
		live.Labels[v1alpha1.SourceLabel] == p.source.LabelIn(live.Namespace) &&
		holds(live, release)
}

// holds tells whether a release has all that its manifest says, whatever else
// defaults, and people, have added. Of the template it has nothing else.
func holds(live *v1alpha1.BatchRelease, release *spec.Release) bool {
	var wanted v1alpha1.BatchRelease
	data, err := json.Marshal(release.Object().Object)
	if err != nil || json.Unmarshal(data, &wanted) != nil {
		return false
	}
	return hasTemplate(live, release) && subset.Of(toValue(wanted.Spec), toValue(live.Spec)) &&
		subset.Of(toValue(wanted.Labels), toValue(live.Labels)) && subset.Of(toValue(wanted.Annotations), toValue(live.Annotations))
}

func hasTemplate(live *v1alpha1.BatchRelease, release *spec.Release) bool {
	if live.Spec.Template == nil {
		return false
	}
	given, err := podtemplate.Given(live.Spec.Template.Raw)
	return err == nil && given == release.TemplateDigest
}

func toValue(typed any) any {
	data, err := json.Marshal(typed)
	if err != nil {
		return err
	}
	var value any
	_ = json.Unmarshal(data, &value) // it was just encoded
	return value
}

// originOf is the commit that brought the release's template: the one known so far
// unless this one changes the template.
func (p *pass) originOf(live *v1alpha1.BatchRelease, release *spec.Release) origin {
	known := origin{
		commit:  live.Annotations[v1alpha1.CommitAnnotation],
		author:  live.Annotations[v1alpha1.AuthorAnnotation],
		subject: live.Annotations[v1alpha1.SubjectAnnotation],
	}
	recorded := live.Annotations[v1alpha1.GitTemplateAnnotation]
	if known.commit == "" || recorded != release.TemplateDigest && !(recorded == "" && hasTemplate(live, release)) {
		return p.memory.origin
	}
	return known
}

// lastOrigin is the commit that brought the template of a release that is not there: somebody may have deleted it, and
// the template is no newer for that.
func (p *pass) lastOrigin(release *spec.Release) origin {
	if known, found := p.written(keyOf(release)); found && known.template == release.TemplateDigest {
		return known.origin
	}
	return p.memory.origin
}

// write applies a release, of which live is in the cluster so far. What is frozen is never without the
// annotation: with the template of another commit it would be released.
func (p *pass) write(ctx context.Context, release *spec.Release, from origin, live *v1alpha1.BatchRelease) error {
	object := release.Object()
	leaveSuspend(object)
	annotations := annotationsOf(release, from)
	freeze := p.freezeOf(release.Namespace, object.GetLabels(), live)
	if freeze != "" {
		annotations[v1alpha1.FreezeAnnotation] = freeze
	}
	object.SetLabels(with(object.GetLabels(), map[string]string{
		v1alpha1.SourceLabel: p.source.LabelIn(release.Namespace),
	}))
	object.SetAnnotations(with(object.GetAnnotations(), annotations))
	if err := p.applyObject(ctx, object); err != nil {
		return fmt.Errorf("apply BatchRelease %s: %w", release.Name, err)
	}
	if freeze != "" {
		p.rememberFreeze(keyOf(release), freeze)
	}
	if live == nil || live.ResourceVersion != object.GetResourceVersion() {
		p.note(&p.applied, release.Namespace+"/"+release.Name)
	}
	if err := p.takeOwnership(ctx, object); err != nil {
		return fmt.Errorf("take over the fields of BatchRelease %s: %w", release.Name, err)
	}
	if !keptTemplate(object, release) {
		return fmt.Errorf("apply BatchRelease %s: %w", release.Name, errRewritten)
	}
	p.remember(release, object.GetUID(), object.GetGeneration(), from)
	return nil
}

// errRewritten: the object is applied again with each look, which changes nothing unless it is rewritten in another way.
var errRewritten = errors.New("the API server keeps another spec.template than Git gives, and it is not released: " +
	"an admission webhook or policy changes it; have it leave BatchReleases alone, or bring the change to Git")

// keptTemplate reports whether the API server keeps the template of a release as it was applied.
func keptTemplate(object *unstructured.Unstructured, release *spec.Release) bool {
	template, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "template")
	data, err := json.Marshal(template)
	if err != nil {
		return false
	}
	given, err := podtemplate.Given(data)
	return err == nil && given == release.TemplateDigest
}

// leaveSuspend leaves it to people to suspend a release that Git does not: suspend: false in a manifest is what it
// would be without, and does not let go on what somebody has stopped.
func leaveSuspend(object *unstructured.Unstructured) {
	if asked, _, _ := unstructured.NestedBool(object.Object, "spec", "suspend"); !asked {
		unstructured.RemoveNestedField(object.Object, "spec", "suspend")
	}
}

// annotationsOf are those that say where a release comes from.
func annotationsOf(release *spec.Release, from origin) map[string]string {
	annotations := map[string]string{
		v1alpha1.CommitAnnotation:        from.commit,
		v1alpha1.AuthorAnnotation:        from.author,
		v1alpha1.SubjectAnnotation:       from.subject,
		v1alpha1.FileAnnotation:          release.File,
		v1alpha1.AppliedDigestAnnotation: release.Digest,
		v1alpha1.GitTemplateAnnotation:   release.TemplateDigest,
	}
	if release.TemplateFile != "" {
		annotations[v1alpha1.TemplateFileAnnotation] = release.TemplateFile
	}
	if release.Kustomization != "" {
		annotations[v1alpha1.KustomizationAnnotation] = release.Kustomization
	}
	return annotations
}

func (p *pass) applyObject(ctx context.Context, object *unstructured.Unstructured) error {
	return p.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership)
}

func (p *pass) written(key client.ObjectKey) (written, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known, found := p.memory.written[key]
	return known, found
}

func (p *pass) remember(release *spec.Release, uid types.UID, generation int64, from origin) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.memory.written[keyOf(release)] = written{
		uid: uid, generation: generation, digest: release.Digest, template: release.TemplateDigest, origin: from,
	}
}

// with returns the given labels or annotations with some more.
func with(given, more map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, given)
	maps.Copy(all, more)
	return all
}
