//go:build unix && !linux

package controlplane

import "syscall"

// childAttributes keeps the terminal's signals from the child, which Stop ends in order. Unlike
// Linux, these systems leave a child alone when its parent is killed.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
