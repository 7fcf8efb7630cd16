// Package statefulset moves the pods of a StatefulSet from one version to another.
//
// The native controller stays in charge of every ordinal. It makes a pod again in the same place
// when one is gone, and the partition of the StatefulSet says in which version. Sluice sets the
// partition and deletes pods. Values go in, values come out; the package knows no release, no
// status and no cluster:
//
//	Mover, mover.Task ──► move ──► which pods go ──► Window: the partition that updates them
//	                 └──► keep ──┘              └──► Replace: the pods, once it has been seen
//
// At rest the partition is inplace.Held, which no ordinal reaches: whoever scales the StatefulSet,
// and whatever pod is lost, the next pod is one of the version before. To update pods the partition
// is opened down to the lowest of them, and is closed as soon as all of them exist again. They need
// not be ready for that. Where all pods may be updated, as no gate is left, the course lets it be
// open for a while longer: the next batch opens it further, and the hand-back gives the user's
// back, which is one write instead of two (Tidies).
//
// R is spec.replicas and U maxUnavailable, both in pods; a place is an ordinal that R asks for.
// What holds at every write:
//
//   - a window reaches only places that are updated, or whose pods are to go now;
//   - a pod is deleted to be updated only after the native controller has seen a window that
//     reaches it;
//   - deletions leave at least R-U pods available. A pod that is not available may go whatever is
//     left: it counts as missing already;
//   - no more places are updated, or come back updated, than Target, unless all may be. More there
//     are only if somebody scales the StatefulSet up while a window is open; Mode then takes them
//     back;
//   - an updated pod is deleted only as Mode says, and only with the partition closed.
//
// Applied again and again, with pods that become available, move reaches the target, and the
// partition is closed then. Without Sluice the native controller goes no further than the window:
// to pods that were to go anyway, one after the other.
//
// Two things hold it up, and nothing that serves is deleted meanwhile. While a pod that is to come
// back updated is not made, the window stays open: its node is gone, and nobody ends it, or there
// is no room for it. And where pods that do not serve are below one that does, for which there is
// no room, all wait (S2), unless any pod may be updated, as in a rollback: those go first then,
// with the strategy OnDelete (inplace.Anywhere) instead of a partition.
//
// # The traps
//
// In pkg/controller/statefulset, files stateful_set_control.go and stateful_set_utils.go:
//
//   - S1: newVersionedStatefulSetPod makes every pod from the partition up of the update revision,
//     also those that somebody scales up to, and those below of the current one, also where an
//     updated pod was lost. So the partition is closed at rest; an updated pod that is lost is seen
//     to go away, and the window is opened for it (lost, inRow).
//   - S2: updateStatefulSet deletes the highest outdated pod from the partition up itself, in the
//     sync in which it sees the partition, and looks only at pods above it. So a window never
//     reaches over an outdated pod that is to stay: pods go in a row from the highest down (inRow),
//     and the partition is raised past one that is to stay after all (partition). With OnDelete it
//     deletes none, and makes every pod of the update revision: that is for when all may be
//     (goesAnywhere).
//   - S3: updateStatefulSetAfterInvariantEstablished, with the feature gate
//     MaxUnavailableStatefulSet, deletes several at once, as maxUnavailable says that the window is
//     written with (window): it leaves less to delete. All that the window reaches may go anyway.
//     Without the gate the API server drops the field.
//   - S4: runForAll and processReplica, with podManagementPolicy OrderedReady, make and delete
//     nothing beyond the first pod that is not available. So an available pod goes only while all
//     others are available, or are replaced with it (rule): batch by batch, each made again one
//     by one. A broken updated pod stops the native controller, and whatever template comes next
//     does not start it again: a pod that is not available is deleted whatever the room, first of
//     all in a rollback.
//   - S5: completeRollingUpdate makes the update revision the current one as soon as all pods that
//     R asks for are updated and ready, whatever the partition is: with R of 0 at once. From then
//     on every pod is of that revision. So a StatefulSet without pods has the stable template
//     (EmptyTakesTemplate), until that is the current revision (Refilled). If it is scaled up
//     before that, the native controller updates it to the stable template by itself (Refill).
//   - S6: getStatefulSetRevisions takes an older revision that equals the template for the update
//     revision, with a new number. In a rollback in mid-release that is the current one: pods come
//     back in it wherever they are, and no window is needed (oneRevision). Where somebody has
//     deleted the current revision, the update revision takes its place in the same way.
//   - S7: processReplica deletes a pod that has Failed or Succeeded, and makes it again. Such a pod
//     counts as terminating.
//   - S8: updateStatus counts pods in whatever place, terminating ones as ready, and does not say
//     how many of which revision are ready. So the pods are counted one by one; the status is for
//     StatefulSets of which nobody needs more.
//   - S9: updateStatefulSetStatus writes observedGeneration after the sync in which the pods were
//     moved. Until then a pod that is deleted comes back by the partition that there was before,
//     and the update revision may be an earlier one: nothing moves (acts).
//   - S10: completeRollingUpdate does nothing with OnDelete: the current revision stays the one
//     that there was before people updated the pods by hand. So such a StatefulSet is held with its
//     own template until the current revision is the one that its pods run (Stale), and then gets
//     the template of the release.
package statefulset
