package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// redraw is how often the panel is drawn again when nothing happens, for what counts down in it.
const redraw = 100 * time.Millisecond

// note is the last line of the panel: the demo's current action.
type note struct {
	mu    sync.Mutex
	text  string
	until time.Time
}

// set says what goes on.
func (n *note) set(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text, n.until = fmt.Sprintf(format, args...), time.Time{}
}

// countDown says what goes on for how long.
func (n *note) countDown(text string, d time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.text, n.until = text, time.Now().Add(d)
}

func (n *note) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if left := time.Until(n.until); left > 0 {
		return fmt.Sprintf("%s (%.1f s)", n.text, left.Seconds())
	}
	return n.text
}

// follow draws the panel as it changes until ctx is done.
func follow(ctx context.Context, screen *screen, panel func() (lines []string, changed <-chan struct{})) {
	tick := time.NewTicker(redraw)
	defer tick.Stop()
	for {
		lines, changed := panel()
		screen.show(lines)
		select {
		case <-changed:
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// narrator prints what the release and its gates say of themselves, whenever that is something new.
// A member of a train leaves its gates to the train.
type narrator struct {
	screen *screen
	// of comes before what a gate says, where there are several releases.
	of    string
	last  v1alpha1.BatchReleaseStatus
	gates map[types.UID]v1alpha1.GateStatus
}

func newNarrator(screen *screen, of string) *narrator {
	return &narrator{screen: screen, of: of, gates: map[types.UID]v1alpha1.GateStatus{}}
}

func (n *narrator) hear(s *scene) {
	if s.release != nil && s.release.Status.Message != n.last.Message {
		n.last = s.release.Status
		words := s.release.Name + ": " + n.last.Message
		if len(s.pods) > 0 {
			words += " " + n.screen.dim(versions(s))
		}
		n.screen.say("%s", words)
	}
	for uid, gate := range s.gates {
		if s.release != nil && gate.Spec.ReleaseRef.Name == s.release.Name && gate.Status.Message != n.gates[uid].Message {
			n.gates[uid] = gate.Status
			n.screen.say("%s%s gate after batch %d: %s", n.of, gate.Spec.Type, gate.Spec.Step+1, gate.Status.Message)
		}
	}
}
