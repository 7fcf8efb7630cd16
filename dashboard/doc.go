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
//   - lists come from a cache that all viewers share, without what the viewer may not list; a release, its pods and its history are
//     read, and every action is done, with the viewer's own client: the API server decides;
//   - pages work without scripts; /live only says that a page has changed, and never what;
//   - what a viewer can use is bounded: streams, pages, texts, pods that are drawn.
package dashboard
