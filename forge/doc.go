// Package forge defines pull requests, reviews, statuses and checks as plain values.
//
// It is between the clients that read a forge and the pure rules that judge what was read:
//
//	forge ──HTTP──► forge/github ──► values of this package ──► approvals/gate
//
// What must hold:
//
//   - people and apps are told apart by Account.ID; a login can be given to somebody else;
//   - a zero value never speaks for an approval: what was not read, or is not known, is as if
//     it did not hold;
//   - a list is whole. A client that can't read all of a list returns an error instead.
package forge
