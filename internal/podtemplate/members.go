package podtemplate

import (
	"encoding/json"
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// GivenOf returns the digest of what a release is given to release: spec.template, or the templates
// of a train's members. It is empty if there is none.
func GivenOf(spec *v1alpha1.BatchReleaseSpec) (string, error) {
	switch {
	case len(spec.MemberTemplates) > 0:
		return GivenMembers(spec.MemberTemplates)
	case spec.Template == nil || len(spec.Template.Raw) == 0:
		return "", nil
	default:
		return Given(spec.Template.Raw)
	}
}

// GivenMembers returns the digest of the templates of a train's members.
func GivenMembers(templates []v1alpha1.MemberTemplate) (string, error) {
	raw, err := json.Marshal(map[string]any{"memberTemplates": templates})
	if err != nil {
		return "", fmt.Errorf("write memberTemplates: %w", err)
	}
	return Given(raw)
}
