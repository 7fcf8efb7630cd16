package crdcheck

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	said := func(reason, message string) v1alpha1.BatchReleaseStatus {
		return v1alpha1.BatchReleaseStatus{Conditions: []metav1.Condition{{
			Type: "Ready", Status: metav1.ConditionTrue, Reason: reason, Message: message, LastTransitionTime: metav1.Now(),
		}}}
	}
	tests := map[string]struct {
		status v1alpha1.BatchReleaseStatus
		says   string
	}{
		"nothing":            {v1alpha1.BatchReleaseStatus{}, ""},
		"a message":          {said("Completed", "all pods run revision v2"), ""},
		"a message too long": {said("Completed", strings.Repeat("x", 32769)), "conditions[0].message"},
		"many runes":         {said("Completed", strings.Repeat("é", 32768)), ""},
		"no word":            {said("two words", ""), "conditions[0].reason"},
		"no phase":           {v1alpha1.BatchReleaseStatus{Phase: "Paused"}, "phase in body"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := Status(&test.status)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("Status = %v, want an error that names %q", err, test.says)
			}
		})
	}
}
