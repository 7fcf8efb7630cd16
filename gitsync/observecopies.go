package gitsync

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
	"github.com/sluice-dev/sluice/gitsync/spec"
	"github.com/sluice-dev/sluice/internal/kinds"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// tended holds what has changed if a copy of a release may be left over: its template, or the end
// of a release. A sync that a user asks for looks again.
type tended struct {
	release, workload  types.UID
	template, revision string
	phase              v1alpha1.Phase
	asked              string
}

func (p *pass) tendedFor(release *spec.Release, live *v1alpha1.BatchRelease) tended {
	t := tended{release: live.UID, workload: p.observed.UIDs[plan.WorkloadOf(release)], template: release.TemplateDigest, phase: live.Status.Phase, asked: requestedAt(p.source)}
	if live.Status.Resolved != nil {
		t.revision = live.Status.Resolved.Revision
	}
	return t
}

// tend looks after the copies of all releases of which something has changed.
func (p *pass) tend(ctx context.Context) {
	for _, release := range p.desired.Content.Releases {
		live := p.observed.Releases[plan.KeyOf(release)]
		if live == nil || len(release.Copies) == 0 || !plan.Ours(p.desired.Source, live) || live.Annotations[v1alpha1.AppliedDigestAnnotation] != release.Digest {
			continue
		}
		now := p.tendedFor(release, live)
		if p.memory.tended[plan.KeyOf(release)] == now {
			continue
		}
		settled, err := p.tendCopies(ctx, release)
		if err != nil {
			p.copyProblems = append(p.copyProblems, copyFailed(release, err))
		} else if settled {
			p.memory.tended[plan.KeyOf(release)] = now
		}
	}
}

// observeCopies reads the copies of a release, and then all templates that may name them: one that
// comes in between was made before its template.
func (p *pass) observeCopies(ctx context.Context, release *spec.Release) (*plan.Copies, error) {
	live := p.observed.Releases[plan.KeyOf(release)]
	copies := &plan.Copies{Release: ownerOf(v1alpha1.GroupVersion.WithKind("BatchRelease"), live), Named: map[podtemplate.Reference]bool{}}
	for _, kind := range kindsOf(release.Copies) {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(coreKind(kind + "List"))
		err := p.reader.List(ctx, list, client.InNamespace(release.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name})
		if err != nil {
			return nil, fmt.Errorf("list the copies of BatchRelease %s: %w", release.Name, err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(coreKind(kind))
			copies.Found = append(copies.Found, &list.Items[i])
		}
	}
	templates := [][]byte{release.Template()}
	if live.Spec.Template != nil {
		templates = append(templates, live.Spec.Template.Raw)
	}
	kept, err := p.keptTemplates(ctx, live)
	if err != nil {
		return nil, err
	}
	owner, theirs, err := p.workloadTemplates(ctx, release)
	if err != nil {
		return nil, err
	}
	copies.Workload = owner
	for _, template := range append(append(templates, kept...), theirs...) {
		var object map[string]any
		if err := json.Unmarshal(template, &object); err != nil {
			return nil, fmt.Errorf("read a template of BatchRelease %s: %w", release.Name, err)
		}
		for ref := range podtemplate.References(object) {
			copies.Named[ref] = true
		}
	}
	return copies, nil
}

// kindsOf returns the kinds of copies. An account may have no right to others.
func kindsOf(copies []*spec.Copy) []string {
	var found []string
	for _, c := range copies {
		found = append(found, c.Kind)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func ownerOf(kind schema.GroupVersionKind, object metav1.Object) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind, Name: object.GetName(), UID: object.GetUID()}
}

// keptTemplates returns the templates in the history of a release.
func (o observer) keptTemplates(ctx context.Context, release *v1alpha1.BatchRelease) ([][]byte, error) {
	var list appsv1.ControllerRevisionList
	if err := o.live.List(ctx, &list, client.InNamespace(release.Namespace), client.MatchingLabels{v1alpha1.ReleaseLabel: release.Name}); err != nil {
		return nil, fmt.Errorf("read the history of BatchRelease %s/%s: %w", release.Namespace, release.Name, err)
	}
	var templates [][]byte
	for i := range list.Items {
		templates = append(templates, list.Items[i].Data.Raw)
	}
	return templates, nil
}

// workloadTemplates returns the workload of a release as an owner, nil if there is none, and the
// templates that its pods have or that its native controller keeps.
func (o observer) workloadTemplates(ctx context.Context, release *spec.Release) (*metav1.OwnerReference, [][]byte, error) {
	of := kinds.Named(release.WorkloadKind)
	workload := of.New()
	object, is := workload.(client.Object)
	if !is {
		return nil, nil, fmt.Errorf("%s is no object of the API", of.Name)
	}
	err := o.live.Get(ctx, client.ObjectKey{Namespace: release.Namespace, Name: release.Workload}, object)
	if apierrors.IsNotFound(err) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read %s %s: %w", of.Name, release.Workload, err)
	}
	template, err := json.Marshal(of.Template(workload))
	if err != nil {
		return nil, nil, fmt.Errorf("encode the template of %s %s: %w", of.Name, release.Workload, err)
	}
	templates := [][]byte{template}
	native, err := o.nativeTemplates(ctx, of.BySets(), object)
	if err != nil {
		return nil, nil, fmt.Errorf("read the versions of %s %s: %w", of.Name, release.Workload, err)
	}
	owner := ownerOf(appsv1.SchemeGroupVersion.WithKind(of.Name), object)
	return &owner, append(templates, native...), nil
}

// nativeTemplates returns the templates of a workload's ReplicaSets or ControllerRevisions.
func (o observer) nativeTemplates(ctx context.Context, sets bool, workload client.Object) ([][]byte, error) {
	var templates [][]byte
	if sets {
		var list appsv1.ReplicaSetList
		if err := o.live.List(ctx, &list, client.InNamespace(workload.GetNamespace())); err != nil {
			return nil, err
		}
		for i := range list.Items {
			if !metav1.IsControlledBy(&list.Items[i], workload) {
				continue
			}
			template, err := json.Marshal(list.Items[i].Spec.Template)
			if err != nil {
				return nil, err
			}
			templates = append(templates, template)
		}
		return templates, nil
	}
	var list appsv1.ControllerRevisionList
	if err := o.live.List(ctx, &list, client.InNamespace(workload.GetNamespace())); err != nil {
		return nil, err
	}
	for i := range list.Items {
		var patch struct {
			Spec struct {
				Template json.RawMessage `json:"template"`
			} `json:"spec"`
		}
		if !metav1.IsControlledBy(&list.Items[i], workload) {
			continue
		}
		if err := json.Unmarshal(list.Items[i].Data.Raw, &patch); err != nil {
			return nil, err
		}
		templates = append(templates, patch.Spec.Template)
	}
	return templates, nil
}
