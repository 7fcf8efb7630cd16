//go:build unix && !linux

package sandbox

import (
	"os"

	"golang.org/x/sys/unix"
)

func self() (string, error) { return os.Executable() }

// restrict does what works everywhere: no descriptors, and limits on time. Only the watch limits
// memory.
func restrict(_, seconds uint64) error {
	return setLimits([]limit{
		{unix.RLIMIT_CPU, seconds},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 0},
	})
}
