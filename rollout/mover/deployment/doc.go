// Package deployment moves the pods of a Deployment from one version to another.
//
// It is the arithmetic of the native Deployment controller's rolling update, with a target short of
// all pods. Values go in, values come out; it knows no release, no status and no cluster:
//
//	Mover, mover.Task ──► move ──► Sizes ──► Changes: what grows, what shrinks
//	                 └──► keep ──┘      └──► Sort, Limits: in which order old pods go
//
// A Mover holds the ReplicaSets as they are seen. A mover.Task says how many pods are to run the
// new version (Target), how far the numbers may stray from spec.replicas (Bounds), and what may go
// back (Mode). Sizes holds the size that each ReplicaSet is to have. While move or keep runs, those
// wanted sizes are a draft that it fills row by row: the only thing in this package that changes.
// Once it is returned, nobody writes to it.
//
// R is spec.replicas, S maxSurge and U maxUnavailable, both in pods. What holds at every write, in
// the order of Changes:
//
//   - I1: growth takes the ReplicaSets to at most R+S in sum, or Most if that is more, with the
//     exception of one pod where the traps below require it;
//   - I2: a shrink leaves at least R-U pods available, even if the worst pods of a set go first;
//   - the new ReplicaSet grows to at most Target, and others to at most the rest of R;
//   - the new ReplicaSet shrinks only as Mode says;
//   - no ReplicaSet shrinks below what Keep says of its version, and others grow to what Grow says,
//     for which the new one leaves room.
//
// Applied again and again, with pods that become available, move reaches the target and takes all
// that is too many away.
//
// # The traps
//
// The Deployment is paused and has the strategy Recreate meanwhile. Its controller then still runs
// sync in pkg/controller/deployment/sync.go, whose function scale is the reason for three rules:
//
//   - T1: it sets a lone active ReplicaSet to R, whatever size somebody gave it
//     (FindActiveOrLatest). So the new one has a pod before an old one shrinks (pinned), updated
//     pods go back only beside another version (alone), and of two old ones none is left alone
//     before there is an updated pod (keepTwoActive).
//   - T2: if the new ReplicaSet is noted to be complete (IsSaturated reads the annotation
//     desired-replicas), it sets all others to 0. So the note is taken off before another one grows
//     (Changes), and wherever old pods stay for requests (keepBeside).
//   - T3: of two or more active ReplicaSets it scales none, because the strategy is not
//     RollingUpdate. So move and keep follow spec.replicas themselves.
package deployment
