package plan

import "github.com/sluice-dev/sluice/api/v1alpha1"

// pastGit reports whether spec.template is not what Git gives, by what gitsync has recorded beside it. What
// somebody has written there is not released: it would have the name of a commit that does not contain it, and the
// approvals of that commit. The source takes it back; until then it counts as if nothing were given, and the release stops.
func pastGit(o *Observation) bool {
	fromGit := o.Release.Annotations[v1alpha1.GitTemplateAnnotation]
	return fromGit != "" && o.Given != fromGit
}
