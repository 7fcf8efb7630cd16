package forge

import "time"

// State is the state of a commit status.
type State string

// The states of a commit status.
const (
	StatePending State = "pending"
	StateSuccess State = "success"
	StateFailure State = "failure"
	StateError   State = "error"
)

// StatusRequest asks for a commit status.
type StatusRequest struct {
	SHA     string
	Context string
	State   State
	// Description is cut by Description before it is sent.
	Description string
	TargetURL   string
}

// Status is a commit status. Anybody who may write to a repository can post one, in any context.
type Status struct {
	// ID grows with time.
	ID  int64
	SHA string
	// Context is as it was posted; contexts that differ only in case are one context.
	Context     string
	State       State
	Description string
	TargetURL   string
	Creator     Account
	CreatedAt   time.Time
}

// CheckStatus is how far a check run is.
type CheckStatus string

// CheckCompleted is the status of a check run that has a conclusion.
const CheckCompleted CheckStatus = "completed"

// Conclusion is the end of a check run.
type Conclusion string

// The conclusions that are commonly waited for. There are more.
const (
	ConclusionSuccess Conclusion = "success"
	ConclusionNeutral Conclusion = "neutral"
	ConclusionSkipped Conclusion = "skipped"
	ConclusionFailure Conclusion = "failure"
)

// App is a program that makes check runs.
type App struct {
	ID   int64
	Slug string
}

// ActionsApp is the slug of the app that runs workflows. Unlike other apps it makes runs for
// anybody: on a public repository also for pull requests from forks.
const ActionsApp = "github-actions"

// CheckRun is one run of a check.
type CheckRun struct {
	ID      int64
	Name    string
	App     App
	HeadSHA string
	// Branch names the branch of the run; empty for a fork's. It is known only of runs of the
	// ActionsApp.
	Branch string
	Status CheckStatus
	// Conclusion is empty before Status is CheckCompleted.
	Conclusion  Conclusion
	URL         string
	StartedAt   time.Time
	CompletedAt time.Time
}

// DeploymentState is the state of a deployment.
type DeploymentState string

// The states of a deployment.
const (
	DeploymentQueued     DeploymentState = "queued"
	DeploymentInProgress DeploymentState = "in_progress"
	DeploymentSuccess    DeploymentState = "success"
	DeploymentFailure    DeploymentState = "failure"
	DeploymentInactive   DeploymentState = "inactive"
)

// DeploymentRequest asks for a deployment. SHA, Task and Environment together name it.
type DeploymentRequest struct {
	SHA string
	// Task tells the releases of one commit apart.
	Task        string
	Environment string
	Description string
}

// Deployment is a deployment as the forge lists it.
type Deployment struct {
	ID          int64
	SHA         string
	Task        string
	Environment string
}

// DeploymentStatusRequest asks for a new state of a deployment.
type DeploymentStatusRequest struct {
	DeploymentID int64
	State        DeploymentState
	Description  string
	LogURL       string
}
