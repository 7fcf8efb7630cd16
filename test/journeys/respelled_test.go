package journeys

import (
	"fmt"
)

// answered checks that the status is about the newest spec of the release.
func answered(s *scene) error {
	if r := s.releases["web"]; r.Status.ObservedGeneration != r.Generation {
		return fmt.Errorf("the status is of generation %d, the spec of %d", r.Status.ObservedGeneration, r.Generation)
	}
	return nil
}
