//go:build unix

package sandbox

import (
	"fmt"
	"time"

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

// processorTime returns the processor time of this process so far.
func processorTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0 // the kernel's limit holds
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
