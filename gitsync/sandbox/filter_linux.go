//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are the system calls that reach beyond the process on every architecture: other programs,
// the network, files by name, and other processes. Without a descriptor most of them fail anyway;
// the filter keeps those away too that need none, such as making a folder.
var refused = []uint32{
	unix.SYS_EXECVE, unix.SYS_EXECVEAT, unix.SYS_PTRACE, unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_PIDFD_OPEN, unix.SYS_PIDFD_SEND_SIGNAL,
	unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_SETSID, unix.SYS_SETPGID,
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_SENDTO, unix.SYS_SENDMSG,
	unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_MKDIRAT, unix.SYS_MKNODAT, unix.SYS_UNLINKAT, unix.SYS_RENAMEAT2, unix.SYS_LINKAT,
	unix.SYS_SYMLINKAT, unix.SYS_READLINKAT, unix.SYS_TRUNCATE, unix.SYS_FCHMODAT, unix.SYS_FCHOWNAT, unix.SYS_UTIMENSAT, unix.SYS_CHDIR,
	unix.SYS_CHROOT, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_SETXATTR, unix.SYS_STATFS, unix.SYS_MEMFD_CREATE,
	unix.SYS_IO_URING_SETUP, unix.SYS_BPF, unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_SETRLIMIT, unix.SYS_PERSONALITY, unix.SYS_REBOOT,
	unix.SYS_PRLIMIT64, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_RT_TGSIGQUEUEINFO, unix.SYS_PIDFD_GETFD, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP,
	unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETSCHEDULER, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETATTR,
	unix.SYS_FCNTL, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_MQ_OPEN, unix.SYS_FCHMODAT2, unix.SYS_FSOPEN, unix.SYS_OPEN_TREE,
	unix.SYS_MOVE_MOUNT, unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME, unix.SYS_CLOCK_SETTIME, unix.SYS_SETTIMEOFDAY,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG,
	unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR, unix.SYS_SENDMMSG,
}

// Offsets in seccomp_data of what a filter checks.
const (
	callAt     = 0
	archAt     = 4
	argumentAt = 16
)

// filterCalls makes the kernel refuse system calls to all threads of the process. A kernel without
// filters is no error: no descriptors and no memory are limits of their own.
func filterCalls() error {
	program := filter()
	compiled := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&compiled))) //nolint:gosec // the kernel takes the filter by its address
	if errno != 0 && !errors.Is(errno, unix.ENOSYS) && !errors.Is(errno, unix.EINVAL) {
		return fmt.Errorf("filter system calls: %w", errno)
	}
	return nil
}

// filter returns a program for the kernel: refused calls fail as not permitted, all others work.
func filter() []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		above = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		any   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		end   = unix.BPF_RET | unix.BPF_K
		deny  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	)
	program := []unix.SockFilter{
		{Code: load, K: archAt},
		{Code: equal, K: arch, Jt: 1},
		{Code: end, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: callAt},
		{Code: above, K: foreign, Jf: 1},
		{Code: end, K: deny},
	}
	for _, call := range append(refused, refusedHere...) {
		program = append(program, unix.SockFilter{Code: equal, K: call, Jf: 1}, unix.SockFilter{Code: end, K: deny})
	}
	return append(program,
		// clone3 hides its flags from a filter; a caller that learns that it is missing uses clone, which
		// may make threads.
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE3, Jf: 1}, unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)},
		unix.SockFilter{Code: equal, K: unix.SYS_CLONE, Jf: 3},
		unix.SockFilter{Code: load, K: argumentAt},
		unix.SockFilter{Code: any, K: unix.CLONE_THREAD, Jt: 1},
		unix.SockFilter{Code: end, K: deny},
		// Go signals its own threads, and no others are to be signalled.
		unix.SockFilter{Code: load, K: callAt},
		unix.SockFilter{Code: equal, K: unix.SYS_TGKILL, Jf: 3},
		unix.SockFilter{Code: load, K: argumentAt},
		unix.SockFilter{Code: equal, K: uint32(os.Getpid()), Jt: 1},
		unix.SockFilter{Code: end, K: deny},
		unix.SockFilter{Code: end, K: unix.SECCOMP_RET_ALLOW},
	)
}
