package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/test/cluster/clients"
)

func TestPictureOfACanary(t *testing.T) {
	t.Parallel()
	counts := func(v1, v2, failed int) clients.Counts {
		return clients.Counts{Sent: v1 + v2 + failed, Failed: failed, Versions: map[string]int{"v1": v1, "v2": v2}}
	}
	pods := func(v1, v2 int) map[string]int { return map[string]int{"v1": v1, "v2": v2} }
	p := &picture{before: "v1", after: "v2"}
	p.line(moment{counts: counts(50, 0, 0), pods: pods(4, 0)})
	got := p.heading()
	for _, now := range []moment{
		{at: time.Second, counts: counts(150, 0, 0), pods: pods(4, 0)},
		{at: 2 * time.Second, counts: counts(248, 1, 0), shared: true, weight: 1, pods: pods(4, 1)},
		{at: 3 * time.Second, counts: counts(347, 2, 0), shared: true, weight: 1, stands: true, pods: pods(4, 1)},
		{at: 4 * time.Second, counts: counts(446, 3, 0), shared: true, weight: 1, stands: true, pods: pods(4, 1)},
		{at: 5 * time.Second, counts: counts(545, 4, 0), shared: true, weight: 1, stands: true, pods: pods(4, 1)},
		{at: 6 * time.Second, counts: counts(545, 103, 1), shared: true, weight: 100, stands: true, pods: pods(0, 4)},
		{at: 7 * time.Second, counts: counts(545, 202, 2), shared: true, weight: 100, stands: true, pods: pods(0, 4)},
	} {
		got += p.line(now)
	}
	got += p.summary()
	none, one, all := strings.Repeat("░", width), "█"+strings.Repeat("░", width-1), strings.Repeat("█", width)
	want := "   time  █ answered by v2, ░ by v1                           measured  route says  pods v1 v2  requests\n" +
		"   1.0s  " + none + "     0.00%           -        4  0  100\n" +
		"   2.0s  " + one + "     1.01%          1%        4  1  99\n" +
		"   3.0s  " + one + "     1.00%          1%        4  1  100\n" +
		"   4.0s  " + one + "     1.00%          1%        4  1  100\n" +
		"   5.0s  " + one + "     1.00%          1%        4  1  100\n" +
		"   6.0s  " + all + "   100.00%        100%        0  4  100, 1 FAILED\n" +
		"   7.0s  " + all + "   100.00%        100%        0  4  100, 1 FAILED\n" +
		"    1%   " + one + "     1.00%  of 200 requests, 0 failed\n" +
		"  100%   " + all + "   100.00%  of 100 requests, 1 failed\n" +
		"\n749 requests in all, 2 failed.\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("picture (-want +got):\n%s", diff)
	}
}
