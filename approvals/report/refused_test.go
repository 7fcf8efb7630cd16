package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// refusedOne returns an approval that was merged in vain.
func refusedOne() v1alpha1.Gate {
	g := approval()
	g.Name = "web-7f9c-3-1-0"
	g.Status.Refusal = &v1alpha1.Refusal{Message: "by ada, who wrote the release: another person must approve"}
	return g
}

// TestRefused: the comment on a pull request that was merged in vain names the reason and what
// helps, and is text.
func TestRefused(t *testing.T) {
	t.Parallel()
	g := refusedOne()
	g.Status.Refusal.Message += " `<b>` @team"
	want := "**This answer does not count**: `by ada, who wrote the release: another person must approve '<b>' @team`.\n\n" +
		"- `kubectl delete gate web-7f9c-3-1-0 -n shop` opens another pull request for the same step.\n" +
		"- `sluice approve web -n shop --force --reason=...` overrides the gate's policy, for those who may use it."
	if diff := cmp.Diff(want, Refused(&g)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	g.Spec.Policy.PullRequest.MinApprovals = 1
	if !strings.Contains(Refused(&g), "an approving review of it still counts") {
		t.Errorf("where reviews are asked for a later one counts: got %s", Refused(&g))
	}
}
