package inplace

import (
	"fmt"
	"math"
	"strings"

	"github.com/sluice-dev/sluice/rollout/mover"
)

// Held is the partition of a StatefulSet that is held: no ordinal reaches it, however far the
// StatefulSet is scaled.
const Held = math.MaxInt32

// Anywhere stands for the partition of a StatefulSet with the update strategy OnDelete: a pod comes
// back in the new version wherever it is, and the native controller itself deletes none.
const Anywhere = -1

// Write moves pods with places. The set of writes is closed and complete in this file.
//
//sumtype:decl
type Write interface {
	mover.Write

	isWrite()
}

// Replace deletes pods, the first first. The native controller makes each of them again.
type Replace struct {
	Pods []Pod
	Why  mover.Why
	// Updated says that the pods are updated ones, which go back.
	Updated bool
}

// Window sets the partition of a StatefulSet: pods from it on come back in the new version. Held
// closes it, and Anywhere sets the strategy OnDelete instead.
type Window struct {
	Partition int32
	// Unavailable is how many pods the native controller may replace at once, where it can do more than
	// one; 0 for its default.
	Unavailable int32
	Why         mover.Why
}

func (Replace) isWrite() {}
func (Window) isWrite()  {}

// Reason implements mover.Write.
func (w Replace) Reason() mover.Why { return w.Why }

// Reason implements mover.Write.
func (w Window) Reason() mover.Why { return w.Why }

// Updates implements mover.Write.
func (w Replace) Updates() bool { return w.Updated }

// Updates implements mover.Write.
func (Window) Updates() bool { return false }

// Name implements mover.Write.
func (Replace) Name() mover.Name { return mover.Name{Key: "DeletePods", Words: "delete pods"} }

// Name implements mover.Write.
func (w Window) Name() mover.Name {
	if w.Partition == Anywhere {
		return mover.Name{Key: "SetUpdateStrategy", Words: "set the update strategy"}
	}
	return mover.Name{Key: "SetPartition", Words: "set the partition"}
}

// maxNamed is how many pods a text names.
const maxNamed = 3

func (w Replace) String() string {
	var names []string
	for i := range w.Pods[:min(len(w.Pods), maxNamed)] {
		names = append(names, w.Pods[i].Name)
	}
	text := "replace " + strings.Join(names, ", ")
	if more := len(w.Pods) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

func (w Window) String() string {
	switch w.Partition {
	case Held:
		return "close the partition"
	case Anywhere:
		return "set the update strategy OnDelete"
	default:
		return fmt.Sprintf("open the partition to %d", w.Partition)
	}
}
