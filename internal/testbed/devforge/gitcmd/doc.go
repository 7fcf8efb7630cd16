// Package gitcmd works on bare Git repositories through the git command line.
//
// A Runner starts the processes, so many at a time, and ends them; a Repository is one bare
// repository seen through it: refs, commits, trees, blobs, diffs and merges as values.
//
//	Repository ──arguments, stdin──► Runner ──► git ──stdout──► values
//
// What holds:
//
//   - nothing here needs a work tree: trees are written through an index that lasts one call;
//   - a revision that a client names is checked before git sees it, so it is never an option;
//   - a ref moves only from the commit that the caller saw (compare and swap);
//   - after Runner.End no process starts, and after Runner.Wait none is left.
package gitcmd
