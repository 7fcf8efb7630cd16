package v1alpha1

// Conditions and reasons are API: once released they don't change. Each comment explains the name
// in plain words and, after "Action:", the user's next step. make generate writes docs/reasons.md
// from these comments; docs/PAGE.md in a comment becomes a link there.

// Conditions. Ready, Reconciling and Stalled follow kstatus. Suspended, Quarantined and those about
// trouble are absent unless true.
const (
	// ConditionReady: of a BatchRelease, the workload runs the template and belongs to the native
	// controller again. Of a ReleaseSource, the last read of the repository succeeded and everything
	// in it is applied.
	// Action: if it stays false, see the reason.
	ConditionReady = "Ready"
	// ConditionReconciling: of a BatchRelease, a release is in progress, or waits at a gate. Of a
	// ReleaseSource, Sluice retries a failed read.
	// Action: none.
	ConditionReconciling = "Reconciling"
	// ConditionStalled: nothing happens until a user changes something.
	// Action: do what the message says.
	ConditionStalled = "Stalled"
	// ConditionProgressing: a release is in progress and does not wait at a gate.
	// Action: none.
	ConditionProgressing = "Progressing"
	// ConditionTakenOver: Sluice holds the workload.
	// Action: don't change its `paused`, `strategy` or `template`. See docs/handback.md.
	ConditionTakenOver = "TakenOver"
	// ConditionSuspended: the release is suspended or frozen; the message says why and until when.
	// Action: wait, or resume it. See docs/batchrelease.md#stopping.
	ConditionSuspended = "Suspended"
	// ConditionDrifted: a field that Sluice manages was changed: the released template, the
	// template from Git, or a field of a held workload, which Sluice restored at once.
	// Action: find out who changed it, by the field manager in the message, and see the reason.
	ConditionDrifted = "Drifted"
	// ConditionBeyondStep: more pods run the new revision than the current step approves, and the
	// release can't take them back. Nodes were added to a DaemonSet, its pods were deleted or
	// evicted, or the previous ControllerRevision of a held StatefulSet was deleted, and the native
	// controller made new pods. The message has the numbers.
	// Action: check the new pods before you approve the step, or roll back.
	ConditionBeyondStep = "BeyondStep"
	// ConditionRolledBackServes: pods of a rolled back version still run while another version is
	// released: the fix arrived before the rollback had replaced all of them. They go before
	// others, and get no new pods.
	// Action: approve the steps of the fix, or roll back to remove them first.
	ConditionRolledBackServes = "RolledBackServes"
	// ConditionFieldsDropped: the API server does not keep all of `spec.template`: it drops fields
	// of features that are not enabled, and admission may remove more. Pods run without these
	// fields, and a commit that adds nothing else releases nothing. The message names them.
	// Action: take the fields out of the template, or enable the feature and apply the template again.
	ConditionFieldsDropped = "FieldsDropped"
	// ConditionPreflightFailed: true if the namespace has no room for the release, false if it has
	// and preflight has warnings, absent if preflight found nothing.
	// Action: read the message before you let the release continue.
	ConditionPreflightFailed = "PreflightFailed"
	// ConditionQuarantined: `spec.template` was rolled back and is not released again.
	// Action: bring Git back in line: merge the pull request named in `status.revert`, run `git
	// revert`, or push a fixed template.
	ConditionQuarantined = "Quarantined"
	// ConditionAvailable: at least `spec.replicas` - `maxUnavailable` pods are available, all versions
	// together.
	// Action: while it is false, find out why pods are not ready.
	ConditionAvailable = "Available"
	// ConditionReplicaFailure: a ReplicaSet can't create or delete pods, because a quota, a policy
	// or a webhook refuses them; or Sluice can't find out which pods of a DaemonSet are updated.
	// StatefulSets and DaemonSets whose pods are refused report it only in events.
	// Action: fix what the message names. The progress deadline keeps running.
	ConditionReplicaFailure = "ReplicaFailure"
	// ConditionForgeReady: the forge of a ReleaseSource lets Sluice work on the repository. It is set
	// before the first use of the forge.
	// Action: if it is false, see the reason.
	ConditionForgeReady = "ForgeReady"
	// ConditionOverridden: an object of Flux or Argo CD in the repository of a ReleaseSource
	// changes templates when it applies them, and Sluice releases them as they are in the files.
	// The message names the first.
	// Action: make the change in the files, or name the object's file in `.sluiceignore` if it is for
	// another cluster.
	ConditionOverridden = "Overridden"
	// ConditionVerified: of a ReleaseSource with `spec.verify`, whether the head of the branch is
	// verified. If not, nothing of it is applied. docs/verify.md.
	// Action: if it is false, see the message.
	ConditionVerified = "Verified"
	// ConditionNotInGit: BatchReleases of a ReleaseSource are no longer in its repository, after a
	// rename for example. Without `spec.prune` they stay and keep their workloads, and no release
	// with another name can take these over. The message names them.
	// Action: delete them with kubectl, put them back in Git, or set `spec.prune`.
	ConditionNotInGit = "NotInGit"
)

