package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// Named returns the accounts and apps that the policy of g names without a number, as the forge
// knows them now. The caller records them, so that a name never means another account later.
func Named(g *v1alpha1.Gate, known *ForgeFacts) []v1alpha1.NamedAccount {
	var found []v1alpha1.NamedAccount
	add := func(kind v1alpha1.AccountKind, name string, id int64) {
		if _, _, numbered := forge.Numbered(name); id != 0 && !numbered {
			found = append(found, v1alpha1.NamedAccount{Kind: kind, Name: strings.ToLower(name), ID: id})
		}
	}
	users := func(names []string, accounts []forge.Account) {
		for i := range min(len(names), len(accounts)) {
			add(v1alpha1.AccountUser, names[i], accounts[i].ID)
		}
	}
	switch policy := g.Spec.Policy; {
	case policy.PullRequest != nil && known.Approval != nil:
		users(policy.PullRequest.Approvers, known.Approval.Approvers)
		users(policy.PullRequest.TrustedPushers, known.Approval.Trusted)
		for i := range min(len(policy.PullRequest.Teams), len(known.Approval.Teams)) {
			if _, _, numbered := forge.Numbered(policy.PullRequest.Teams[i]); !numbered {
				add(v1alpha1.AccountTeam, known.Approval.Teams[i].Name(), known.Approval.Teams[i].ID)
			}
		}
	case policy.CommitStatus != nil:
		users(policy.CommitStatus.Creators, known.Creators)
	case policy.CheckRun != nil:
		for _, run := range known.CheckRuns {
			if strings.EqualFold(run.App.Slug, policy.CheckRun.App) {
				add(v1alpha1.AccountApp, policy.CheckRun.App, run.App.ID)
				break
			}
		}
	}
	return found
}

// kept returns the number that a name had when it was first met; 0 for one that was not met before.
func kept(source *v1alpha1.ReleaseSource, kind v1alpha1.AccountKind, name string) int64 {
	if source == nil {
		return 0
	}
	at := slices.IndexFunc(source.Status.Accounts, func(a v1alpha1.NamedAccount) bool {
		return a.Kind == kind && a.Name == strings.ToLower(name)
	})
	if at < 0 {
		return 0
	}
	return source.Status.Accounts[at].ID
}

// sameAsBefore returns accounts without those whose name means another than it did, with what to
// report about these.
func sameAsBefore(source *v1alpha1.ReleaseSource, names []string, accounts []forge.Account) (same []forge.Account, said string) {
	var words []string
	same = slices.Clone(accounts)
	for i := range min(len(names), len(accounts)) {
		before := kept(source, v1alpha1.AccountUser, names[i])
		if _, _, numbered := forge.Numbered(names[i]); numbered || before == 0 || !accounts[i].Known() || before == accounts[i].ID {
			continue
		}
		words = append(words, changedHands(names[i], before, accounts[i].ID))
		same[i] = forge.Account{Login: names[i]}
	}
	return same, joined(words...)
}

// sameTeams returns teams without those whose name means another than it did, or than the number in
// the policy, with what to report about these.
func sameTeams(source *v1alpha1.ReleaseSource, names []string, teams []forge.Team) (same []forge.Team, said string) {
	var words []string
	for i := range min(len(names), len(teams)) {
		bare, meant, numbered := forge.Numbered(names[i])
		if !numbered {
			meant = kept(source, v1alpha1.AccountTeam, teams[i].Name())
		}
		if meant == 0 || meant == teams[i].ID {
			same = append(same, teams[i])
			continue
		}
		if numbered {
			words = append(words, fmt.Sprintf("team %s is number %d now, which does not count: the policy means number %d", bare, teams[i].ID, meant))
		} else {
			words = append(words, "team "+changedHands(bare, meant, teams[i].ID))
		}
	}
	return same, joined(words...)
}

// joined joins the remarks on several names.
func joined(words ...string) string {
	return strings.Join(slices.DeleteFunc(words, func(s string) bool { return s == "" }), "; ")
}

// changedHands says that a name means another than it did, and how to mean the other.
func changedHands(name string, before, now int64) string {
	return fmt.Sprintf("%s was number %d when the policy was first met and is number %d now, which does not count: write %s#%d if that is meant",
		name, before, now, name, now)
}
