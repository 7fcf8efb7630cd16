package controlplane

import "syscall"

// childAttributes keep a terminal's signals from the child, which Stop ends in order, and have the
// kernel kill it when we die without having stopped it.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
