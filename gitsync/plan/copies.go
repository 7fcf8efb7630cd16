package plan

import (
	"regexp"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/podtemplate"
)

// Copies are the ConfigMaps and Secrets that carry the label of a release, and what decides about
// them.
type Copies struct {
	Found []*metav1.PartialObjectMetadata
	// Release owns each copy, and so does Workload, nil if there is none: the garbage collector
	// deletes a copy once both are gone.
	Release  metav1.OwnerReference
	Workload *metav1.OwnerReference
	// Named are the ConfigMaps and Secrets that any template names which may still run: that of Git,
	// of the release, of its workload, and those in the histories of both.
	Named map[podtemplate.Reference]bool
}

// CopyWrite is a write to the metadata of a copy: OwnCopy or DeleteCopy, and nothing else.
//
//sumtype:decl
type CopyWrite interface{ copyWrite() }

type (
	// OwnCopy gives a copy its owners.
	OwnCopy struct {
		Copy   *metav1.PartialObjectMetadata
		Owners []metav1.OwnerReference
	}
	// DeleteCopy deletes a copy that no template names.
	DeleteCopy struct{ Copy *metav1.PartialObjectMetadata }
)

func (OwnCopy) copyWrite()    {}
func (DeleteCopy) copyWrite() {}

// Tend returns the writes after which each copy has its owners and is named by a template. A copy
// is deleted only once its release owns it, and never while the workload is missing: it may come
// back.
func Tend(copies Copies) []CopyWrite {
	var writes []CopyWrite
	for _, found := range copies.Found {
		if !IsCopy(found, copies.Release.Name) || found.DeletionTimestamp != nil {
			continue
		}
		owners := ownersOf(found.OwnerReferences, copies)
		named := copies.Named[podtemplate.Reference{Kind: found.Kind, Name: found.Name}]
		switch {
		case !slices.Equal(owners, found.OwnerReferences):
			writes = append(writes, OwnCopy{found, owners})
		case !named && copies.Workload != nil:
			writes = append(writes, DeleteCopy{found})
		}
	}
	return writes
}

// ownersOf returns the owners that a copy is to have: its release, its workload, and those that
// others have added.
func ownersOf(present []metav1.OwnerReference, copies Copies) []metav1.OwnerReference {
	ours := []metav1.OwnerReference{copies.Release}
	if copies.Workload != nil {
		ours = append(ours, *copies.Workload)
	}
	isOurs := func(ref metav1.OwnerReference) bool {
		return slices.ContainsFunc(ours, func(o metav1.OwnerReference) bool { return o.UID == ref.UID })
	}
	if slices.ContainsFunc(ours, func(o metav1.OwnerReference) bool { return !owns(present, o.UID) }) {
		return append(ours, slices.DeleteFunc(slices.Clone(present), isOurs)...)
	}
	return present
}

func owns(owners []metav1.OwnerReference, uid types.UID) bool {
	return slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return o.UID == uid })
}

var copySuffix = regexp.MustCompile(`-[0-9a-f]{16}$`)

// IsCopy reports whether an object has the label, the annotation and the name of a copy that was
// made for a release.
func IsCopy(object metav1.Object, release string) bool {
	of, name := object.GetAnnotations()[v1alpha1.CopyOfAnnotation], object.GetName()
	suffix := copySuffix.FindString(name)
	stem := strings.TrimSuffix(name, suffix)
	cut := len(of) > maxStem && strings.HasPrefix(of, stem)
	return object.GetLabels()[v1alpha1.ReleaseLabel] == release && suffix != "" && (of == stem || cut)
}

// maxStem limits the part of a copy's name that is of the original's.
const maxStem = 253 - 17
