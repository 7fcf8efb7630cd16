package gate

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Unpassable says why a gate of a valid policy can never pass, whatever people do. It is no rule of
// the API: approvers may be added while the gate is open.
func Unpassable(policy *v1alpha1.GatePolicy, path *field.Path) field.ErrorList {
	if policy.PullRequest == nil {
		return nil
	}
	approvers := map[string]bool{}
	for _, login := range policy.PullRequest.Approvers {
		approvers[strings.ToLower(login)] = true
	}
	named, wanted := len(approvers), int(policy.PullRequest.MinApprovals)
	if named == 0 || len(policy.PullRequest.Teams) > 0 || wanted <= named {
		return nil
	}
	detail := fmt.Sprintf("can't pass: approvers names %d and no team is given", named)
	return field.ErrorList{field.Invalid(path.Child("pullRequest", "minApprovals"), policy.PullRequest.MinApprovals, detail)}
}
