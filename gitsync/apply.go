package gitsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// parallelWrites is how many releases of one source are applied at once.
const parallelWrites = 8

// application is one run of apply.
type application struct {
	*Reconciler
	source *v1alpha1.ReleaseSource
	memory *memory
	writer client.Client

	mu       sync.Mutex
	problems []spec.Error
	failed   []error
	changed  int
}

// apply makes the releases in the cluster those of the repository.
func (r *Reconciler) apply(ctx context.Context, source *v1alpha1.ReleaseSource, memory *memory) outcome {
	writer, err := r.writers.of(source.Namespace, cmp.Or(source.Spec.ServiceAccountName, r.options.DefaultServiceAccount))
	if err != nil {
		return failure(v1alpha1.ReasonApplyFailed, err)
	}
	run := &application{Reconciler: r, source: source, memory: memory, writer: writer}
	run.releases(ctx, memory.result.Releases)
	held := run.prune(ctx)
	return run.outcome(held)
}

// releases applies all of them, some at once.
func (a *application) releases(ctx context.Context, releases []*spec.Release) {
	work := make(chan *spec.Release)
	var workers sync.WaitGroup
	for range min(parallelWrites, len(releases)) {
		workers.Go(func() {
			for release := range work {
				a.note(release, a.release(ctx, release))
			}
		})
	}
	for _, release := range releases {
		work <- release
	}
	close(work)
	workers.Wait()
}

// note tells a refusal, which is the file's, from a failure, which is worth another try.
func (a *application) note(release *spec.Release, err error) {
	if err == nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if refused(err) {
		a.problems = append(a.problems, spec.Error{File: release.File, Line: release.Line, Message: err.Error()})
		return
	}
	a.failed = append(a.failed, fmt.Errorf("BatchRelease %s/%s: %w", release.Namespace, release.Name, err))
}

var errForeign = errors.New("belongs to another source")

func refused(err error) bool {
	return errors.Is(err, errForeign) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}

// release applies one release, unless the cluster has it as it is.
func (a *application) release(ctx context.Context, release *spec.Release) error {
	var existing v1alpha1.BatchRelease
	name := types.NamespacedName{Namespace: release.Namespace, Name: release.Name}
	err := a.client.Get(ctx, name, &existing)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("get: %w", err)
	}
	found := err == nil
	if owner := existing.Labels[v1alpha1.SourceLabel]; found && owner != "" && owner != a.source.Name {
		return fmt.Errorf("BatchRelease %q %w: ReleaseSource %q", release.Name, errForeign, owner)
	}
	if found && a.upToDate(release, &existing) {
		return nil
	}
	if err := a.createDeployment(ctx, release); err != nil {
		return err
	}
	return a.write(ctx, release, a.commitOf(release, &existing))
}

// upToDate reports whether the release is as we last applied it, and nobody edited it since.
func (a *application) upToDate(release *spec.Release, existing *v1alpha1.BatchRelease) bool {
	name := client.ObjectKeyFromObject(existing)
	a.mu.Lock()
	defer a.mu.Unlock()
	left, remembered := a.memory.generations[name]
	if existing.Annotations[v1alpha1.AppliedDigestAnnotation] != release.Digest || remembered && existing.Generation > left {
		return false
	}
	a.memory.generations[name] = max(left, existing.Generation)
	return true
}

// commitOf is the commit that brought the release's template: it stays while the template does.
func (a *application) commitOf(release *spec.Release, existing *v1alpha1.BatchRelease) string {
	before := existing.Annotations[v1alpha1.CommitAnnotation]
	if before == "" || existing.Spec.Template == nil {
		return a.memory.commit
	}
	if digest, err := podtemplate.Given(existing.Spec.Template.Raw); err != nil || digest != release.TemplateDigest {
		return a.memory.commit
	}
	return before
}

func (a *application) write(ctx context.Context, release *spec.Release, commit string) error {
	object := release.Object()
	annotate(object, map[string]string{
		v1alpha1.CommitAnnotation:        commit,
		v1alpha1.FileAnnotation:          release.File,
		v1alpha1.AppliedDigestAnnotation: release.Digest,
	})
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[v1alpha1.SourceLabel] = a.source.Name
	object.SetLabels(labels)
	if err := a.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership); err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.changed++
	a.memory.generations[client.ObjectKeyFromObject(object)] = object.GetGeneration()
	return nil
}

func annotate(object *unstructured.Unstructured, values map[string]string) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	for key, value := range values {
		annotations[key] = value
	}
	object.SetAnnotations(annotations)
}

// createDeployment makes the workload of a first deploy. There is nothing to release in
// batches then: all pods start with the release's template.
func (a *application) createDeployment(ctx context.Context, release *spec.Release) error {
	deployment := release.Deployment()
	if deployment == nil {
		return nil
	}
	err := a.client.Get(ctx, client.ObjectKeyFromObject(deployment), &appsv1.Deployment{})
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	strict := client.FieldValidation(metav1.FieldValidationStrict)
	if err := a.writer.Create(ctx, deployment, strict); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Deployment: %w", err)
	}
	return nil
}

func (a *application) outcome(held string) outcome {
	result := a.memory.result
	problems := append(a.problems, result.Errors...)
	out := outcome{
		commit: a.memory.commit, files: result.Files, releases: len(result.Releases),
		changed: a.changed, problems: problems,
		reason:  v1alpha1.ReasonSynced,
		message: fmt.Sprintf("commit %.12s: %d releases in %d files", a.memory.commit, len(result.Releases), result.Files),
	}
	switch {
	case len(a.failed) > 0:
		out.reason, out.message, out.retry = v1alpha1.ReasonApplyFailed, errors.Join(a.failed[:min(len(a.failed), 3)]...).Error(), true
		out.commit = ""
	case len(problems) > 0:
		out.reason, out.stalled = v1alpha1.ReasonFilesInvalid, true
		out.message = fmt.Sprintf("commit %.12s: %d errors, the first: %s", a.memory.commit, len(problems), problems[0].Error())
	case held != "":
		out.reason, out.message, out.stalled = v1alpha1.ReasonPruneHeld, held, true
	}
	return out
}
