// Package gitea is the client for one repository on Gitea or Forgejo.
//
// It calls the few parts of their API that a gate needs, over package wire, and has Git write
// branches. What must hold beside the rules of packages forge and wire:
//
//   - Gitea has no account type for programs: a bot's account is a person's;
//   - an approval counts only if Gitea counts it, as official;
//   - who moved a branch is what Gitea's log of activities says, which may leave moves out: each
//     commit needs a move that brought it. A merge is the forge's only where nobody can mark a push
//     as a merge.
package gitea