// BatchRelease reasons. They are in `status.reason` and in conditions; some are events only.
const (
	// ReasonTakingOver: Sluice is taking the workload over for a new template, or waits for the native
	// controller to observe the workload. As an event: a release begins.
	// Action: none. If it stays so, check kube-controller-manager.
	ReasonTakingOver = "TakingOver"
	// ReasonAwaitingRoom: a new template arrived while the workload is taken over. Before its release
	// begins, pods must go to make room for a pod of the stable version. After the progress deadline
	// the release is stalled; it still begins once they are gone.
	// Action: none. If it stays so, find out why pods are not deleted: a finalizer, a webhook, a lost
	// node.
	ReasonAwaitingRoom = "AwaitingRoom"
	// ReasonNativeRollout: the workload already has the template, through its own rolling update, and
	// not all pods run it yet. The release completes when they do; another template is released in
	// batches.
	// Action: none. If it stays so, find out why pods are not ready. If it waits for you (a paused
	// Deployment, a StatefulSet with a partition or `OnDelete`), the message contains the next step.
	ReasonNativeRollout = "NativeRollout"
	// ReasonUpgrading: a batch is in progress.
	// Action: none.
	ReasonUpgrading = "StepUpgrading"
	// ReasonStepDone: a log line. A batch without gates is done.
	// Action: none.
	ReasonStepDone = "StepCompleted"
	// ReasonSuperseded: an event. A new template arrived in mid-release, and its release begins.
	// Action: none.
	ReasonSuperseded = "Superseded"
	// ReasonBlocking: a batch is done, and the release waits for the gates in `status.gates`.
	// Action: check the new pods, then approve or wait. See docs/gates.md#manual.
	ReasonBlocking = "StepBlocking"
	// ReasonApprovalRefused: a gate's pull request was merged in a way that its policy does not
	// accept; the message says why.
	// Action: do what the message says: add a review, or run `kubectl delete gate NAME` to open
	// another pull request. See docs/gates.md#pullrequest.
	ReasonApprovalRefused = "ApprovalRefused"
	// ReasonGateRejected: a gate was rejected; the message says why, and by whom if that is known.
	// Action: release another template, or roll back.
	ReasonGateRejected = "GateRejected"
	// ReasonGuardRejected: a guard of the release was rejected; the message says why.
	// Action: release another template, or roll back. See docs/gates.md#guards.
	ReasonGuardRejected = "GuardRejected"
	// ReasonWaitingForTrain: a member of a train waits for the train: it has done its step, or has a
	// new template. The message names the train.
	// Action: see the train, which says for whom it waits. See docs/trains.md.
	ReasonWaitingForTrain = "WaitingForTrain"
	// ReasonTrainReturns: the train of the release returns. Members that come after this one return
	// first.
	// Action: none.
	ReasonTrainReturns = "TrainReturns"
	// ReasonTooManyMembers: a commit changes more members of the train than `strategy.maxMembers`.
	// Action: raise the limit in Git if that is meant, or split the commit.
	ReasonTooManyMembers = "TooManyMembers"
	// ReasonMemberFailed: a member of the train failed.
	// Action: see the member; sluice retry or sluice rollback of the train. See docs/trains.md.
	ReasonMemberFailed = "MemberFailed"
	// ReasonHandingBack: all steps are done and Sluice is handing the workload back.
	// Action: none.
	ReasonHandingBack = "HandingBack"
	// ReasonCompleted: all pods run the template.
	// Action: none.
	ReasonCompleted = "Completed"
	// ReasonRollingBack: Sluice is rolling back to an earlier template; the message and
	// `status.rollback` say why.
	// Action: none.
	ReasonRollingBack = "RollingBack"
	// ReasonRolledBack: the earlier template runs again.
	// Action: fix the template in Git. The bad one is not released again.
	ReasonRolledBack = "RolledBack"
	// ReasonRetrying: an event. A failed release or rollback continues because of `retry=true`.
	// Action: none.
	ReasonRetrying = "Retrying"
	// ReasonDeadlineExceeded: no further pod became available in time; the message says what is wrong
	// with the pods (crash loop, image pull, unschedulable). The release stops, or rolls back with
	// `onFailure: Rollback`. In the last batch it still completes if all pods become available later.
	// Action: release a fixed template, roll back, or run `sluice retry NAME` if the cause was
	// elsewhere.
	ReasonDeadlineExceeded = "ProgressDeadlineExceeded"
	// ReasonPodTrouble: an event. Pods of the new version crash, can't pull their image, can't be
	// scheduled or can't start; the message and `status.podTrouble` name the problem. The release
	// waits for them until its progress deadline.
	// Action: release a fixed template, or roll back with `sluice rollback NAME`. If the cause is
	// elsewhere, fix it: the pods then start by themselves.
	ReasonPodTrouble = "PodTrouble"
	// ReasonWorkloadNotFound: the workload does not exist.
	// Action: create it; the release then starts.
	ReasonWorkloadNotFound = "WorkloadNotFound"
	// ReasonWorkloadHeld: another BatchRelease holds the workload.
	// Action: delete one of the two.
	ReasonWorkloadHeld = "WorkloadHeldByAnother"
	// ReasonWorkloadShared: the workload drifted and `drift: Revert` is set, or the release follows it.
	// An older BatchRelease names the same workload, and only that one reverts, or follows.
	// Action: delete one of the two.
	ReasonWorkloadShared = "WorkloadShared"
	// ReasonInvalidTemplate: the API server refuses `spec.template`; the message is its own. Sluice
	// retries every 5 minutes, because a quota or policy may change.
	// Action: correct the template.
	ReasonInvalidTemplate = "InvalidTemplate"
	// ReasonInvalidStrategy: steps, or other fields of `strategy` or `rollback`, are invalid in a way
	// that the API server did not catch. No release starts. A release in progress stops, or ends if it
	// is handing its workload back. Rollbacks work, unless `rollback` itself is invalid. Drift is
	// reported, and not reverted until the steps are valid.
	// Action: correct what the message names; the release continues where it stopped.
	ReasonInvalidStrategy = "InvalidStrategy"
	// ReasonNoTemplate: `spec.template` is missing.
	// Action: set it, or add the workload's manifest to the repository.
	ReasonNoTemplate = "NoTemplate"
	// ReasonRevisionNotFound: an event. The requested template is not in the history, was itself
	// rolled back, is already running, or is one of several that match the commit; the message lists
	// the history.
	// Action: name another one. `sluice history NAME` lists them.
	ReasonRevisionNotFound = "RollbackRevisionNotFound"
	// ReasonNativeRollbackDropped: an event. The Deployment had the annotation
	// `deprecated.deployment.rollback.to` while Sluice held it. Sluice removed the annotation when it
	// handed the Deployment back: the native controller would have undone the release without gates.
	// Action: to roll back, run `sluice rollback NAME`, or revert the commit.
	ReasonNativeRollbackDropped = "NativeRollbackDropped"
	// ReasonFrozen: the annotation `rollouts.sluice.dev/freeze` stops the release; the message says
	// why and until when.
	// Action: wait, or end the freeze. See docs/batchrelease.md#stopping.
	ReasonFrozen = "Frozen"
	// ReasonJumped: an event. A user requested another step. The release jumps when the gates in
	// between that can't be skipped have passed; `sluice get NAME` shows the pending jump.
	// Action: none.
	ReasonJumped = "Jumped"
	// ReasonJumpRefused: an event. The step in `nextStepIndex` or `releaseTo` can't be reached; the
	// message says why.
	// Action: request another step.
	ReasonJumpRefused = "JumpRefused"
	// ReasonFieldsDropped: the reason of the condition `FieldsDropped`, and of its event.
	// Action: see there.
	ReasonFieldsDropped = "FieldsDropped"
	// ReasonDrifted: the workload's template is not the released one; the message names the fields. In
	// mid-release, the held workload was changed, and the release stops. See
	// docs/handback.md#out-of-band-changes.
	// Action: undo the change (`kubectl rollout undo`), or commit it to Git; `drift: Revert` undoes it
	// for you. In mid-release run `sluice retry NAME` once you have dealt with the cause, or roll
	// back.
	ReasonDrifted = "Drifted"
	// ReasonChangedPastGit: `spec.template` of the BatchRelease differs from Git: it was changed with
	// kubectl or another tool. It is not released, and the release stops.
	// Action: none; the ReleaseSource restores it at its next read. `kubectl get batchrelease NAME -o
	// yaml --show-managed-fields` says who changed it. If it stays so, see the errors of the source and
	// docs/releasesource.md#git-is-the-truth.
	ReasonChangedPastGit = "ChangedPastGit"
	// ReasonEdited: an event. The spec of a BatchRelease was changed out of band, its steps or gates
	// for example, and the ReleaseSource has restored it. Pods that were updated meanwhile stay. The
	// message names the fields and the field manager.
	// Action: find out who changed it and why. If pods updated meanwhile must not stay, roll back.
	ReasonEdited = "EditedOutOfBand"
	// ReasonShiftingTraffic: the pods of the step are available, and routes move requests between
	// versions. `status.traffic` has the weights, and the thing for which the release waits.
	// Action: none; if it takes long, read `status.traffic.awaits`.
	ReasonShiftingTraffic = "ShiftingTraffic"
	// ReasonTrafficBlocked: routes can't share requests. `status.traffic.problem` names the problem
	// and the object to change. No version gets more requests than before.
	// Action: change the object that the message names, or `strategy.traffic`.
	ReasonTrafficBlocked = "TrafficBlocked"
	// ReasonGatewaySilent: an event. On the way back, or at the end, the status of a route did not
	// confirm in time that its Gateways follow the route; `status.traffic.pendingParents` names them.
	// The release continues without them, and requests that they still route the old way may fail.
	// Action: repair these Gateways, or take them out of the route's `parentRefs`. See
	// docs/traffic.md#silent-gateways.
	ReasonGatewaySilent = "GatewaySilent"
	// ReasonPausePoint: the next old pod to go has a pause point; `status.pausePoint` names the pod.
	// Action: run `sluice approve NAME`, or remove the annotation. See
	// docs/batchrelease.md#pause-points.
	ReasonPausePoint = "PausePoint"
	// ReasonNotAsInGit: the workload runs another template than the one in Git, and no commit since
	// the first read of the source has brought the difference. The running template may come from
	// variables or patches outside the manifest. Nothing moves.
	// Action: compare them with `sluice plan --cluster`. Commit the running template, or run `sluice
	// approve NAME` to let Git replace it. See docs/releasesource.md#the-first-look.
	ReasonNotAsInGit = "NotAsInGit"
	// ReasonWillNotFit: a quota leaves no room for the release, and Sluice does not take the workload
	// over. The message names the missing amount. Sluice checks again every minute.
	// Action: raise the quota, make room, request less in the template, or allow an unavailable pod.
	// `strategy.preflight: Warn` starts the release anyway.
	ReasonWillNotFit = "WillNotFit"
	// ReasonUnguarded: the release follows its workload, and no admission policy holds the templates
	// that others apply to it. Sluice changes nothing, or has been without the policy since its last
	// write.
	// Action: install `config/follow`, or keep the native controller from rolling in the manifest. See
	// docs/follow.md#the-policy.
	ReasonUnguarded = "Unguarded"
	// ReasonWouldMixVersions: the Deployment's own strategy is `Recreate`, which runs one version at a
	// time, and a release in batches would run two. Sluice does not take it over. A release in
	// progress, and a rollback, continue.
	// Action: allow it, or release at 0 replicas. See docs/batchrelease.md#recreate.
	ReasonWouldMixVersions = "WouldMixVersions"
	// ReasonWriteRefused: the API server refuses a write of the release, or admission changes it; the
	// message and `status.refusedWrite` name the write, and who refuses it or the difference. Sluice
	// retries after 5 seconds, later every 5 minutes, or every 10 seconds if admission changes it. The
	// progress deadline and `onFailure` apply.
	// Action: fix the policy, webhook, quota, permission or template, or change spec.template: a
	// template changed by admission is a release of its own. `sluice retry NAME` sends the write again
	// at once.
	ReasonWriteRefused = "WriteRefused"
)

