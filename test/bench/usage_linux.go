package main

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// userHZ is in what parts of a second Linux tells processes' times, on every architecture.
const userHZ = 100

// usageOf reads proc(5). The peak is VmHWM, not ru_maxrss: the latter begins with the memory of
// the process that started this one.
func usageOf(pid int) (usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return usage{}, fmt.Errorf("read usage: %w", err)
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return usage{}, fmt.Errorf("read usage: %w", err)
	}
	return usage{cpu: cpuOf(stat), memory: kilobytes(status, "VmRSS:"), peak: kilobytes(status, "VmHWM:")}, nil
}

// cpuOf adds fields 14 and 15 of stat, utime and stime; the name in field 2 may have spaces.
func cpuOf(stat []byte) time.Duration {
	const utime, stime = 14 - 3, 15 - 3 // field 3 is the first after the name
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	var ticks int64
	for _, i := range []int{utime, stime} {
		if i < len(fields) {
			n, _ := strconv.ParseInt(string(fields[i]), 10, 64)
			ticks += n
		}
	}
	return time.Duration(ticks) * time.Second / userHZ
}

// kilobytes returns the value of a line of status in bytes; 0 if it is not there.
func kilobytes(status []byte, key string) int64 {
	for line := range bytes.Lines(status) {
		if fields := bytes.Fields(line); len(fields) == 3 && string(fields[0]) == key {
			n, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			return n << 10
		}
	}
	return 0
}
