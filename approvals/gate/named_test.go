package gate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// kept has a name been met before.
func (s approving) kept(name string, id int64) {
	s.source.Status.Accounts = append(s.source.Status.Accounts, v1alpha1.NamedAccount{Kind: v1alpha1.AccountUser, Name: name, ID: id})
}

// TestNamed: accounts in a policy are kept by number, except unknown ones and those with a number.
func TestNamed(t *testing.T) {
	t.Parallel()
	scene := mergeAlone()
	scene.policy.Approvers = []string{"Carol", "ghost", "dave#13"}
	scene.forge.Approval.Approvers = []forge.Account{carol, {Login: "ghost"}, dave}
	want := []v1alpha1.NamedAccount{{Kind: v1alpha1.AccountUser, Name: "carol", ID: carol.ID}}
	if diff := cmp.Diff(want, Named(scene.gate, scene.forge)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	check := newGate(v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "ci"}})
	runs := &ForgeFacts{CheckRuns: []forge.CheckRun{{App: forge.App{ID: 8, Slug: "other"}}, {App: forge.App{ID: 9, Slug: "ci"}}}}
	want = []v1alpha1.NamedAccount{{Kind: v1alpha1.AccountApp, Name: "ci", ID: 9}}
	if diff := cmp.Diff(want, Named(check, runs)); diff != "" {
		t.Errorf("of a check: -want +got:\n%s", diff)
	}
}

// TestNamesThatChangedHands: a status or a check in a name that means another than it did is not
// what is waited for.
func TestNamesThatChangedHands(t *testing.T) {
	t.Parallel()
	source := &v1alpha1.ReleaseSource{Status: v1alpha1.ReleaseSourceStatus{Accounts: []v1alpha1.NamedAccount{
		{Kind: v1alpha1.AccountUser, Name: "ci", ID: 7}, {Kind: v1alpha1.AccountApp, Name: "ci", ID: 7},
	}}}
	source.Spec.Forge = &v1alpha1.Forge{}
	for name, tc := range map[string]struct {
		policy v1alpha1.GatePolicy
		forge  *ForgeFacts
		passes string
	}{
		"status": {
			v1alpha1.GatePolicy{CommitStatus: &v1alpha1.CommitStatusGate{Context: "ci/smoke", Creators: []string{"ci"}}},
			&ForgeFacts{
				OwnPrefix: "sluice/", Creators: []forge.Account{{ID: 8, Login: "ci"}},
				Statuses: []forge.Status{{SHA: releaseCommit, Context: "ci/smoke", State: forge.StateSuccess, Creator: forge.Account{ID: 8, Login: "ci"}}},
			}, "ci#8",
		},
		"check": {
			v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "ci"}},
			&ForgeFacts{CheckRuns: []forge.CheckRun{{
				HeadSHA: releaseCommit, Name: "e2e", App: forge.App{ID: 8, Slug: "ci"}, Status: forge.CheckCompleted, Conclusion: forge.ConclusionSuccess,
			}}}, "ci#8",
		},
	} {
		g := newGate(tc.policy)
		g.Spec.Commit = releaseCommit
		facts := Facts{Release: blockedOn(g), Source: source, Forge: tc.forge}
		got := Evaluate(g, facts, made).Status
		if got.Decision != v1alpha1.DecisionWaiting || !strings.Contains(got.Message, "write "+tc.passes+" if that is meant") {
			t.Errorf("%s: got %s: %s", name, got.Decision, got.Message)
		}
		if tc.policy.CommitStatus != nil {
			g.Spec.Policy.CommitStatus.Creators[0] = tc.passes
		} else {
			g.Spec.Policy.CheckRun.App = tc.passes
		}
		if got := Evaluate(g, facts, made).Status; got.Decision != v1alpha1.DecisionPassed {
			t.Errorf("%s: with its number it must pass, got %s: %s", name, got.Decision, got.Message)
		}
	}
}