// Other reasons. Each is in one condition, beside the reasons above.
const (
	// ReasonWarnings: of `PreflightFailed`: the release starts, but may not do what you intend.
	// Action: read the message.
	ReasonWarnings = "Warnings"
	// ReasonTemplateChanged: the workload's template was changed.
	// Action: as for `Drifted`.
	ReasonTemplateChanged = "TemplateChanged"
	// ReasonWorkloadUnpaused: `spec.paused` of a held Deployment was unset, and Sluice restored it.
	// Action: as for `Drifted`.
	ReasonWorkloadUnpaused = "WorkloadUnpaused"
	// ReasonStrategyChanged: `spec.strategy` or `spec.updateStrategy` of a held workload was changed,
	// and Sluice restored it.
	// Action: as for `Drifted`.
	ReasonStrategyChanged = "StrategyChanged"
	// ReasonHoldRemoved: the annotation `rollouts.sluice.dev/hold` of a held workload was removed or
	// changed, and Sluice restored it.
	// Action: as for `Drifted`.
	ReasonHoldRemoved = "HoldRemoved"
	// ReasonCameUpdated: the native controller made pods of the new revision that no step has approved
	// yet. The event has the same reason.
	// Action: as for `BeyondStep`.
	ReasonCameUpdated = "CameUpdated"
	// ReasonRolledBackPods: pods of a rolled back version still run. The event has the same reason.
	// Action: as for `RolledBackServes`.
	ReasonRolledBackPods = "RolledBackPods"
	// ReasonMinimumAvailable: of `Available`, as in a Deployment: enough pods are available.
	// Action: none.
	ReasonMinimumAvailable = "MinimumReplicasAvailable"
	// ReasonMinimumUnavailable: of `Available`: too few pods are available.
	// Action: find out why pods are not ready.
	ReasonMinimumUnavailable = "MinimumReplicasUnavailable"
	// ReasonFailedCreate: pods can't be created.
	// Action: as for `ReplicaFailure`.
	ReasonFailedCreate = "FailedCreate"
	// ReasonFailedDelete: pods can't be deleted.
	// Action: as for `ReplicaFailure`.
	ReasonFailedDelete = "FailedDelete"
)

