package verb

import "github.com/sluice-dev/sluice/api/v1alpha1"

// What verbs patch.
var (
	PatchRelease = Right{Resource: "batchreleases"}
	PatchStatus  = Right{Resource: "batchreleases", Subresource: "status"}
	patchGate    = Right{Resource: "gates", Subresource: "status"}
)

// All lists the verbs in the order of their buttons.
var All = []*Verb{
	{
		Name: "approve", Needs: PatchStatus, Asks: Answer, Compares: EveryFact,
		Text: &Text{
			Name: "message", Label: "Message (optional)", Hint: "It is stored in the evidence of the gate, with your name.",
			Flag: "`message` for the evidence", Short: "m",
		},
		Command: Command{
			Args: "[RELEASE]", Short: "Approve what a release waits for",
			Long: `Approve the current batch of a release: its manual gates pass, with your name in their evidence. If the release waits at a
pause point, it continues past that pod.

Other gates pass on their own, or on the forge: the command prints what they wait for, with the URL of the pull request.

With --force, gates of any type pass, for emergencies. This needs the role sluice-breakglass and a reason. Your name and the
reason are recorded in the evidence, the history, an event and the commit status.`,
			Example: `  sluice approve web --message='looks well'
  sluice approve web --force --gate=soak --reason='INC-42: the fix for the outage'`,
			Gate: "approve only the Gate of this `name`, or gates of this type",
		},
		Button: Button{Text: "Approve", Kind: "primary"}, Title: "Approve %s", Written: "You have approved %s.", Again: "you have already answered.",
		decide: approve, done: answered(v1alpha1.VerdictApprove, v1alpha1.DecisionPassed), Taken: pausePointTaken, undecided: answerWaits,
		effects: approveEffects, subject: passed,
	},
	{
		Name: "reject", Needs: PatchStatus, Asks: Answer, Compares: EveryFact,
		Text: &Text{
			Name: "reason", Required: true, Label: "Reason", Hint: "It is stored with the gate, and everybody who can see the release can read it.",
			Flag: "`reason` for the rejection",
		},
		Command: Command{
			Args: "[RELEASE]", Short: "Reject what a release waits for",
			Long: `Reject the current batch of a release at its manual gate. This is final: the release stops until a new template or a
rollback, or rolls back at once if the gate has onReject: Rollback.

To reject a pullRequest gate, close the pull request instead.`,
			Example: `  sluice reject web --reason='errors on the checkout page'`,
			Gate:    "reject only the Gate of this `name`",
		},
		Button: Button{Text: "Reject", Kind: "danger"}, Title: "Reject %s", Written: "You have rejected %s.", Again: "you have already answered.",
		decide: reject, done: answered(v1alpha1.VerdictReject, v1alpha1.DecisionRejected), undecided: answerWaits,
		effects: rejectEffects, subject: batch,
	},
	{
		Name: "pause", Needs: PatchRelease, Compares: ReleaseFacts,
		Command: Command{
			Args: "[RELEASE]", Short: "Pause a release",
			Long: `Pause a release: no batch starts or continues, and new templates wait. The workload follows spec.replicas, and rollbacks
continue. This sets spec.suspend of the release; a push does not unset it.`,
			Example: "  sluice pause web",
		},
		Button: Button{Text: "Pause"}, Written: "You have paused the release.", Again: "the release is already paused.",
		decide: suspend(true), done: suspended(true), Taken: suspendTaken(true), effects: always(
			"No batch starts or continues, and new templates wait, until somebody resumes the release. A push does not resume it.",
			"The workload still follows spec.replicas, and rollbacks continue.",
		),
	},
	{
		Name: "resume", Needs: PatchRelease, Compares: ReleaseFacts,
		Command: Command{
			Args: "[RELEASE]", Short: "Resume a paused release",
			Long: `Resume a paused release: the current batch continues, and a template that waited is released. This unsets spec.suspend of the
release. If a file in Git has spec.suspend, it says so and changes nothing: take it out there.

It does not end a freeze, restart a release that failed (use retry), or answer a gate (use approve).`,
			Example: "  sluice resume web",
		},
		Button: Button{Text: "Resume"}, Written: "You have resumed the release.", Again: "the release is not paused.",
		decide: suspend(false), done: suspended(false), Taken: suspendTaken(false), effects: always(
			"The current batch continues, and a template that waited is released.", "This does not pass gates or end a freeze.",
		),
	},
	{
		Name: "retry", Needs: PatchRelease, Compares: PhaseFacts,
		Command: Command{
			Args: "[RELEASE]", Short: "Continue a release that failed, or whose workload was changed out of band",
			Long: `Continue a release that failed because no further pod became available in time, or that stopped because somebody changed its
workload out of band, once you have dealt with the cause. A refused write is sent again at once.`,
			Example: "  sluice retry web",
		},
		Button: Button{Text: "Retry"}, Written: "You have requested a retry.", Again: "a retry has already been requested.",
		decide: retry, done: retried, Taken: retryTaken, effects: retryEffects,
	},
	{
		Name: "jump", Needs: PatchStatus, Asks: Batch, Compares: BatchFacts,
		Command: Command{
			Args: "[RELEASE] BATCH", Short: "Move the current release to another batch",
			Long: `Move the current release to another batch, counted from 1 as in status.batch. Forward, the release goes through the batches in
between without waiting for their manual and skippable gates; other gates must pass. Back, the gates from that batch on must pass
again; no pod is removed, unless strategy.stepBack is RemovePods.`,
			Example: "  sluice jump web 3",
		},
		Button: Button{Text: "Jump to a batch", Apart: true}, Written: "You have requested a jump to batch %s.",
		Again: "the jump to batch %s has already been requested.", Declined: "The controller has not moved the release to another batch.",
		decide: jump, done: jumped, Taken: jumpTaken, choices: batches, effects: jumpEffects, subject: chosenBatch,
	},
	{
		Name: "rollback", Needs: PatchRelease, Asks: Version, Compares: PhaseFacts,
		Command: Command{
			Args: "[RELEASE]", Short: "Roll a release back to the previous version, or to another one",
			Long: `Roll a release back: in mid-release to the stable revision, afterwards to the previous one, or to any in the history. The
version it leaves is not released again until Git changes. If the repository is on a forge, a pull request restores the good template
in Git.`,
			Example: `  sluice rollback web
  sluice rollback web --to 3f2a91c`,
		},
		Button: Button{Text: "Roll back", Kind: "danger", Apart: true}, Written: "You have requested a rollback to %s.",
		Again: "the rollback has already been requested.", Declined: "The controller has not rolled the release back.",
		decide: rollBack, done: rolledBack, Taken: rollbackTaken, choices: versions, subject: chosenVersion, effects: rollbackEffects,
	},
	{
		Name: "force", Needs: patchGate, Asks: Answer, Picks: true, Compares: EveryFact,
		Text: &Text{
			Name: "reason", Required: true, Label: "Reason", Hint: "It is stored in the evidence, the history, an event and the commit status.",
			Flag: "`reason` for forcing gates",
		},
		Button: Button{Text: "Force gates", Kind: "danger", Apart: true}, Title: "Force the gates of %s",
		Written: "You have forced the gates of %s.", Again: "you have already answered.",
		decide: force, done: forced, undecided: forceWaits, subject: batch, effects: always(
			"The gates that you choose pass, whatever their policies say. Use it for emergencies only.",
			"Your name and the reason stay in the evidence of each gate, in the history, in an event and in the commit status.",
		),
	},
}
