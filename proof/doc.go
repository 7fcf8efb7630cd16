// Package proof signs what let a release continue, and checks later that a pod runs nothing else;
// pure.
//
//	Gate, BatchRelease, ReleaseSource ──► StatementOf ──► Key.Sign ──► envelope (DSSE)
//	pod, template, commit, envelopes ──► Check ──► Verdict
//
// A statement is an in-toto statement about the commit that a release brings. Its predicate is a
// gate that has passed: which template it admits, by which policy, on which evidence. It says what
// the controller has read from Git, the cluster and the forge; whoever trusts the controller's key
// needs none of them to check it again.
package proof
