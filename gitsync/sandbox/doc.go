// Package sandbox runs a function from bytes to bytes in a process that can do nothing else.
//
//	caller ─► Pool.Run ─► turn by tenant, source ─► this program ─► Main ─► limits, serve(stdin)
//	   ▲                                                                          │
//	   └──────────── bytes, or why there are none (ErrTime, ErrMemory, ErrSize) ◄─┘
//
// The process has no environment, works in the root folder, and before it reads a byte it gives up
// everything that it could use against its parent. No descriptor can be opened any more, and so no
// file, no socket and no pipe, without which no program can be started either. Memory and processor
// time are limited. On Linux a filter refuses most system calls that change anything, and the
// kernel, short of memory, ends the process before all others.
//
// A command that uses the package calls Main first of all, since the process is the command itself:
// no other program has to be installed beside it.
package sandbox
