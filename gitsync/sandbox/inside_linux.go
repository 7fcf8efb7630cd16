package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// self returns this program, even where its file was replaced meanwhile.
func self() (string, error) { return "/proc/self/exe", nil }

// slack is how much more the kernel lets the process have than the watch does: Go takes 64 MiB at a
// time.
const slack = 64 << 20

// restrict takes from the process what it does not need to compute.
func restrict(memory, seconds uint64) error {
	// The kernel ends this process before the controller. Where that can't be set, as under some
	// container runtimes, the limits on memory hold all the same.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	held, err := dataBytes()
	if err != nil {
		return err
	}
	if err := setLimits([]limit{
		{unix.RLIMIT_DATA, held + memory + slack},
		{unix.RLIMIT_CPU, seconds},
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 0},
	}); err != nil {
		return err
	}
	return filterCalls()
}

// dataBytes returns how much memory counts as data of the process already.
func dataBytes() (uint64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, fmt.Errorf("read how much memory is held: %w", err)
	}
	for line := range bytes.Lines(status) {
		if rest, found := bytes.CutPrefix(line, []byte("VmData:")); found {
			text, _, _ := bytes.Cut(bytes.TrimSpace(rest), []byte(" "))
			kilobytes, err := strconv.ParseUint(string(text), 10, 64)
			return kilobytes << 10, err
		}
	}
	return 0, fmt.Errorf("read how much memory is held: %q has no VmData", status)
}
