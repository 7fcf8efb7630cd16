package plan

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// pastGit reports whether spec.template is not what Git gives, by what gitsync has put on record beside it. Whatever
// somebody has put there is not released: it would bear the name of a commit that does not have it, and what that
// commit was approved for. The source takes it back; until then it counts as if nothing were given, and the release stands.
func pastGit(o *Observation) bool {
	fromGit := o.Release.Annotations[v1alpha1.GitTemplateAnnotation]
	return fromGit != "" && o.Given != fromGit
}

const pastGitWords = "spec.template is not what Git gives: somebody changed it past Git; its ReleaseSource takes that back"

// changedPastGit stops a release whose template is not Git's.
func (p *pass) changedPastGit() *stop {
	if !p.pastGit {
		return nil
	}
	return &stop{v1alpha1.ReasonChangedPastGit, pastGitWords}
}

// sayPastGit tells it of a release that is not under way as well, and takes it back once it has ended.
func (p *pass) sayPastGit() {
	idle := p.status.Resolved == nil || p.status.Phase == v1alpha1.PhaseCompleted
	drifted := meta.FindStatusCondition(p.status.Conditions, v1alpha1.ConditionDrifted)
	switch {
	case p.pastGit && idle && !slices.Contains(otherTrouble, p.status.Reason):
		p.say(v1alpha1.ReasonChangedPastGit, pastGitWords)
	case p.pastGit:
	case drifted != nil && drifted.Reason == v1alpha1.ReasonChangedPastGit:
		p.drop(v1alpha1.ConditionDrifted)
		if p.status.Reason == v1alpha1.ReasonChangedPastGit && p.status.Phase == v1alpha1.PhaseCompleted {
			p.sayCompleted()
		}
	}
}

// otherTrouble are the reasons that tell more than that spec.template is not Git's.
var otherTrouble = []string{v1alpha1.ReasonWorkloadNotFound, v1alpha1.ReasonDrifted}
