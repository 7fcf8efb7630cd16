package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/sluice-dev/sluice/forge"
)

// Client looks at a repository on a forge.
type Client interface {
	forge.People
	forge.Inspection
}

// Forge is a repository on a forge that is checked from here, as the account that is given.
type Forge struct {
	// Of begins the subject of each finding; it may be empty.
	Of     string
	Type   forge.Type
	Client Client
	// Branch is the tracked one.
	Branch string
	// Deployments reports whether they are to be made.
	Deployments bool
	// Receiver is the end of the address for webhooks; empty if there are none.
	Receiver string
}

// A setup tells people what a type of forge needs: the pages with what to do, and what the forge
// calls the rights.
type setup struct {
	account, token, keys, protection, webhook string
	rights                                    map[forge.Right]string
}

const (
	githubPage = "docs/github-app.md"
	giteaPage  = "docs/gitea.md"
	gitlabPage = "docs/gitlab.md"
)

var setups = map[forge.Type]setup{
	forge.TypeGitHub: {
		account: githubPage + "#make-the-app", token: githubPage + "#a-token-instead-of-an-app", keys: githubPage + "#change-keys-and-secrets",
		protection: githubPage + "#protect-the-branch", webhook: githubPage + "#webhook",
		rights: map[forge.Right]string{
			forge.ReadContents:     "Contents: read",
			forge.PushBranches:     "Contents: read and write",
			forge.OpenPullRequests: "Pull requests: read and write",
			forge.PostStatuses:     "Commit statuses: read and write",
			forge.ReadChecks:       "Checks: read",
			forge.MakeDeployments:  "Deployments: read and write",
		},
	},
	forge.TypeGitea: {
		account: giteaPage + "#make-the-account", token: giteaPage + "#make-the-account", keys: giteaPage + "#make-the-account",
		protection: giteaPage + "#protect-the-branch", webhook: giteaPage + "#webhook",
		rights: map[forge.Right]string{
			forge.ReadContents:     "the scope read:repository",
			forge.PushBranches:     "the scope write:repository",
			forge.OpenPullRequests: "the scopes write:repository and write:issue",
			forge.PostStatuses:     "the scope write:repository",
		},
	},
	forge.TypeGitLab: {
		account: gitlabPage, token: gitlabPage, keys: gitlabPage, protection: gitlabPage, webhook: gitlabPage,
		rights: map[forge.Right]string{
			forge.ReadContents:     "the scope api",
			forge.PushBranches:     "the scope api",
			forge.OpenPullRequests: "the scope api",
			forge.PostStatuses:     "the scope api",
		},
	},
}

func (f *Forge) setup() setup { return setups[cmp.Or(f.Type, forge.TypeGitHub)] }

// Check finds out who we are, what we may do, and what protects the branch. It changes nothing.
func (f *Forge) Check(ctx context.Context) []Finding {
	self, err := f.Client.Self(ctx)
	if err != nil {
		return []Finding{f.stranger(ctx, err)}
	}
	findings := []Finding{{OK, f.Of + "account", "the forge knows us as " + self.Login, ""}}
	repository, err := f.Client.Repository(ctx)
	if err != nil {
		return append(findings, f.failed("forge", err))
	}
	findings = append(findings, Finding{OK, f.Of + "forge", "shows us " + repository.FullName, ""})
	for _, right := range f.rights() {
		findings = append(findings, f.right(ctx, right))
	}
	findings = append(findings, f.protection(ctx))
	if f.Receiver != "" {
		findings = append(findings, f.webhook(ctx))
	}
	return findings
}

// stranger returns the finding of an account that is not let in. Of an app it may be known what it
// lacks.
func (f *Forge) stranger(ctx context.Context, err error) Finding {
	if forge.KindOf(err) == forge.Misconfigured {
		lacking, problem := f.Client.Lacking(ctx)
		if problem == nil && len(lacking) > 0 {
			return Finding{Failed, f.Of + "account", "the installation of the App lacks " + strings.Join(lacking, ", "),
				"grant them to the App, and accept them in its installation: " + f.setup().account}
		}
	}
	return f.failed("account", err)
}

// failed returns the finding of what the forge did not answer.
func (f *Forge) failed(subject string, err error) Finding {
	found := Finding{Failed, f.Of + subject, err.Error(), "check the network between this machine and the forge: DNS, proxy, certificates"}
	switch forge.KindOf(err) {
	case forge.Unauthorised:
		found.Remedy = "make another token or key, it is wrong, revoked or expired: " + f.setup().keys
	case forge.Forbidden:
		found.Remedy = "give the account the rights of " + f.setup().account + ", or a token of its own: " + f.setup().token
	case forge.NotFound:
		found.Remedy = "correct owner and name of the repository, and give the account access: " + f.setup().account
	case forge.Misconfigured, forge.Invalid:
		found.Remedy = "correct what is given: " + f.setup().account
	case forge.Limited:
		found.Grade, found.Remedy = Warning, "try again then"
	}
	return found
}

