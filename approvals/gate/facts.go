package gate

import (
	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

// Facts holds the facts on the conditions that a gate waits for. It is read only, and a fact that
// is not set is not known.
type Facts struct {
	// Release is the BatchRelease that the gate names; nil where there is none.
	Release *v1alpha1.BatchRelease
	// Source is the ReleaseSource that the release comes from; nil where it comes from none.
	Source *v1alpha1.ReleaseSource
	// Forge holds the facts from the source's forge; nil if it could not be asked, or need not be yet.
	Forge *ForgeFacts
	// Job holds the facts on the Job of a job gate; nil if it was not read.
	Job *JobFacts
	// Metrics holds the facts on the metrics of a metrics gate; nil if nothing was read.
	Metrics *MetricFacts
}

// ForgeFacts holds the forge's facts for one gate. Only the lists of the gate's type are set.
type ForgeFacts struct {
	// Self is the account that we act as.
	Self forge.Account
	// OwnPrefix begins the contexts of our own statuses.
	OwnPrefix string

	// Approval is the pull request of a pullRequest gate; nil while there is none.
	Approval *forge.Approval

	// Statuses of the release commit in the context of a commitStatus gate, newest first.
	Statuses []forge.Status
	// Creators are the accounts of the policy's creators, in their order; one that nobody has is not
	// Known.
	Creators []forge.Account

	// CheckRuns of the release commit with the name and app of a checkRun gate.
	CheckRuns []forge.CheckRun
}
