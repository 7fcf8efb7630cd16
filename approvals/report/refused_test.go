package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// refusedOne is an approval that was merged in vain.
func refusedOne() v1alpha1.Gate {
	g := approval()
	g.Name = "web-7f9c-3-1-0"
	g.Status.Refusal = &v1alpha1.Refusal{Message: "by ada, who wrote the release: another person must approve"}
	return g
}

// The comment on a pull request that was merged in vain names the reason and what helps, and is text.
func TestRefused(t *testing.T) {
	t.Parallel()
	g := refusedOne()
	g.Status.Refusal.Message += " `<b>` @team"
	want := "**This merge does not let the release go on**: `by ada, who wrote the release: another person must approve '<b>' @team`.\n\n" +
		"- Who may approve is told above. `kubectl delete gate web-7f9c-3-1-0 -n shop` opens another pull request for the same step, which they answer.\n" +
		"- `sluice approve web -n shop --force --reason=...` overrides the gate's policy, for those who may use it."
	if diff := cmp.Diff(want, Refused(&g)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	g.Spec.Policy.PullRequest.MinApprovals = 1
	if !strings.Contains(Refused(&g), "An approving review of this one still counts") {
		t.Errorf("where reviews are asked for a later one counts: got %s", Refused(&g))
	}
}
