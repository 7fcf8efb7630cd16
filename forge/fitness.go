package forge

// Right is something that we must be allowed to do in a repository.
type Right string

// The rights.
const (
	// ReadContents is for the tip of the tracked branch.
	ReadContents Right = "read contents"
	// PushBranches is for the branch of an approval.
	PushBranches Right = "push branches"
	// OpenPullRequests is for approvals.
	OpenPullRequests Right = "open pull requests"
	// PostStatuses is for progress on the commit.
	PostStatuses Right = "post commit statuses"
	// ReadChecks is for gates that wait for a check run.
	ReadChecks Right = "read checks"
	// MakeDeployments is for sources that name an environment.
	MakeDeployments Right = "make deployments"
)

// Writes reports whether the right changes something.
func (r Right) Writes() bool { return r != ReadContents && r != ReadChecks }

// Protection holds the forge's requirements for changes of a branch.
type Protection struct {
	// Protected reports whether there is any; Hidden, that there is some that the forge does not show
	// us.
	Protected, Hidden bool
	// PullRequest reports whether every change has to come by a pull request.
	PullRequest bool
	// Approvals that such a one needs.
	Approvals int
	// DismissesStale reports whether a push takes back the approvals of what was there before.
	DismissesStale bool
	// WeBypass and AdminsBypass report who is known to be exempt from it.
	WeBypass, AdminsBypass bool
}

// Hook is a webhook of a repository.
type Hook struct {
	URL         string
	ContentType string
	Events      []string
	Active      bool
	// Signed reports whether it has a secret.
	Signed bool
}
