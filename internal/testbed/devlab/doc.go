// Package devlab is a GitLab for tests, on loopback, over real bare repositories.
//
// It answers the part of the REST API, version 4, that Sluice and people in its tests use, as
// GitLab documents it and as its published source does where that is silent:
//
//	REST, Git ──► faults, request log ──► one lock ──► accounts, projects, repositories
//
// What holds:
//
//   - an approval names no commit, and stays when something is pushed, as without a paid plan;
//   - a push that has the head of a merge request merges it, as whoever pushed;
//   - a push of many branches is one event, that names none;
//   - a status refuses the state that it has until it ends.
package devlab
