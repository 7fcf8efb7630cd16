// Package devforge is a Git forge on loopback, over real bare repositories.
//
// It serves Git's smart HTTP protocol, clone and push, with the git command line
// behind it, so that a demo or a test works on what a real forge would hold:
//
//	git client ──HTTP──► Forge ──stdin/stdout──► git upload-pack / receive-pack ──► DIR/owner/name.git
//
// What holds:
//
//   - it listens on 127.0.0.1 only;
//   - a request reaches a repository by a checked name, never by a path;
//   - at most Options.MaxProcesses git processes run at a time, further requests wait;
//   - after Close no process of the forge is left.
//
// It starts the two services itself rather than through "git http-backend" and
// net/http/cgi: those refuse chunked bodies, which is how git pushes more than a
// megabyte, and leave no way to end a service together with its own children.
package devforge
