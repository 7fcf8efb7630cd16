package gitsync

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/gitsync/plan"
)

// soleOwned is the UID of a release of which nobody else owned a field that Git gives, when it was
// last seen with its owners.
type soleOwned types.UID

// sawOwners records who owns the fields of a release.
func (m *memory) sawOwners(release metav1.Object, seen *plan.Observed) error {
	key := plan.Key{Namespace: release.GetNamespace(), Name: release.GetName()}
	owners, shared, err := soleOwner(release.GetManagedFields(), v1alpha1.OwnerGitsync)
	if err != nil {
		return fmt.Errorf("owners of BatchRelease %s: %w", key, err)
	}
	if delete(seen.Shared, key); shared {
		seen.Shared[key] = plan.Shared{Version: release.GetResourceVersion(), Owners: owners}
		delete(m.soleOwner, key)
		return nil
	}
	m.soleOwner[key] = soleOwned(release.GetUID())
	return nil
}

// soleOwner returns the owners of an object's fields with no other one for what the owner applies,
// and whether that is a change. Status and other subresources are left alone.
func soleOwner(entries []metav1.ManagedFieldsEntry, owner string) ([]metav1.ManagedFieldsEntry, bool, error) {
	applied := &fieldpath.Set{}
	for _, entry := range entries {
		if entry.Manager != owner || entry.Operation != metav1.ManagedFieldsOperationApply || entry.Subresource != "" {
			continue
		}
		fields, err := fieldsOf(entry)
		if err != nil {
			return nil, false, err
		}
		applied = applied.Union(fields)
	}
	var kept []metav1.ManagedFieldsEntry
	changed := false
	for _, entry := range entries {
		others := entry.Subresource == "" && (entry.Manager != owner || entry.Operation != metav1.ManagedFieldsOperationApply)
		if !others {
			kept = append(kept, entry)
			continue
		}
		fields, err := fieldsOf(entry)
		if err != nil {
			return nil, false, err
		}
		rest := fields.Difference(applied)
		if !rest.Equals(fields) {
			changed = true
			left, err := rest.ToJSON()
			if err != nil {
				return nil, false, fmt.Errorf("encode fields of %s: %w", entry.Manager, err)
			}
			entry.FieldsV1.SetRawBytes(left)
		}
		if !rest.Empty() {
			kept = append(kept, entry)
		}
	}
	return kept, changed, nil
}

func fieldsOf(entry metav1.ManagedFieldsEntry) (*fieldpath.Set, error) {
	fields := &fieldpath.Set{}
	if entry.FieldsV1 == nil {
		return fields, nil
	}
	if err := fields.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
		return nil, fmt.Errorf("read fields of %s: %w", entry.Manager, err)
	}
	return fields, nil
}
