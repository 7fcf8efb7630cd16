// Package daemonset moves the pods of a DaemonSet from one version to another.
//
// A DaemonSet that is held has the strategy OnDelete and the new template. Its controller then
// deletes no pod because of its version, and gives every node that lacks a pod one of the new
// version. So a pod is updated by deleting it. Values go in, values come out; the package knows no
// release, no status and no cluster:
//
//	Mover ──► tally: nodes, old pods, updated pods ──► Count
//	                        │
//	mover.Task ─────────────┴──► going: old pods that may go now ──► Move: inplace.Replace
//	                                                               └──► Sort, Limits: order, pauses
//
// R is how many nodes are to have a pod and U is maxUnavailable, both without the nodes that are
// lost. What holds at every write:
//
//   - at most as many old pods go as are missing to Target. What is missing or terminating counts
//     as updated already, because it comes back updated: nothing is counted twice while the native
//     controller makes it again;
//   - of the available pods of all versions, R-U are left. A pod that is not available goes first,
//     and counts once: as the one that is short, not as one more;
//   - what a template of somebody else has made (Foreign) goes before others, and past pause
//     points: nobody has approved what it runs. It comes back updated, so that no more of it goes
//     than the step says;
//   - an updated pod is never deleted, and no pod of a lost node: it can't become available, and
//     would only be updated unseen once the node is back;
//   - at Target R every old pod goes, also those of nodes that are to have none (D6).
//
// Applied again and again, with pods that become available, Move reaches the target. Nothing takes
// updated pods back: while the DaemonSet is held, a pod comes in the new version whoever makes room
// for it. There may be more updated pods than Target, then (D1, D3, D4); Count says so.
//
// # The traps
//
// What the native controller does to a DaemonSet with the strategy OnDelete, by functions of
// pkg/controller/daemon in Kubernetes 1.36:
//
//   - D1: a node that comes, or that fits again, gets a pod of the template that there is, whatever
//     was approved (podsShouldBeOnNode, syncNodes). There is no partition.
//   - D2: with RollingUpdate, old pods that are not available are deleted whatever maxUnavailable
//     says (rollingUpdate). So OnDelete is the only strategy that holds, and it is written together
//     with the template.
//   - D3: a pod that somebody deletes comes back updated (podsShouldBeOnNode, in manage).
//   - D4: a pod that has failed is deleted, and so is one that has succeeded (podsShouldBeOnNode):
//     an old pod that the kubelet evicts comes back updated. So what has ended counts as going.
//   - D5: a pod comes back only when the one before it is gone, after its grace period
//     (getNodesToDaemonPods lists pods that are terminating). So a pod that is terminating is not
//     replaced again, and is not available.
//   - D6: a pod may run on a node that is to have none, because of a taint that came later
//     (NodeShouldRunDaemonPod: it continues to run). status.desiredNumberScheduled does not count
//     it, status.numberMisscheduled does (updateDaemonSetStatus), and RollingUpdate replaces it
//     like any other (rollingUpdate). It does not come back. The status says so only after the next
//     sync, which neither that taint nor a node that is deleted begins (syncNodeUpdate).
//   - D7: of two pods on one node, which maxSurge has left behind, all but the oldest are deleted
//     at once, though they be the updated ones (podsShouldBeOnNode, where AllowsSurge is false with
//     OnDelete). So such a node counts as updated if one of them is, as not available, and is left
//     alone, as rollingUpdate does (findUpdatedPodsOnNode).
//   - D8: an earlier revision with the same template is used again, under its old hash
//     (constructHistory, dedupCurHistories): in a rollback, pods that were never updated are those
//     wanted, at once.
//   - D9: status.observedGeneration rises only after a whole sync (syncDaemonSet). Until then the
//     sync before may still delete pods under the strategy that the DaemonSet had, so nothing is
//     moved.
//   - D10: the status counts the oldest pod of a node, terminating ones too
//     (updateDaemonSetStatus). So it tells how a release stands only at rest.
//   - D11: the nodes that are to have a pod are those of the template that there is, with OnDelete
//     too: once one with another nodeSelector, nodeName, affinity or tolerations is written, all
//     pods of nodes that it leaves are deleted at once (podsShouldBeOnNode, manage). Nothing
//     prevents that; preflight and sluice plan warn of it.
package daemonset
