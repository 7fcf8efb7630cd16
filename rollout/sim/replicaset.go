package sim

import "fmt"

// syncSet runs one turn of the ReplicaSet controller. It reports whether anything changed.
//
// As natively, the status tells of the pods that were found, not of those that this turn
// makes or deletes, though it claims to have observed the present spec.
func syncSet(w *World, s *Set) bool {
	found := s.Pods.status()
	changed := !s.Observed || s.Status != found
	if changed {
		s.Status, s.Observed, s.Version = found, true, w.next()
	}
	pods := s.Pods.sized(s.Replicas)
	if !w.Graceful {
		pods.Going = 0
	}
	changed = changed || pods != s.Pods
	s.Pods = pods
	return changed
}

// settled reports whether the ReplicaSet controller has nothing to do.
func (s *Set) settled() bool {
	found := s.Pods.status()
	return s.Observed && s.Status == found && found.Current == s.Replicas
}

// sized makes pods or deletes some: pending ones before those that run, and those before the ready,
// as natively. Of the ready ones the native ranking prefers those with a lower deletion cost and
// those that share their node, and does not ask who is available: at the worst the available go
// first.
func (p Pods) sized(replicas int32) Pods {
	excess := p.total() - replicas
	if excess < 0 {
		p.Pending -= excess
		return p
	}
	for _, group := range []*int32{&p.Pending, &p.Failing, &p.Available, &p.Warming} {
		gone := min(excess, *group)
		*group -= gone
		p.Going += gone
		excess -= gone
	}
	return p
}

// makeReady lets one pending pod come up: ready, or failing if its revision is sick.
func makeReady(w *World, s *Set) bool {
	if s.Pods.Pending == 0 {
		return false
	}
	s.Pods.Pending--
	comeUp(w, s, same(s.Revision, w.Sick))
	return true
}

// comeUp moves a pod on that has started.
func comeUp(w *World, s *Set, fails bool) {
	switch {
	case fails:
		s.Pods.Failing++
	case w.MinReady:
		s.Pods.Warming++
	default:
		s.Pods.Available++
	}
}

// warm lets a pod that is ready count as available: minReadySeconds have gone by.
func warm(s *Set) bool {
	if s.Pods.Warming == 0 {
		return false
	}
	s.Pods.Warming--
	s.Pods.Available++
	return true
}

// podGone lets a pod that is going away be gone.
func podGone(s *Set) bool {
	if s.Pods.Going == 0 {
		return false
	}
	s.Pods.Going--
	return true
}

// failPod takes an available pod's readiness away.
func failPod(s *Set) bool {
	if s.Pods.Available == 0 {
		return false
	}
	s.Pods.Available--
	s.Pods.Failing++
	return true
}

// healPod lets a failing pod become available, unless its revision is sick.
func healPod(w *World, s *Set) bool {
	if s.Pods.Failing == 0 || same(s.Revision, w.Sick) {
		return false
	}
	s.Pods.Failing--
	comeUp(w, s, false)
	return true
}

// losePod removes an available pod, as when its node goes.
func losePod(s *Set) bool {
	if s.Pods.Available == 0 {
		return false
	}
	s.Pods.Available--
	return true
}

// cure lets the pods of the sick revision become available after all, and the API server take
// the template and the writes that it refused; a quota has room, and versions may be mixed.
func cure(w *World) bool {
	allowed := w.ownStrategy == Recreate && allowMixedVersions(w)
	ill := allowed || w.Sick+w.API.Refused != "" || w.API.Crowded || w.API.Refusing != "" || cureAdmission(w)
	w.Sick, w.API.Refused, w.API.Crowded, w.API.Refusing = "", "", false, ""
	return ill
}

// total returns the pods that are not going away.
func (p Pods) total() int32 { return p.Pending + p.Failing + p.ready() }

func (p Pods) ready() int32 { return p.Warming + p.Available }

func (p Pods) status() SetStatus {
	return SetStatus{Current: p.total(), Ready: p.ready(), Available: p.Available, Terminating: p.Going}
}

// rest tells of pods that are ready only, and of those that are going away.
func (p Pods) rest() string {
	var text string
	if p.Warming > 0 {
		text += fmt.Sprintf(", %d ready", p.ready())
	}
	if p.Going > 0 {
		text += fmt.Sprintf(", %d going", p.Going)
	}
	return text
}
