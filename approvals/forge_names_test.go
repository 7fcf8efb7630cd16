package approvals_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge/record"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// accounts returns the accounts that the shop's source keeps.
func (s *shop) accounts() []v1alpha1.NamedAccount {
	s.Helper()
	source := &v1alpha1.ReleaseSource{}
	if err := s.Get(s.Context(), client.ObjectKey{Namespace: s.namespace, Name: s.name}, source); err != nil {
		s.Fatal(err)
	}
	return source.Status.Accounts
}

// TestLoginThatChangesHands: the account of a login is kept when it is first met. A later owner of
// the login is no approver before the policy names their number.
func TestLoginThatChangesHands(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	grace := func(s *shop) (id int64) {
		var user struct{ User struct{ ID int64 } }
		s.call("ada", http.MethodGet, "collaborators/grace/permission", nil, &user)
		return user.User.ID
	}
	policy := v1alpha1.PullRequestGate{MinApprovals: 1, Approvers: []string{"Grace"}}
	first := w.newShop("first-met").begin().waits(v1alpha1.GatePolicy{PullRequest: &policy}).opened()
	first.review("grace", "APPROVE")
	first.merge("ada", "merge")
	first.sync()
	first.hint(first.gate)
	first.awaitDecision(first.gate, v1alpha1.DecisionPassed)
	want := v1alpha1.NamedAccount{Kind: v1alpha1.AccountUser, Name: "grace", ID: grace(first)}
	if got := first.accounts(); !slices.Contains(got, want) {
		t.Errorf("want %+v kept, got %+v", want, got)
	}

	later := w.newShop("later")
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"accounts": []v1alpha1.NamedAccount{{Kind: v1alpha1.AccountUser, Name: "grace", ID: 999999}}}})
	if err != nil {
		t.Fatal(err)
	}
	source := &v1alpha1.ReleaseSource{}
	source.Namespace, source.Name = later.namespace, later.name
	if err := w.Status().Patch(t.Context(), source, client.RawPatch("application/merge-patch+json", patch), client.FieldOwner(v1alpha1.OwnerApprovals)); err != nil {
		t.Fatal(err)
	}
	later.begin().waits(v1alpha1.GatePolicy{PullRequest: &policy}).opened()
	later.review("grace", "APPROVE")
	later.merge("ada", "merge")
	later.sync()
	later.hint(later.gate)
	later.awaitMessage(later.gate, fmt.Sprintf("Grace was number 999999 when the policy was first met and is number %d now", want.ID))
	if got := later.accounts(); len(got) != 1 || got[0].ID != 999999 {
		t.Errorf("want what was met first kept, got %+v", got)
	}
}

// TestApprovalFollowsARewrittenBranch: after a rewrite of the tracked branch that is followed, the
// pull request that is open proposes the record alone again.
func TestApprovalFollowsARewrittenBranch(t *testing.T) {
	t.Parallel()
	w := newForgeWorld(t)
	w.startForgeApprovals()
	s := w.newShop("rewritten")
	s.put("ada", "main", "README", "thrown away\n")
	s.sync()
	s.begin().waits(v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}).opened()
	head := s.head()
	s.setMain("ada", s.stable)
	s.put("ada", "main", "web.yaml", "image: web:2\n")
	s.sync()
	s.hint(s.gate)
	cptest.Eventually(s, soon, func() error {
		var files []struct{ Filename string }
		s.call("ada", http.MethodGet, s.pull()+"/files", nil, &files)
		if s.head() == head || len(files) != 1 || files[0].Filename != record.Path(s.namespace, s.name) {
			return fmt.Errorf("want the record alone, on the branch as it is, got %+v at %s", files, s.head())
		}
		return nil
	})
	s.merge("grace", "merge")
	s.sync()
	s.hint(s.gate)
	s.awaitDecision(s.gate, v1alpha1.DecisionPassed)
}