// ReleaseSource reasons. They are in its conditions `Ready`, `Reconciling` and `Stalled`.
const (
	// ReasonSynced: everything in the repository is applied.
	// Action: none.
	ReasonSynced = "Synced"
	// ReasonSuspended: `spec.suspend` of the ReleaseSource, or of the BatchRelease, is set.
	// Action: unset it: `sluice resume NAME` for a release.
	ReasonSuspended = "Suspended"
	// ReasonInvalidSpec: the URL, path or branch can't be used, or the URL's scheme is not allowed.
	// Action: correct what the message names.
	ReasonInvalidSpec = "InvalidSpec"
	// ReasonInvalidSecret: the Secret is missing, the server refuses its content, or the server's host
	// key is not the known one.
	// Action: correct the Secret.
	ReasonInvalidSecret = "InvalidSecret"
	// ReasonFetchFailed: the repository can't be reached, or the server refuses access. Sluice retries
	// with growing intervals.
	// Action: check network, server and credentials.
	ReasonFetchFailed = "FetchFailed"
	// ReasonBranchNotFound: the branch does not exist.
	// Action: push it, or name another.
	ReasonBranchNotFound = "BranchNotFound"
	// ReasonHistoryRewrite: the head does not descend from the last commit, after a force-push.
	// Nothing is applied, and the new head gets a failed status `sluice/sync`.
	// Action: push the last commit again, or set `allowRewrite`. Open approvals follow the rewritten
	// branch.
	ReasonHistoryRewrite = "HistoryRewritten"
	// ReasonLimitExceeded: the repository exceeds the controller's limits.
	// Action: use a narrower `path`, or raise the limit that the message names.
	ReasonLimitExceeded = "LimitExceeded"
	// ReasonNotVerified: commits of the branch lack the signatures of `spec.verify`, and none of them
	// is applied. The condition `Verified` has the cause.
	// Action: see the message, and docs/verify.md.
	ReasonNotVerified = "NotVerified"
	// ReasonFilesInvalid: some files have errors, or the API server refuses their objects; see
	// `status.errors`. All other files are applied.
	// Action: correct these files.
	ReasonFilesInvalid = "FilesInvalid"
	// ReasonApplyFailed: a write failed, or was not tried, since a StatefulSet's volume claim
	// templates in Git differ from the cluster's. Sluice retries.
	// Action: see the message.
	ReasonApplyFailed = "ApplyFailed"
	// ReasonOtherTemplate: the reason of the condition `Overridden`.
	// Action: see there.
	ReasonOtherTemplate = "OtherTemplate"
	// ReasonPruneOff: the reason of the condition `NotInGit`.
	// Action: see there.
	ReasonPruneOff = "PruneOff"
	// ReasonPruneHeld: more of the source's releases are missing from the repository than are in it.
	// Sluice deletes none of them.
	// Action: if you intend that, delete them yourself.
	ReasonPruneHeld = "PruneHeld"
	// ReasonDeleting: the source is being deleted, and waits for its releases to hand their workloads
	// back and for their gates on the forge to close.
	// Action: see what the releases wait for.
	ReasonDeleting = "Deleting"
	// ReasonWaiting: other sources use the turn, the connection or the memory that this one needs.
	// Each namespace has a share of these, and each server a share of that.
	// Action: none. If it stays so, find sources in the namespace whose servers hang, or raise
	// `--git-memory` and the controller's memory limit.
	ReasonWaiting = "Waiting"
)

