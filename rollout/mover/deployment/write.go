package deployment

import (
	"fmt"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/order"
)

// Write moves pods of a Deployment. The set of writes is closed and complete in this file.
//
//sumtype:decl
type Write interface {
	mover.Write

	isWrite()
}

// Create creates the ReplicaSet of the Deployment's template.
type Create struct {
	Revision string
	Replicas int32
	Why      mover.Why
}

// Scale changes the replicas of a ReplicaSet. The note of the native controller is taken off it.
type Scale struct {
	Set      Set
	From, To int32
	Why      mover.Why
	// Updated says that it is the new ReplicaSet.
	Updated bool
}

// OrderPods writes deletion costs to pods, or takes them away.
type OrderPods struct {
	Changes []order.Change
	Why     mover.Why
}

func (Create) isWrite()    {}
func (Scale) isWrite()     {}
func (OrderPods) isWrite() {}

// Reason implements mover.Write.
func (w Create) Reason() mover.Why { return w.Why }

// Reason implements mover.Write.
func (w Scale) Reason() mover.Why { return w.Why }

// Reason implements mover.Write.
func (w OrderPods) Reason() mover.Why { return w.Why }

// Updates implements mover.Write.
func (w Create) Updates() bool { return w.Why == mover.Forward }

// Updates implements mover.Write.
func (w Scale) Updates() bool { return w.Updated }

// Updates implements mover.Write.
func (OrderPods) Updates() bool { return false }

// Name implements mover.Write.
func (w Create) Name() mover.Name {
	return mover.Name{Key: "CreateReplicaSet/" + w.Revision, Words: "create the ReplicaSet of revision " + w.Revision}
}

// Name implements mover.Write.
func (w Scale) Name() mover.Name {
	if w.To < w.From {
		return mover.Name{Key: "TakePods/" + w.Set.Name, Words: "take pods from ReplicaSet " + w.Set.Name}
	}
	return mover.Name{Key: "AddPods/" + w.Set.Name, Words: "add pods to ReplicaSet " + w.Set.Name}
}

// Name implements mover.Write.
func (OrderPods) Name() mover.Name {
	return mover.Name{Key: "OrderPods", Words: "write the deletion cost of pods"}
}

func (w Create) String() string { return fmt.Sprintf("create %s with %d", w.Revision, w.Replicas) }

func (w Scale) String() string {
	return fmt.Sprintf("scale %s %d -> %d", w.Set.Revision, w.From, w.To)
}

func (w OrderPods) String() string {
	if len(w.Changes) == 1 {
		return "write the deletion cost of 1 pod"
	}
	return fmt.Sprintf("write the deletion cost of %d pods", len(w.Changes))
}
