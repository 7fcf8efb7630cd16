// Package sandbox runs a function from bytes to bytes in a process that can do nothing else.
//
//	caller ─► Pool.Run ─► turn by tenant and source ─► this program again ─► Main ─► limits, then serve(stdin)
//	   ▲                                                                                        │
//	   └──────────────── bytes, or why there are none (ErrTime, ErrMemory, ErrSize) ◄───────────┘
//
// The process has no environment, works in the root folder, and before it reads a byte it takes
// from itself what it could use against its parent: no descriptor can be opened any more, and so no
// file, no socket and no pipe, without which no program can be started either; memory and processor
// time are limited; on Linux most system calls that change anything are refused by a filter, and
// the kernel, short of memory, ends it before all others.
//
// A command that uses the package calls Main first of all, since the process is the command itself:
// there is no other program that would have to be installed beside it.
package sandbox
