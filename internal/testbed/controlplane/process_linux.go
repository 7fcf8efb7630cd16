package controlplane

import "syscall"

// childAttributes keeps the terminal's signals from the child, which Stop ends in order. It makes
// the kernel kill the child when this process dies before Stop.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
