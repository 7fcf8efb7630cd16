package sim

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

// Place is a pod with a place of its own: an ordinal of a StatefulSet, or a node of a DaemonSet.
type Place struct {
	Name    string
	UID     types.UID
	Version int64
	// Index is the ordinal less the first, and Node the node.
	Index    int32
	Node     string
	Revision string
	Stage    Stage
	// Going says that it is being deleted, and is not gone yet.
	Going bool
	// Orphan says that its node is deleted, and Misplaced that its node is to have no pod any more.
	Orphan, Misplaced bool
	// Uncounted says that it has left its place, or its place it, and that the native controller has
	// not seen that yet.
	Uncounted bool
}

// belongs reports whether the place of the pod is to have one.
func (p *Place) belongs() bool { return !p.Orphan && !p.Misplaced }

// Stage is how far a pod has come.
type Stage uint8

// The stages: waiting to be ready, not ready any more, ready but not available yet, available,
// failed or succeeded for good.
const (
	Pending Stage = iota
	Failing
	Warming
	Available
	Ended
)

// Places holds the counts of the status of a StatefulSet or DaemonSet.
type Places struct {
	// Current and Update are the revisions of a StatefulSet.
	Current, Update                     string
	Replicas, Ready, Available, Updated int32
	// Misscheduled are nodes that have a pod of a DaemonSet, and are to have none.
	Misscheduled int32
}

// inPlace returns the counts as a mover takes them.
func (p *Places) inPlace() inplace.Status {
	return inplace.Status{Current: p.Replicas, Ready: p.Ready, Available: p.Available, Updated: p.Updated, Misscheduled: p.Misscheduled}
}

func (p *Place) ready() bool { return p.Stage == Warming || p.Stage == Available }

// available reports whether the pod serves, and goes on to.
func (p *Place) available() bool { return p != nil && !p.Going && p.Stage == Available }

// stands reports whether there is a pod that is not going away.
func (p *Place) stands() bool { return p != nil && !p.Going && p.Stage != Ended }

// inside reports whether the pod is one of so many.
func (p *Place) inside(replicas int32) bool { return p.Index >= 0 && p.Index < replicas }

// String shows a pod by its revision and how it is.
func (p *Place) String() string {
	text := p.Revision + [...]string{"-", "!", "+", "", "#"}[p.Stage]
	if p.Going {
		text += "x"
	}
	return text
}

// observed returns the pod as a mover takes it.
func (p *Place) observed() inplace.Pod {
	return inplace.Pod{
		Name: p.Name, UID: p.UID, Version: version(p.Version), Index: p.Index, Node: p.Node, Revision: p.Revision,
		Ready: p.ready(), Available: p.Stage == Available, Terminating: p.Going || p.Stage == Ended,
	}
}

// podsSeen returns those of a pass as a mover takes them.
func podsSeen(x *pass) []inplace.Pod {
	pods := make([]inplace.Pod, 0, len(x.places))
	for i := range x.places {
		pods = append(pods, x.places[i].observed())
	}
	return pods
}

func (w *World) addPlace(p Place) {
	w.made++
	p.Version = w.next()
	p.UID = types.UID(fmt.Sprintf("pod-%d", w.made))
	at := slices.IndexFunc(w.Places, func(other Place) bool {
		return other.Index > p.Index || other.Index == p.Index && other.Node > p.Node
	})
	if at < 0 {
		at = len(w.Places)
	}
	w.Places = slices.Insert(w.Places, at, p)
}

func findPlace(places []Place, uid types.UID) *Place {
	for i := range places {
		if places[i].UID == uid {
			return &places[i]
		}
	}
	return nil
}

// deletePlace has a pod deleted: at once, unless pods take a while to go.
func (w *World) deletePlace(uid types.UID) {
	p := findPlace(w.Places, uid)
	p.Version = w.next()
	if w.Graceful {
		p.Going = true
		return
	}
	w.Places = slices.DeleteFunc(w.Places, func(p Place) bool { return p.UID == uid })
}

// placed holds the common methods of kinds whose pods have places.
type placed struct{}

func (placed) podEvents(w *World, kinds ...Kind) []Event {
	var events []Event
	for i := range w.Places {
		for _, kind := range kinds {
			if p := &w.Places[i]; happensTo(kind, p) {
				events = append(events, Event{Kind: kind, Text: p.Name})
			}
		}
	}
	return events
}

// happensTo reports whether an event of a kind may happen to a pod.
func happensTo(kind Kind, p *Place) bool {
	switch kind {
	case PodReady:
		return !p.Going && p.Stage == Pending
	case PodAvailable:
		return !p.Going && p.Stage == Warming
	case PodGone: // or somebody deletes one that has ended: of several that are to go in order none goes by itself
		return p.Going || p.Stage == Ended || p.Orphan
	case PodFails, PodLost, PodEnds:
		return !p.Going && p.Stage == Available
	case PodHeals:
		return !p.Going && p.Stage == Failing
	default:
		return false
	}
}

// subjectOf returns the pod that an event is about: the one of that name, or the first of that
// revision.
func subjectOf(w *World, e Event) *Place {
	for i := range w.Places {
		if p := &w.Places[i]; (p.Name == e.Text || p.Revision == e.Text) && happensTo(e.Kind, p) {
			return p
		}
	}
	return nil
}

func (placed) podIdle(w *World, e Event) bool { return subjectOf(w, e) == nil }

func (placed) podEvent(w *World, e Event) bool {
	p := subjectOf(w, e)
	if p == nil || e.Kind == PodHeals && same(p.Revision, w.Sick) {
		return false
	}
	p.Version = w.next()
	switch e.Kind {
	case PodReady, PodHeals:
		switch {
		case same(p.Revision, w.Sick):
			p.Stage = Failing
		case w.MinReady:
			p.Stage = Warming
		default:
			p.Stage = Available
		}
	case PodAvailable:
		p.Stage = Available
	case PodFails:
		p.Stage = Failing
	case PodEnds:
		p.Stage = Ended
	case PodGone:
		gone := p.UID
		w.Places = slices.DeleteFunc(w.Places, func(p Place) bool { return p.UID == gone })
	default:
		w.deletePlace(p.UID)
	}
	return true
}

// freeze lets the cache of all pods lag behind.
func (placed) freeze(w *World, _ string) bool { return freeze(&w.Lag.Places, slices.Clone(w.Places)) }

func (placed) show(w *World, text *strings.Builder) {
	d := &w.Workload
	fmt.Fprintf(text, " %s", strategyText(&d.Spec))
	for i := range w.Places {
		fmt.Fprintf(text, " %s=%s", strings.TrimPrefix(w.Places[i].Name, Name+"-"), &w.Places[i])
	}
}

func (placed) size(d *Workload, _ []Place) int32 { return d.Replicas }

func one(is bool) int32 {
	if is {
		return 1
	}
	return 0
}
