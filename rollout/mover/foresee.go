package mover

// Foresees says what a write leads to, so that it can be checked against the invariants of
// docs/develop/architecture.md by other arithmetic than that which has decided on it.
type Foresees interface {
	// Foresee returns what a write does to the pods as they were seen, and the workload as it is after
	// it. The updated pods are the ones of the version with this digest.
	Foresee(write Write, digest string) (Effect, Foresees)
}

// Effect holds the consequences of a write for pods.
type Effect struct {
	// Revision of the version whose pods it changes; empty if it changes several.
	Revision string
	// Grows says that it adds pods to it.
	Grows bool
	// Updated are the updated pods that are wanted, Most the pods of all versions that there may be
	// until it is as wanted, and Available those that are available if the worst ones go.
	Updated, Most, Available Change
}

// Change is a number before and after a write.
type Change struct{ Before, After int32 }
