package journeys

import (
	"errors"
	"net/http"
	"sync"
)

// halt holds a controller up before one of its writes. Neither that write nor any after it reaches
// the cluster until the test lets the controller go on, so that whatever the test does meanwhile
// happens exactly between two writes, and the controller has decided on the next one already.
type halt struct {
	journal *journal
	// before is the number of the write, counted from 1.
	before int64

	mu sync.Mutex
	// write is that write, once it is reached.
	write   string
	over    bool
	resumed chan struct{}
}

// startControllerHalting runs the controller up to a write.
func (w *world) startControllerHalting(before int64) *controller {
	w.Helper()
	return w.start(&controller{halt: &halt{journal: w.journal, before: before, resumed: make(chan struct{})}})
}

// count counts a request, if it writes to the namespace, and holds it up if it is time for that.
func (c *controller) count(request *http.Request) {
	if !c.w.changes(request) {
		return
	}
	if n := c.sent.Add(1); c.halt != nil && n >= c.halt.before {
		c.halt.reach(n, request)
	}
}

// reach waits with a request until the halt is over.
func (h *halt) reach(n int64, request *http.Request) {
	h.mu.Lock()
	if n == h.before && !h.over {
		h.write = request.Method + " " + request.URL.Path
		h.journal.nudge()
	}
	h.mu.Unlock()
	select {
	case <-h.resumed:
	case <-request.Context().Done():
	}
}

// goOn lets the controller write again; if it has not come to the halt, it never will.
func (h *halt) goOn() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return
	}
	h.over = true
	close(h.resumed)
}

// reached wants the controller to have come to the halt.
func (h *halt) reached(*scene) error {
	if h.at() == "" {
		return errors.New("want the controller halted: it has not come to that write")
	}
	return nil
}

// at returns the write before which the controller is halted; empty if it is not.
func (h *halt) at() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.write
}
