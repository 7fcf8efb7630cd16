// Package gitrepo turns a branch of a repository into a commit and a read-only file tree. It is the
// only importer of go-git.
//
//	Source ──look──▶ head commit ──same as known──▶ Snapshot without content
//	 (url, branch,       │
//	  credentials)       └─new─▶ fetch, depth 1 ─▶ ancestor check ─▶ Snapshot{Commit, fs.FS}
//
// What holds:
//
//   - Nothing new costs one round trip: the server's list of references.
//   - A change costs one more: a shallow pack that holds only what the commit
//     known before lacks. There is no work tree; files are read from tree
//     objects, and symbolic links and submodules are never followed.
//   - Every byte, object, file and second is limited before it is spent.
//   - All sources that name the same repository, branch and credentials share
//     one look and one fetch; they never share across credentials.
//   - A head that does not descend from the commit known before is an error
//     until the caller stops naming that commit.
//   - Errors have a Kind and never hold credentials.
package gitrepo