func (f *Forge) rights() []forge.Right {
	rights := []forge.Right{forge.ReadContents, forge.PushBranches, forge.OpenPullRequests, forge.PostStatuses}
	if f.setup().rights[forge.ReadChecks] != "" {
		rights = append(rights, forge.ReadChecks)
	}
	if f.Deployments {
		rights = append(rights, forge.MakeDeployments)
	}
	return rights
}

func (f *Forge) right(ctx context.Context, right forge.Right) Finding {
	subject := "right to " + string(right)
	may, err := f.Client.May(ctx, right, f.Branch)
	switch {
	case err != nil:
		return f.failed(subject, err)
	case may:
		return Finding{OK, f.Of + subject, "granted", ""}
	case right == forge.ReadChecks:
		return Finding{Warning, f.Of + subject, "not granted: checkRun gates can't pass",
			"grant " + f.setup().rights[right] + ", which fine-grained tokens can't have: " + f.setup().token}
	}
	return Finding{Failed, f.Of + subject, "not granted", "grant " + f.setup().rights[right] + ", and a role that may write: " + f.setup().account}
}

// protection judges whether an approval can be got round.
func (f *Forge) protection(ctx context.Context) Finding {
	subject := "protection of branch " + f.Branch
	found, err := f.Client.Protection(ctx, f.Branch)
	if err != nil {
		failed := f.failed(subject, err)
		failed.Grade = Warning
		return failed
	}
	if text := unprotected(found); text != "" {
		return Finding{Warning, f.Of + subject, text, "protect the branch: " + f.setup().protection}
	}
	return Finding{OK, f.Of + subject, fmt.Sprintf("changes take a pull request, with approvals: %d", found.Approvals), ""}
}

// unprotected returns how approvals can be got round; empty if no way is known.
func unprotected(found forge.Protection) string {
	switch {
	case !found.Protected:
		return "there is none: anyone who may push can approve without a pull request"
	case found.Hidden:
		return "there is some that is not shown to this account: approvals may be got round"
	case !found.PullRequest:
		return "changes need no pull request: anyone who may push can approve without one"
	case found.WeBypass:
		return "it does not hold the account of Sluice itself"
	case found.AdminsBypass:
		return "it does not hold administrators"
	case found.Approvals == 0:
		return "pull requests take no approval: their authors can merge them"
	case !found.DismissesStale:
		return "approvals stay when new commits are pushed"
	}
	return ""
}

// wanted are the events that something is done about.
var wanted = []string{"push", "pull_request", "pull_request_review", "status", "check_run", "check_suite"}

// webhook judges the one that is sent to the controller.
func (f *Forge) webhook(ctx context.Context) Finding {
	const subject = "webhook"
	hooks, err := f.Client.Hooks(ctx)
	switch forge.KindOf(err) {
	case forge.Forbidden, forge.NotFound:
		return Finding{Warning, f.Of + subject, "not shown to this account", "look at its deliveries in the settings of the repository: " + f.setup().webhook}
	}
	if err != nil {
		return f.failed(subject, err)
	}
	at := slices.IndexFunc(hooks, func(h forge.Hook) bool { return strings.HasSuffix(h.URL, f.Receiver) })
	if at < 0 {
		return Finding{Warning, f.Of + subject, "there is none to " + f.Receiver + ": Git and the forge are only polled", "add it: " + f.setup().webhook}
	}
	if text := unheard(hooks[at]); text != "" {
		return Finding{Failed, f.Of + subject, text, "set it right: " + f.setup().webhook}
	}
	return Finding{OK, f.Of + subject, "sends what is needed to " + f.Receiver, ""}
}

// unheard returns why what a webhook sends has no effect; empty if it has.
func unheard(hook forge.Hook) string {
	missing := slices.DeleteFunc(slices.Clone(wanted), func(event string) bool { return slices.Contains(hook.Events, event) })
	switch {
	case !hook.Active:
		return "it is not active"
	case hook.ContentType != "json":
		return "its content type is " + hook.ContentType + ", and not application/json"
	case !hook.Signed:
		return "it has no secret, so that nothing it sends is taken"
	case len(missing) > 0 && !slices.Contains(hook.Events, "*"):
		return "it does not send " + strings.Join(missing, ", ")
	}
	return ""
}
