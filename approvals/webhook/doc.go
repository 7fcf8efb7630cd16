// Package webhook checks webhooks, and marks the object to read at once.
//
//	POST /hooks/<namespace>/<source> ─► rate ─► size ─► signature ─► seen before ─► which object
//	                                                                                    │
//	          gitsync, approvals ◄─watch── annotation requestedAt on source or gate ◄───┘
//
// What must hold:
//
//   - nothing in a webhook is trusted: it only starts a pass that would come anyway, so that a
//     lost, late, repeated or forged webhook changes nothing in the end;
//   - before the signature is verified, Sluice only verifies it, and reads the secret every few
//     seconds at most; a sender can't tell a missing source, a source without a secret and a wrong
//     signature apart;
//   - every replica takes webhooks, and keeps of them no more than a bounded memory.
package webhook
