package main

import (
	"os"
	"testing"
	"time"
)

func TestCPUOf(t *testing.T) {
	t.Parallel()
	// proc(5): state, ppid, pgrp, session, tty_nr, tpgid, flags, minflt, cminflt, majflt, cmajflt
	// stand between the name and utime; cutime and cstime, of children, after stime.
	const between, after = " S 1 42 42 0 -1 4194560 5118 900 3 1 ", " 700 800 20 0 9 0 5230 1830000000 11776\n"
	cases := map[string]struct {
		reason, stat string
		want         time.Duration
	}{
		"Both":        {"user and kernel mode, children aside", "42 (sluice)" + between + "123 45" + after, 1680 * time.Millisecond},
		"Spaces":      {"a name may have spaces", "42 (kube api server)" + between + "100 0" + after, time.Second},
		"Parentheses": {"and parentheses, with what looks like fields behind them", "42 (a) S 1 2) x)" + between + "0 7" + after, 70 * time.Millisecond},
		"None":        {"a process that has just begun", "42 (sluice)" + between + "0 0" + after, 0},
		"CutOff":      {"a line that is too short tells nothing", "42 (sluice) S 1", 0},
		"Empty":       {"nor does an empty one", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := cpuOf([]byte(tc.stat)); got != tc.want {
				t.Errorf("%s: want %v, got %v of %q", tc.reason, tc.want, got, tc.stat)
			}
		})
	}
}

func TestKilobytes(t *testing.T) {
	t.Parallel()
	const status = "Name:\tsluice\nVmPeak:\t 1234567 kB\nVmHWM:\t   48128 kB\nVmRSS:\t   46080 kB\nRssAnon:\t   20000 kB\nVmLck:\nThreads:\t9"
	for key, want := range map[string]int64{
		"VmRSS:":   45 << 20,
		"VmHWM:":   47 << 20,
		"VmSwap:":  0, // a kernel without swap has no such line
		"VmLck:":   0, // without a value
		"Threads:": 0, // no size
		"VmRSS":    0, // half a key
	} {
		if got := kilobytes([]byte(status), key); got != want {
			t.Errorf("%s: want %d bytes, got %d", key, want, got)
		}
	}
}

// TestUsageOfThisProcess reads the real thing.
func TestUsageOfThisProcess(t *testing.T) {
	t.Parallel()
	used, err := usageOf(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used.memory <= 0 || used.peak < used.memory {
		t.Errorf("a test has memory, and a peak of no less: got %+v", used)
	}
	if _, err := usageOf(-1); err == nil {
		t.Error("want an error for a process that there is not, got none")
	}
}
