// Package webhook checks webhooks, and marks the object to read at once.
//
//	POST /hooks/<namespace>/<source> ─► rate ─► size ─► signature ─► seen before ─► which object
//	                                                                                    │
//	          gitsync, approvals ◄─watch── annotation requestedAt on source or gate ◄───┘
//
// What must hold:
//
//   - nothing in a webhook is trusted: it only has an object looked at that would be looked at anyway, so
//     one that is lost, late, repeated or forged changes nothing in the end;
//   - before the signature is known to be good nothing happens but that it is checked, and, every few
//     seconds at most, that the secret is read; a source that is not there, one without a secret and a
//     wrong signature can't be told apart;
//   - every replica takes webhooks, and keeps of them no more than a bounded memory.
package webhook
