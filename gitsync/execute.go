package gitsync

import (
	"context"
	"encoding/json"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
)

// writesAtOnce is how many objects of a source are written at a time.
const writesAtOnce = 8

// executor sends writes as the account of a source, and reads live as that account. It decides
// nothing.
type executor struct {
	writer client.Client
	reader client.Reader
	// asAccount reports whether the account is not the controller's own.
	asAccount bool
}

// result is the result of a write.
type result struct {
	write   plan.Write
	outcome kube.Outcome
	// release is the BatchRelease that the API server answered with, if it was written.
	release *v1alpha1.BatchRelease
}

// carryOut sends writes that do not depend on each other.
func (e executor) carryOut(ctx context.Context, writes []plan.Write) []result {
	results := make([]result, len(writes))
	var group errgroup.Group
	group.SetLimit(writesAtOnce)
	for i, write := range writes {
		group.Go(func() error {
			results[i] = e.send(ctx, write)
			return nil
		})
	}
	_ = group.Wait() // what fails is in the results
	return results
}

func (e executor) send(ctx context.Context, write plan.Write) result {
	r := result{write: write, release: &v1alpha1.BatchRelease{}}
	switch w := write.(type) {
	case plan.SetFreeze:
		r.release = w.Release.DeepCopy()
		r.outcome = e.setFreeze(ctx, w, r.release)
	case plan.CopyConfig:
		r.outcome = e.copyConfig(ctx, w)
	case plan.CreateWorkload:
		r.outcome = kube.OutcomeOf(e.writer.Create(ctx, w.Object(), client.FieldValidation("Strict")))
	case plan.ApplyRelease:
		r.outcome = e.apply(ctx, w, r.release)
	case plan.TakeOwnership:
		r.release.Namespace, r.release.Name = w.Release.Namespace, w.Release.Name
		r.outcome = e.takeOwnership(ctx, w, r.release)
	case plan.DeleteRelease:
		r.outcome = kube.OutcomeOf(e.writer.Delete(ctx, w.Release.DeepCopy(), client.Preconditions{UID: &w.Release.UID}))
	}
	return r
}

// setFreeze holds for any version: rollout writes the status all the time, and a freeze does not
// wait.
func (e executor) setFreeze(ctx context.Context, w plan.SetFreeze, wanted *v1alpha1.BatchRelease) kube.Outcome {
	if delete(wanted.Annotations, v1alpha1.FreezeAnnotation); w.Text != "" {
		metav1.SetMetaDataAnnotation(&wanted.ObjectMeta, v1alpha1.FreezeAnnotation, w.Text)
	}
	return kube.PatchAnyVersion(ctx, e.writer, w.Release, wanted, client.FieldOwner(v1alpha1.OwnerFreeze))
}

func (e executor) apply(ctx context.Context, w plan.ApplyRelease, answer *v1alpha1.BatchRelease) kube.Outcome {
	if err := e.mayRunJobs(ctx, w.Release); err != nil {
		return kube.OutcomeOf(err)
	}
	object := w.Object()
	outcome := kube.OutcomeOf(e.writer.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership))
	if _, written := outcome.(kube.Written); !written {
		return outcome
	}
	data, err := object.MarshalJSON()
	if err == nil {
		err = json.Unmarshal(data, answer)
	}
	if err != nil {
		return kube.Failed{Err: fmt.Errorf("read what the API server answered: %w", err)}
	}
	return outcome
}

// mayRunJobs returns an error if the account may not create the Jobs of a release's gates. The
// controller creates them with rights of its own, and does nothing that the account could not.
func (e executor) mayRunJobs(ctx context.Context, release *spec.Release) error {
	if !e.asAccount {
		return nil
	}
	for _, job := range release.Jobs() {
		if err := e.writer.Create(ctx, job, client.DryRunAll); err != nil {
			return fmt.Errorf("gate of the release: %w", err)
		}
	}
	return nil
}

func (e executor) takeOwnership(ctx context.Context, w plan.TakeOwnership, answer *v1alpha1.BatchRelease) kube.Outcome {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": w.Shared.Version, "managedFields": w.Shared.Owners,
	}})
	if err != nil {
		return kube.Failed{Err: fmt.Errorf("encode field owners: %w", err)}
	}
	return kube.OutcomeOf(e.writer.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch)))
}

// failure is a write that failed.
type failure struct {
	write   plan.Write
	outcome kube.Outcome
}

// take records what became of a write. Its error is one of reading the answer.
func (p *pass) take(ctx context.Context, r result) error {
	p.sent[r.write.Sent()] = plan.Failed
	switch r.outcome.(type) {
	case kube.Written, kube.Unchanged:
		p.sent[r.write.Sent()] = plan.Took
		return p.took(r)
	case kube.Gone:
		if w, deleted := r.write.(plan.DeleteRelease); deleted {
			p.gone(w)
			return nil
		}
		if _, freeze := r.write.(plan.SetFreeze); freeze { // what is gone needs none
			return nil
		}
	case kube.Outdated:
		if w, created := r.write.(plan.CreateWorkload); created { // it is there already, and the cache is behind
			return p.existed(ctx, w.Release)
		}
	case kube.Refused, kube.Failed:
	}
	p.failures = append(p.failures, failure{r.write, r.outcome})
	return nil
}

// took records a write that succeeded.
func (p *pass) took(r result) error {
	switch w := r.write.(type) {
	case plan.CopyConfig: // the write that follows shows it
		return nil
	case plan.CreateWorkload:
		p.observed.Workloads[plan.WorkloadOf(w.Release)] = true
		p.created = append(p.created, w)
		return nil
	case plan.DeleteRelease:
		p.gone(w)
		p.pruned = append(p.pruned, client.ObjectKeyFromObject(w.Release))
		return nil
	case plan.ApplyRelease:
		if w.Live == nil || w.Live.ResourceVersion != r.release.ResourceVersion {
			p.applied = append(p.applied, plan.KeyOf(w.Release))
			if len(w.Edited) > 0 {
				p.undone = append(p.undone, p.edits[plan.KeyOf(w.Release)])
			}
		}
		return p.saw(r.release)
	case plan.TakeOwnership:
		return p.saw(r.release)
	case plan.SetFreeze:
		p.memory.releases.Saw(r.release)
		p.observed.Releases[client.ObjectKeyFromObject(r.release)] = r.release
		return nil
	}
	return nil
}

// saw records a release as the API server answered it, whole.
func (p *pass) saw(release *v1alpha1.BatchRelease) error {
	if err := p.memory.sawOwners(release, &p.observed); err != nil {
		return err
	}
	release.ManagedFields = nil // as in the cache: they are most of its size
	p.memory.releases.Saw(release)
	p.observed.Releases[client.ObjectKeyFromObject(release)] = release
	return nil
}

func (p *pass) gone(w plan.DeleteRelease) {
	p.memory.releases.Deleted(client.ObjectKeyFromObject(w.Release))
	delete(p.observed.Releases, client.ObjectKeyFromObject(w.Release))
}
