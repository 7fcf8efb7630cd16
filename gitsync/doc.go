// Package gitsync reads the repositories of ReleaseSources and applies their BatchReleases. It owns
// BatchRelease.spec and ReleaseSource.status.
//
//	ReleaseSource ─▶ credentials ─▶ gitrepo: head ─▶ spec: releases, errors; records of approvals
//	                                                    │
//	                                                    ▼
//	        cache, overlay, live ─▶ observe ─▶ plan.Next ─▶ writes ─▶ API server
//	                                    ▲               │               │
//	                                    └── answers ────│───────────────┘
//	                                                    ▼
//	                 status, events ◀── standing ◀── outcome
//
// What holds:
//
//   - Nothing new in Git and in the cluster: one round trip to the repository, no
//     write to the API server.
//   - A release whose file is wrong keeps its last good spec; others are not
//     affected. One object that the API server refuses is an error of its file.
//   - Nothing is deleted while a file has errors, when nothing is left, or when more
//     would go than stay.
//   - What people approved is published as the tracked branch has it, whatever folder of it is
//     released, and only for releases that wait. Whether it lets them go on is not decided here.
//   - A head that does not descend from the commit that was applied last changes nothing.
//   - Everything is written as the source's service account, if it names one, and to
//     the source's own namespace unless Options allow others.
package gitsync
