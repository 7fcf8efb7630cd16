// Package gitlab is the client for one project on GitLab.
//
// It calls the few parts of the REST API that a gate needs, over package wire, and has Git write
// branches. What must hold beside the rules of packages forge and wire:
//
//   - an approval names no commit: it counts for the head that the merge request had when it was
//     given, by GitLab's list of the heads that it has had;
//   - GitLab takes a push that has the head of a merge request for its merge. A move of the branch
//     is the forge's only where it has the content of the merge request, and nothing else;
//   - an account is a person's only if GitLab says that it is no bot's;
//   - lines that GitLab would carry out, such as /merge, are sent as text.
package gitlab
