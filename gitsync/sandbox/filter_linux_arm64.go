package sandbox

import "golang.org/x/sys/unix"

const (
	arch = unix.AUDIT_ARCH_AARCH64
	// foreign is beyond all calls there are.
	foreign = 0x40000000
)

// refusedHere are those that only this architecture has.
var refusedHere = []uint32{unix.SYS_RENAMEAT}
