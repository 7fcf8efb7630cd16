package plan

import "github.com/sluice-dev/sluice/api/v1alpha1"

// pastGit reports whether spec.template is not what Git gives, by what gitsync has put on record beside it. Whatever
// somebody has put there is not released: it would bear the name of a commit that does not have it, and what that
// commit was approved for. The source takes it back; until then it counts as if nothing were given, and the release stands.
func pastGit(o *Observation) bool {
	fromGit := o.Release.Annotations[v1alpha1.GitTemplateAnnotation]
	return fromGit != "" && o.Given != fromGit
}
