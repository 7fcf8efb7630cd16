// Package dashboard serves the pages that people look at during a release, on one's own machine and
// in the cluster.
//
//	browser ──► access.Door ──► Dashboard ──► view ──► page
//	   ▲                          │   │
//	   └─── /live: changed ◄── hub    └── viewer's client: reads of one release, actions
//	                            ▲
//	        cache: BatchReleases, ReleaseSources, histories
//
// What must hold:
//
//   - lists come from a cache that all viewers share, without objects that the viewer may not list;
//   - the viewer's own client reads a release, its pods and its history, and does every action: the
//     API server decides;
//   - pages work without scripts; /live only says that a page has changed, and not how;
//   - streams, pages, texts and drawn pods of a viewer are bounded.
package dashboard
