package forge

import (
	"context"
	"slices"
	"strings"
)

// Type is a type of forge.
type Type string

// The types.
const (
	TypeGitHub Type = "GitHub"
	TypeGitea  Type = "Gitea"
	TypeGitLab Type = "GitLab"
)

// Access says which repository, on which forge, and as whom.
type Access struct {
	Type Type
	// BaseURL is the root of the server; empty for the public one of the type.
	BaseURL string
	// Owner and Repository name the repository.
	Owner, Repository string
	// Secret is the data of the Secret that a ReleaseSource names.
	Secret map[string][]byte
	// Teams and Deployments say that members of teams are to be read, and deployments to be written.
	Teams, Deployments bool
}

// Client is one repository on a forge, by what a gate needs. It is safe for use by many goroutines
// at once. Its errors are a *Error, a *LimitedError, or that of the context.
//
// Each write can lose its answer and be done again, and exists once.
type Client interface {
	People
	Proposals
	Evidence
	Reports
	// Budget returns the rest of the rate limit as of the last answer. It sends nothing.
	Budget() Budget
}

// People finds the repository, and those who may act in it.
type People interface {
	// Self returns our own account. It is requested once.
	Self(ctx context.Context) (Account, error)
	// Repository returns the repository. It is requested once.
	Repository(ctx context.Context) (Repository, error)
	// Accounts returns the accounts of some logins, in their order. A login that nobody has is an
	// account that is not Known.
	Accounts(ctx context.Context, logins ...string) ([]Account, error)
	// Permissions returns what people may do with the repository. One of whom the forge tells nothing
	// is left out, or may not write.
	Permissions(ctx context.Context, who ...Account) ([]Permission, error)
}

// Proposals opens pull requests of one file, and closes them.
type Proposals interface {
	// OpenChange makes the branch and the pull request of a request, or finds them: there is never a
	// second. One that is open gets the title and the body if they changed. A request for content that
	// the tracked branch holds already is an error of kind Invalid.
	OpenChange(ctx context.Context, r ChangeRequest) (PullRequest, error)
	// FindChange looks for the pull request that was made for a request before.
	FindChange(ctx context.Context, r ChangeRequest) (PullRequest, bool, error)
	// MoveChange sets the branch of an open pull request again, on top of the tip that is given, if the
	// commit that it was made on is no longer part of the tracked branch. It returns the commit that it
	// wrote then, and nothing if the branch stays.
	MoveChange(ctx context.Context, r ChangeRequest, madeOn string) (string, error)
	// UpdateApproval gives an open pull request another title and body, if it has not got them.
	UpdateApproval(ctx context.Context, number int, title, body string) (PullRequest, error)
	// Comment says something below a pull request, unless we have said the same there before.
	Comment(ctx context.Context, number int, text string) error
	// CloseApproval says why in a comment and closes the pull request of a branch. One that is closed,
	// or whose number is that of another branch, is left as it is.
	CloseApproval(ctx context.Context, number int, branch, comment string) error
	// DeleteBranch removes the branch of an approval, if it is there. No other branch is removed.
	DeleteBranch(ctx context.Context, name string) error
}

// Evidence reads what gates are judged by.
type Evidence interface {
	// PullRequest reads one pull request. One that is not there is of kind NotFound.
	PullRequest(ctx context.Context, number int) (PullRequest, error)
	// ReadApproval gathers what an approval is judged by.
	ReadApproval(ctx context.Context, q ApprovalQuery) (Approval, error)
	// CommitStatuses returns the statuses of a commit in one context, compared without case, newest
	// first. The newest one by one of the creators, or by anybody if none are given, is among them.
	CommitStatuses(ctx context.Context, sha, name string, creators ...Account) ([]Status, error)
	// CheckRuns returns the latest runs of a check on a commit, of all apps, or of the one with that
	// slug.
	CheckRuns(ctx context.Context, sha, name, app string) ([]CheckRun, error)
	// Has reports whether a branch has a commit.
	Has(ctx context.Context, branch, sha string) (bool, error)
	// Tip reads the last commit of a branch with its tree.
	Tip(ctx context.Context, branch string) (Tip, error)
	// ReadFile reads a file as it was at a commit. The error for one that is missing is of kind
	// NotFound.
	ReadFile(ctx context.Context, path, ref string) ([]byte, error)
}

// Reports shows people how far a release is.
type Reports interface {
	// PostStatus posts a commit status, and none that the commit has already.
	PostStatus(ctx context.Context, r StatusRequest) (Status, error)
	// OpenDeployment makes a deployment, or finds the one that has the same commit, task and
	// environment.
	OpenDeployment(ctx context.Context, r DeploymentRequest) (Deployment, error)
	// PostDeploymentStatus gives a deployment a new state.
	PostDeploymentStatus(ctx context.Context, r DeploymentStatusRequest) error
	// Keep puts a file into a commit of its own on top of a ref, with Git. If the answer is lost it
	// may be there twice.
	Keep(ctx context.Context, file KeptFile) error
}

// Inspection says whether a setup is fit for use. It serves people who set Sluice up.
type Inspection interface {
	// May finds out whether we have a right, and changes nothing. The branch is the tracked one.
	May(ctx context.Context, right Right, branch string) (bool, error)
	// Lacking returns the permissions that we need and were not given, as the forge names them, where
	// it tells.
	Lacking(ctx context.Context) ([]string, error)
	// Protection returns what is asked of those who change a branch.
	Protection(ctx context.Context, branch string) (Protection, error)
	// Hooks returns the webhooks of the repository. They are shown to few.
	Hooks(ctx context.Context) ([]Hook, error)
}

// Capabilities say what a type of forge can answer: a gate that needs what it can't is refused when
// it is written.
type Capabilities struct {
	// CheckRuns and Deployments are there.
	CheckRuns, Deployments bool
	// Pushers says that the forge tells who moves branches.
	Pushers bool
	// LateReviews count: a pull request that was merged can still be approved.
	LateReviews bool
	// Apps can act as our account.
	Apps bool
}

// capabilities has the capabilities of each type.
var capabilities = map[Type]Capabilities{
	TypeGitHub: {CheckRuns: true, Deployments: true, Pushers: true, LateReviews: true, Apps: true},
	TypeGitea:  {Pushers: true},
	TypeGitLab: {Pushers: true},
}

// ParseType returns the type of a name, in any case; empty for a name of none.
func ParseType(name string) Type {
	for known := range capabilities {
		if strings.EqualFold(name, string(known)) {
			return known
		}
	}
	return ""
}

// Types returns the names of all types, sorted, for people.
func Types() string {
	var names []string
	for known := range capabilities {
		names = append(names, string(known))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

// CapabilitiesOf returns what a type of forge can answer, and whether there is such a type.
func CapabilitiesOf(t Type) (Capabilities, bool) {
	c, known := capabilities[t]
	return c, known
}
