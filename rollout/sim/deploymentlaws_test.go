package sim

import (
	"fmt"
	"strings"
)

func (lawsOfSets) exposed(d *Workload) bool { return !d.Paused && d.Strategy == Recreate }

func (lawsOfSets) laws() []law { return deploymentLaws }

func (lawsOfSets) has(w *World, revision string) bool { return w.setOf(revision) != nil }

func (lawsOfSets) running(w *World, revision string) int32 {
	if s := w.setOf(revision); s != nil {
		return s.Replicas
	}
	return 0
}

func (lawsOfSets) wanted(w *World) int32 { return total(w.Sets) }

func (lawsOfSets) allUpdated(c change) bool {
	w := c.pass.world
	s := updatedSet(w)
	return s != nil && total(w.Sets) == s.Replicas && s.Replicas >= checkerOf(c.pass.world).window.least(w)
}

func (lawsOfSets) tellEnd(w *World, text *strings.Builder) {
	for i := range w.Sets {
		s := &w.Sets[i]
		fmt.Fprintf(text, "set %s replicas=%d available=%d pods=%d\n", s.Revision, s.Replicas, s.Pods.Available, s.Pods.total())
	}
}

// key has nothing to add: keys have the ReplicaSets already.
func (lawsOfSets) key(*encoder, *State) {}