// Verified reasons. They are in the condition `Verified` of a ReleaseSource.
const (
	// ReasonCommitVerified: the head is signed with a key that counts, or it was released before
	// `spec.verify` was set, or `spec.verify.since` names it.
	// Action: none.
	ReasonCommitVerified = "CommitVerified"
	// ReasonNotSigned: a commit has no signature.
	// Action: sign it and push it again, or set `spec.verify.since` to it.
	ReasonNotSigned = "NotSigned"
	// ReasonSignatureInvalid: a signature does not fit its commit, or its kind does not count.
	// Action: sign the commit again; find out who made it.
	ReasonSignatureInvalid = "SignatureInvalid"
	// ReasonKeyNotTrusted: a commit is signed with a key that is not among the keys, or is expired,
	// revoked or weak. Also once the key of the head is taken away.
	// Action: push a commit that is signed with a key that counts.
	ReasonKeyNotTrusted = "KeyNotTrusted"
	// ReasonSignedByForge: a commit is signed with the key of the forge, which signs merges and edits
	// in its web pages. That shows no person.
	// Action: merge with `git merge -S`, or set `spec.verify.since` to the commit.
	ReasonSignedByForge = "SignedByForge"
	// ReasonKeysUnreadable: the Secret, ConfigMap or file with the keys is missing or can't be read.
	// Action: correct it.
	ReasonKeysUnreadable = "KeysUnreadable"
	// ReasonTooManyCommits: there are more commits since the last verified one than Sluice checks.
	// Action: check them with `git log --show-signature`, and set `spec.verify.since` to the last.
	ReasonTooManyCommits = "TooManyCommits"
)

