package sandbox

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// beyond tries what Linux has besides to reach another process: each of these names it by a number,
// and needs no descriptor.
func beyond() map[string]error {
	parent := os.Getppid()
	call := func(number uintptr, arguments ...uintptr) error {
		full := [6]uintptr{}
		copy(full[:], arguments)
		_, _, errno := unix.RawSyscall6(number, full[0], full[1], full[2], full[3], full[4], full[5])
		if errno == 0 {
			return nil
		}
		return errno
	}
	var limit unix.Rlimit
	var info [128]byte // of a signal: what sends it says that it was queued
	queued := int32(-1)
	*(*int32)(unsafe.Pointer(&info[8])) = queued
	at, what := uintptr(parent), uintptr(unsafe.Pointer(&info))
	return map[string]error{
		"thread of the parent":        unix.Tgkill(parent, parent, 0),
		"limits of the parent":        unix.Prlimit(parent, unix.RLIMIT_CORE, nil, &limit),
		"signal queued to the parent": call(unix.SYS_RT_SIGQUEUEINFO, at, 0, what),
		"signal queued to its thread": call(unix.SYS_RT_TGSIGQUEUEINFO, at, at, 0, what),
		"priority of the parent":      unix.Setpriority(unix.PRIO_PROCESS, parent, 19),
		"signals by a descriptor":     call(unix.SYS_FCNTL, 0, unix.F_SETOWN, at),
	}
}
