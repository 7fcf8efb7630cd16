//go:build unix

package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// limit is one that the kernel enforces.
type limit struct {
	resource int
	value    uint64
}

func setLimits(limits []limit) error {
	for _, l := range limits {
		if err := unix.Setrlimit(l.resource, &unix.Rlimit{Cur: l.value, Max: l.value}); err != nil {
			return fmt.Errorf("set limit %d to %d: %w", l.resource, l.value, err)
		}
	}
	return nil
}
