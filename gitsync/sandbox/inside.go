package sandbox

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// checkInterval is how often the memory is checked.
const checkInterval = 5 * time.Millisecond

// watch ends the process when it holds more memory, or takes more time of the processor, than it
// may. The limits of the kernel back it up: they are coarser, since Go takes memory from the kernel
// in large parts.
func watch(limit int64, processor time.Duration) {
	runtime.GOMAXPROCS(2) // one works, and one watches
	debug.SetMemoryLimit(limit / 4 * 3)
	debug.SetMaxStack(int(limit / 4))
	ticker := time.NewTicker(checkInterval) // before there can't be a new descriptor, which the first timer takes
	go func() {
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for range ticker.C {
			metrics.Read(samples)
			if held := int64(samples[0].Value.Uint64()) - int64(samples[1].Value.Uint64()); held > limit {
				os.Exit(exitMemory) //nolint:forbidigo // it is the process's own end
			}
			if processorTime() > processor {
				os.Exit(exitTime) //nolint:forbidigo // likewise
			}
		}
	}()
}
