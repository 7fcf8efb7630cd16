package journeys

import (
	"fmt"
)

func (w *world) wantNoGatesOfAttempt(attempt int64) {
	w.Helper()
	w.await(func(s *scene) error {
		for _, gate := range s.gates {
			if gate.Spec.Attempt == attempt {
				return fmt.Errorf("want no gates of attempt %d, have %s", attempt, gate.Name)
			}
		}
		return nil
	})
}
