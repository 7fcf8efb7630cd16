package traffic

import (
	"cmp"
	"fmt"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// Write changes a route or a Service. The set of writes is closed and complete in this file.
//
//sumtype:decl
type Write interface {
	write()
	// String is what is done.
	fmt.Stringer
	// Key tells what is written from other writes. Writes of one key are refused for the same reason:
	// it has no weights.
	Key() string
	// Words describes the write to users, to follow "to".
	Words() string
}

type (
	// PointSide makes the Services of a side, or has them select another revision.
	PointSide struct {
		Name     SideName
		Revision string
	}
	// DropSides deletes the Services of both sides.
	DropSides struct{}
	// ShareRoute has a route refer to the sides, with these weights and matches.
	ShareRoute struct {
		Route v1alpha1.TrafficRoute
		Share Share
	}
	// RestoreRoute gives a route back what it had.
	RestoreRoute struct{ Route v1alpha1.TrafficRoute }
)

// SideName names a side. It ends the names of its Services.
type SideName string

// The sides.
const (
	StableSide SideName = "stable"
	CanarySide SideName = "canary"
)

func (PointSide) write()    {}
func (DropSides) write()    {}
func (ShareRoute) write()   {}
func (RestoreRoute) write() {}

func (w PointSide) String() string {
	return fmt.Sprintf("have the %s Services select revision %s", w.Name, w.Revision)
}
func (DropSides) String() string { return "delete the stable and canary Services" }
func (w ShareRoute) String() string {
	text := fmt.Sprintf("share %s: %d%% to the canary Service", Words(w.Route), w.Share.Weight)
	switch n := len(w.Share.Matches); n {
	case 0:
	case 1:
		text += ", and requests that match"
	default:
		text += fmt.Sprintf(", and requests of %d matches", n)
	}
	return text
}
func (w RestoreRoute) String() string { return "restore " + Words(w.Route) }

// Key returns the side.
func (w PointSide) Key() string { return "traffic/services/" + string(w.Name) }

// Key names the deletion.
func (DropSides) Key() string { return "traffic/services" }

// Key returns the route.
func (w ShareRoute) Key() string { return "traffic/" + key(w.Route) }

// Key returns the route.
func (w RestoreRoute) Key() string { return "traffic/" + key(w.Route) }

// Words describes the write of a Service.
func (w PointSide) Words() string { return "write the " + string(w.Name) + " Service" }

// Words describes the deletion of the Services.
func (DropSides) Words() string { return "delete the stable and canary Services" }

// Words describes the write of a route.
func (w ShareRoute) Words() string { return "write " + Words(w.Route) }

// Words describes the restoring of a route.
func (w RestoreRoute) Words() string { return "restore " + Words(w.Route) }

// Words returns the name of a route for users.
func Words(r v1alpha1.TrafficRoute) string {
	if r.Namespace == "" {
		return fmt.Sprintf("%s %s", r.Kind, r.Name)
	}
	return fmt.Sprintf("%s %s/%s", r.Kind, r.Namespace, r.Name)
}

// WordsIn returns the name of a route for users who may have routes of that name in several
// namespaces; the release is in the namespace.
func WordsIn(namespace string, r v1alpha1.TrafficRoute) string {
	r.Namespace = cmp.Or(r.Namespace, namespace)
	return Words(r)
}

func key(r v1alpha1.TrafficRoute) string {
	return fmt.Sprintf("%s/%s/%s/%s", r.Kind, r.Namespace, r.Name, r.Service)
}
