package journeys

import (
	"testing"

	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// mostRequests is what a release of ten pods in four steps without gates may cost on a busy
// machine, where pods become ready one by one; watches and what a controller asks once, when it
// starts, aside. Five of them are events: that it begins, and each step. At a load of 20 on two
// cores it was 47, on an idle machine it is about 40.
const mostRequests = 51

// TestRequestsOfRelease: the requests that a control plane has to serve don't grow with the number
// of pods.
func TestRequestsOfRelease(t *testing.T) {
	w := newWorld(t)
	c := w.startController()
	template := podTemplate("web:1", map[string]string{controlplane.ReadyDelayAnnotation: "1s"})
	d := deployment(10)
	d.Spec.Template = template
	w.deployed(d)
	template.Spec.Containers[0].Image = "web:2"
	w.create(releaseOf(template, step("25%", none()), step("50%", none()), step("75%", none()), step("100%")))
	w.await(all(web.completed, web.serves("web:2", 10)))
	requests := c.requests()
	t.Logf("%d requests: %v", sum(requests), requests)
	if n := sum(requests); n > mostRequests {
		t.Errorf("a release takes %d requests, want at most %d: %v", n, mostRequests, requests)
	}
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
