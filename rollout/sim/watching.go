package sim

import (
	"time"
)

func (w *World) deadline() time.Duration {
	return time.Duration(*w.Release.Spec.Strategy.ProgressDeadlineSeconds) * time.Second
}

// glance is how often the controller looks at a release that waits.
const glance = time.Minute

// watch lets time go by in which the controller looks at the release and finds nothing to do.
func (s *State) watch(d time.Duration) {
	for ; d > 0; d -= glance {
		s.Process.watches = s.Process.watches.Looked(s.Process.view(s.World).Status, s.Now)
		s.Now = s.Now.Add(min(d, glance))
		s.watched(min(d, glance))
	}
	s.Process.watches = s.Process.watches.Looked(s.Process.view(s.World).Status, s.Now)
}

// Until lets time go by until the controller, which is there, wants to look again, or something
// happens.
func (s *State) Until(t time.Time) {
	s.watched(t.Sub(s.Now))
	s.Now = t
}

func (s *State) watched(d time.Duration) {
	s.see(timeWatched{d})
}
