package gitsync

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kube"
)

// copyConfig creates the copies of a release that are missing. It never changes the content of one
// that is there.
func (e executor) copyConfig(ctx context.Context, w plan.CopyConfig) kube.Outcome {
	var outcome kube.Outcome = kube.Unchanged{}
	for _, wanted := range w.Release.Copies {
		created := kube.OutcomeOf(e.writer.Create(ctx, wanted.Object(), client.FieldValidation("Strict")))
		if exists(created) {
			created = e.checkCopy(ctx, w, wanted)
		}
		if kube.Err(created) != nil {
			return created
		}
		if _, written := created.(kube.Written); written {
			outcome = created
		}
	}
	return outcome
}

func exists(outcome kube.Outcome) bool { return apierrors.IsAlreadyExists(kube.Err(outcome)) }

// checkCopy refuses an object that has the name of a copy and is not that copy. A copy whose owners
// may all be gone loses them, or the garbage collector would delete it under the release.
func (e executor) checkCopy(ctx context.Context, w plan.CopyConfig, wanted *spec.Copy) kube.Outcome {
	found := &unstructured.Unstructured{}
	found.SetGroupVersionKind(coreKind(wanted.Kind))
	if err := e.reader.Get(ctx, client.ObjectKey{Namespace: wanted.Namespace, Name: wanted.Name}, found); err != nil {
		return kube.OutcomeOf(err)
	}
	switch {
	case found.GetDeletionTimestamp() != nil:
		return kube.Failed{Err: fmt.Errorf("%s %s is being deleted", wanted.Kind, wanted.Name)}
	case !isSame(found, wanted.Object()) || !plan.IsCopy(found, wanted.Release):
		return kube.Refused{Err: fmt.Errorf("%s %s in namespace %s exists, and is not the copy of %s that Sluice makes under this name: delete it, or rename it",
			wanted.Kind, wanted.Name, wanted.Namespace, wanted.Of)}
	case len(found.GetOwnerReferences()) == 0 || w.Live != nil && ownedBy(found, w.Live.UID):
		return kube.Unchanged{}
	}
	without := found.DeepCopy()
	without.SetOwnerReferences(nil)
	return kube.Patch(ctx, e.writer, found, without)
}

func coreKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Version: "v1", Kind: kind}
}

// isSame reports whether two ConfigMaps or Secrets have the same content, and never get another.
func isSame(a, b *unstructured.Unstructured) bool {
	for _, field := range []string{"immutable", "data", "binaryData", "type"} {
		if !equality.Semantic.DeepEqual(a.Object[field], b.Object[field]) {
			return false
		}
	}
	return true
}

// rounds of tending copies: owners come first, and what is deleted has them.
const tendRounds = 3

// tendCopies makes the copies of a release that somebody has deleted, gives all their owners, and
// deletes those that no template names.
// It reports whether they all are so; an error says what is in the way.
func (p *pass) tendCopies(ctx context.Context, release *spec.Release) (settled bool, err error) {
	for range tendRounds {
		copies, err := p.observeCopies(ctx, release)
		if err != nil || copies == nil {
			return false, err
		}
		if lacksCopy(copies, release) {
			again := p.copyConfig(ctx, plan.CopyConfig{Release: release, Live: p.observed.Releases[plan.KeyOf(release)]})
			if err := kube.Err(again); err != nil {
				return false, err
			}
			continue
		}
		writes := plan.Tend(*copies)
		if len(writes) == 0 {
			return true, nil
		}
		for _, write := range writes {
			outcome := p.sendCopy(ctx, write)
			switch outcome.(type) {
			case kube.Refused, kube.Failed:
				return false, kube.Err(outcome)
			case kube.Written, kube.Unchanged, kube.Outdated, kube.Gone:
			}
		}
	}
	return false, nil
}

// lacksCopy reports whether one of a release's copies is not there.
func lacksCopy(copies *plan.Copies, release *spec.Release) bool {
	return slices.ContainsFunc(release.Copies, func(wanted *spec.Copy) bool {
		return !slices.ContainsFunc(copies.Found, func(found *metav1.PartialObjectMetadata) bool {
			return found.Kind == wanted.Kind && found.Name == wanted.Name
		})
	})
}

func (e executor) sendCopy(ctx context.Context, write plan.CopyWrite) kube.Outcome {
	switch w := write.(type) {
	case plan.OwnCopy:
		wanted := w.Copy.DeepCopy()
		wanted.OwnerReferences = w.Owners
		return kube.Patch(ctx, e.writer, w.Copy, wanted)
	case plan.DeleteCopy:
		is := client.Preconditions{UID: &w.Copy.UID, ResourceVersion: &w.Copy.ResourceVersion}
		return kube.OutcomeOf(e.writer.Delete(ctx, w.Copy.DeepCopy(), is))
	}
	return kube.Failed{Err: errors.New("unknown write to a copy")}
}

func ownedBy(object metav1.Object, uid types.UID) bool {
	return slices.ContainsFunc(object.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == uid })
}
