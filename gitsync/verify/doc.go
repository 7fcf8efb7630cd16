// Package verify checks the signatures of commits against keys.
//
//	raw commit ─▶ parse: payload, signature, time ─┐
//	                                               ├─▶ Keys.Check ─▶ Signer, or RefusedError
//	Secret, ConfigMap or file ─▶ Read: keys ───────┘
//
// What holds:
//
//   - The signed bytes are those of the object as Git has it, less the header with the signature.
//     What two readers could take for different commits is refused.
//   - A key must be valid at the time of the commit and now: the committer chooses the former.
//   - A signature with a key of the forge shows that the forge made the commit, not who wanted it.
//     It never suffices.
//   - A key or signature that can't be read, or that has an unknown form, is refused.
package verify
