package v1alpha1

// Names that are written to objects. They are API: once released they don't change.
const (
	// Prefix is the prefix of all annotations and labels of Sluice.
	Prefix = "rollouts.sluice.dev/"

	// Finalizer keeps a BatchRelease until its workload is handed back.
	Finalizer = Prefix + "hand-back"

	// SourceFinalizer keeps a ReleaseSource until its releases are gone.
	SourceFinalizer = Prefix + "releases"

	// ForgeFinalizer keeps a Gate until its pull request on the forge is closed.
	ForgeFinalizer = Prefix + "forge"

	// HoldAnnotation on a workload marks it as taken over. Its value is a Hold as JSON.
	HoldAnnotation = Prefix + "hold"

	// FollowLabel on a workload names the BatchRelease that follows it. The policies in config/follow
	// act on workloads with it.
	FollowLabel = Prefix + "follow"
	// GuardAnnotation on a followed workload is Guarded where the policies in config/follow are in
	// effect. They set it in each write of the controller, which sets Unguarded.
	GuardAnnotation = Prefix + "guard"
	// WaitingAnnotation on a followed workload marks a template that others have set since Sluice last
	// wrote the workload. The policies in config/follow set it, to the value of the field that they
	// change while no release holds the workload: spec.paused of a Deployment, or spec.updateStrategy
	// as JSON.
	WaitingAnnotation = Prefix + "waiting"
	// FollowedAnnotation on a BatchRelease is the digest of the workload's template that was copied to
	// spec.template last.
	FollowedAnnotation = Prefix + "followed"

	// TrafficAnnotation on a route names, as JSON, the release that shares its requests, for each
	// Service.
	TrafficAnnotation = Prefix + "traffic"
	// TrafficLabel on a stable or canary Service, and on its EndpointSlices, names its BatchRelease.
	TrafficLabel = Prefix + "traffic"

	// BreakGlassAnnotation on a held workload admits writes that the admission policy would refuse.
	// Its value is the reason.
	BreakGlassAnnotation = Prefix + "break-glass"

	// LeaseName is the Lease of the active controller.
	LeaseName = "sluice-controller"

	// RollbackAnnotation on a BatchRelease requests a rollback: "true", a pod template hash, or a
	// commit.
	RollbackAnnotation = "rollback"
	// RetryAnnotation on a BatchRelease retries a failed release: "true".
	RetryAnnotation = "retry"
	// RequestedByAnnotation on a BatchRelease names the user who requests a rollback, a retry, a pause
	// or its end in the same write. Rollout records the name and removes it. The policies in
	// config/policy refuse any name but the user's own.
	RequestedByAnnotation = Prefix + "requested-by"
	// FreezeAnnotation on a BatchRelease stops it as spec.suspend does. Its value is a Freeze as JSON.
	FreezeAnnotation = Prefix + "freeze"

	// CommitAnnotation on a BatchRelease or ControllerRevision is the commit that brought its template.
	CommitAnnotation = Prefix + "commit"
	// SourceLabel on a BatchRelease names the ReleaseSource that wrote it. A user who sets it on one
	// that follows its workload names the repository and forge of its approvals and statuses.
	SourceLabel = Prefix + "source"
	// AuthorAnnotation and SubjectAnnotation on a BatchRelease or ControllerRevision are the author,
	// as the commit claims, and the first line of the message of the commit that brought its template.
	AuthorAnnotation  = Prefix + "commit-author"
	SubjectAnnotation = Prefix + "commit-subject"
	// CommitTimeAnnotation on a BatchRelease or ControllerRevision is the time of that commit, as its
	// committer claims, as RFC 3339.
	CommitTimeAnnotation = Prefix + "commit-time"
	// ReferenceAnnotation on a BatchRelease or ControllerRevision is a ReferenceCommit as JSON: the
	// commit that the commit was made from, as its trailers claim. It decides nothing.
	ReferenceAnnotation = Prefix + "commit-reference"
	// ClaimedAnnotation on a ControllerRevision is true if the applier of a followed workload named its
	// commit, which decides nothing.
	ClaimedAnnotation = Prefix + "commit-claimed"
	// FileAnnotation on a BatchRelease is the file that defines it.
	FileAnnotation = Prefix + "file"
	// TemplateFileAnnotation on a BatchRelease is the file that holds its template, if it is another.
	TemplateFileAnnotation = Prefix + "template-file"
	// KustomizationAnnotation on a BatchRelease is the kustomization that built its template, if any:
	// no file holds the template as it is.
	KustomizationAnnotation = Prefix + "kustomization"
	// AppliedDigestAnnotation on an object from Git is the digest of the applied content.
	AppliedDigestAnnotation = Prefix + "applied-digest"
	// GitTemplateAnnotation on a BatchRelease from Git is the digest of spec.template in Git. A
	// template with another digest is not from Git, and is not released.
	GitTemplateAnnotation = Prefix + "git-template"
	// RequestedAtAnnotation requests a sync of a ReleaseSource now, and a check of a Gate on the forge.
	RequestedAtAnnotation = Prefix + "requestedAt"
	// WebhookAtAnnotation on a ReleaseSource is the time of the last webhook about its branch, in RFC
	// 3339. While webhooks arrive, the forge is polled seldom.
	WebhookAtAnnotation = Prefix + "webhookAt"

	// CurrentStableAnnotation and LastStableAnnotation on a BatchRelease name the revisions to which a
	// rollback returns.
	CurrentStableAnnotation = "current-stable-revision"
	LastStableAnnotation    = "last-stable-revision"

	// PausePointAnnotation on a pod pauses the release before that pod: "true".
	PausePointAnnotation = Prefix + "pause-point"
	// DeletePriorityAnnotation on a pod is a number; the larger goes first.
	DeletePriorityAnnotation = "controller.alpha.kubernetes.io/delete-priority"
	// OrderAnnotation on a pod marks its deletion cost as set by Sluice, and holds the previous cost.
	OrderAnnotation = Prefix + "order"

	// TrainLabel on a BatchRelease names its train, as spec.train does. Gitsync sets it.
	TrainLabel = Prefix + "train"

	// GateLabel on a Job is the UID of the Gate that it runs for.
	GateLabel = Prefix + "gate"
	// ReleaseLabel on a ControllerRevision, Gate, Job or copy names its BatchRelease.
	ReleaseLabel = Prefix + "release"
	// CopyOfAnnotation on an immutable ConfigMap or Secret names the one of spec.config that it is a
	// copy of.
	CopyOfAnnotation = Prefix + "copy-of"
	// RevisionLabel on a ControllerRevision or Gate is the pod template hash.
	RevisionLabel = Prefix + "revision"
	// DigestAnnotation on a ControllerRevision is the digest of the template with defaults.
	DigestAnnotation = Prefix + "template-digest"
	// NumberAnnotation on a ControllerRevision is the number of its template in the history, from 1.
	NumberAnnotation = Prefix + "number"

	// OutcomeAnnotation on a ControllerRevision is the Outcome of its template.
	OutcomeAnnotation = Prefix + "outcome"
	// AttemptAnnotation on a ControllerRevision is the release's status.attempt that had this outcome.
	AttemptAnnotation = Prefix + "attempt"
	// StartedAtAnnotation on a ControllerRevision is the start of the release or rollback that made it
	// stable, as RFC 3339.
	StartedAtAnnotation = Prefix + "started-at"
	// ReleasedAtAnnotation on a ControllerRevision is the time at which its template became stable, as
	// RFC 3339.
	ReleasedAtAnnotation = Prefix + "released-at"
	// ApprovedByAnnotation on a ControllerRevision names the users who passed the gates of its
	// release.
	ApprovedByAnnotation = Prefix + "approved-by"
	// ForcedAnnotation on a ControllerRevision lists the gates of its release that were overridden, by
	// whom and why.
	ForcedAnnotation = Prefix + "forced"
)

// The values of GuardAnnotation.
const (
	Guarded   = "policy"
	Unguarded = "none"
)

// Outcome is the outcome of the release of a template in the history.
type Outcome string

// The outcomes.
const (
	// OutcomeAdopted: it ran before anything was released.
	OutcomeAdopted Outcome = "Adopted"
	// OutcomeReleased: its release completed.
	OutcomeReleased Outcome = "Released"
	// OutcomeRolledBackTo: the last rollback to it completed.
	OutcomeRolledBackTo Outcome = "RolledBackTo"
	// OutcomeRolledBack: it was rolled back. No rollback returns to it.
	OutcomeRolledBack Outcome = "RolledBack"
)

// Field owners.
const (
	OwnerGitsync   = "sluice-gitsync"
	OwnerFreeze    = "sluice-gitsync-freeze"
	OwnerRollout   = "sluice-rollout"
	OwnerRestored  = "sluice-rollout-restored" // of routes that nobody holds any more
	OwnerApprovals = "sluice-approvals"
)