// ForgeReady reasons. They are in the condition `ForgeReady` of a ReleaseSource.
const (
	// ReasonForgeConnected: the forge accepts the credentials and knows the repository.
	// Action: none.
	ReasonForgeConnected = "ForgeConnected"
	// ReasonForgeBehind: statuses wait, because the requests that the forge allows are nearly used up.
	// Action: none. If it stays so, and the forge allows more, raise `--forge-writes-per-hour`.
	ReasonForgeBehind = "ForgeBehind"
	// ReasonForgeLimited: the forge's rate limit is exhausted; the message says until when.
	// Action: wait, or find out which other program uses the same account.
	ReasonForgeLimited = "ForgeLimited"
	// ReasonForgeRefused: the Secret is missing, or the forge refuses its content.
	// Action: correct the Secret. See docs/github-app.md for the permissions.
	ReasonForgeRefused = "ForgeRefused"
	// ReasonForgeNotFound: the repository does not exist, or the account has no access to it.
	// Action: correct `owner` and `repo`, or give the app access.
	ReasonForgeNotFound = "ForgeNotFound"
	// ReasonForgeInvalid: `spec.forge` or its Secret can't be used.
	// Action: correct what the message names.
	ReasonForgeInvalid = "ForgeInvalid"
	// ReasonForgeUnreachable: the forge does not answer, or not correctly. Sluice retries with growing
	// intervals.
	// Action: check network, server and certificate.
	ReasonForgeUnreachable = "ForgeUnreachable"
)
