package gitsync

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func entry(manager string, operation metav1.ManagedFieldsOperationType, subresource, fields string) metav1.ManagedFieldsEntry {
	owned := &metav1.FieldsV1{}
	owned.SetRawString(fields)
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Subresource: subresource, FieldsType: "FieldsV1", FieldsV1: owned}
}

// TestSoleOwner: others keep what Git says nothing of, and subresources.
func TestSoleOwner(t *testing.T) {
	t.Parallel()
	const apply, update = metav1.ManagedFieldsOperationApply, metav1.ManagedFieldsOperationUpdate
	ours := entry("git", apply, "", `{"f:spec":{"f:template":{},"f:strategy":{"f:steps":{}}}}`)
	status := entry("rollout", update, "status", `{"f:spec":{"f:template":{}}}`)
	tests := map[string]struct {
		reason      string
		given, want []metav1.ManagedFieldsEntry
		changed     bool
	}{
		"alone":  {"nothing is written", []metav1.ManagedFieldsEntry{ours, status}, []metav1.ManagedFieldsEntry{ours, status}, false},
		"others": {"a field of theirs", []metav1.ManagedFieldsEntry{ours, entry("hpa", update, "", `{"f:spec":{"f:strategy":{"f:maxSurge":{}}}}`)}, []metav1.ManagedFieldsEntry{ours, entry("hpa", update, "", `{"f:spec":{"f:strategy":{"f:maxSurge":{}}}}`)}, false},
		"shared": {
			"fields of both", []metav1.ManagedFieldsEntry{
				entry("kubectl", update, "", `{"f:spec":{"f:template":{},"f:strategy":{"f:steps":{},"f:maxSurge":{}}}}`), ours, status,
				entry("kubectl", apply, "", `{"f:spec":{"f:template":{}}}`),
			}, []metav1.ManagedFieldsEntry{entry("kubectl", update, "", `{"f:spec":{"f:strategy":{"f:maxSurge":{}}}}`), ours, status}, true,
		},
		"ourselves": {
			"also what was written otherwise under our name", []metav1.ManagedFieldsEntry{ours, entry("git", update, "", `{"f:spec":{"f:template":{}}}`)},
			[]metav1.ManagedFieldsEntry{ours}, true,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, changed, err := soleOwner(test.given, "git")
			if err != nil || changed != test.changed {
				t.Fatalf("%s: changed %t, %v; want %t", test.reason, changed, err, test.changed)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", test.reason, diff)
			}
		})
	}
}

func TestSoleOwnerOfNonsense(t *testing.T) {
	t.Parallel()
	if _, _, err := soleOwner([]metav1.ManagedFieldsEntry{entry("kubectl", "Update", "", "nonsense")}, "git"); err == nil {
		t.Error("fields that can't be read are taken for none")
	}
}
