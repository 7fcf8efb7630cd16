package v1alpha1

// stateTraits is a set of properties of a state, by which readers outside the planner tell states
// apart.
type stateTraits uint8

const (
	// atRest: nothing is in progress, and nothing waits.
	atRest stateTraits = 1 << iota
	// onHold: the release continues when a user lets it.
	onHold
	// waits: the release continues by itself, after an approval, a time or the end of other pods.
	waits
	// atGates: the step waits for its gates.
	atGates
	// differs: the workload, or spec.template, differs from what was released from Git.
	differs
	// wentWrong: a gate was rejected, or no progress was made.
	wentWrong
)

// states has a row for each state.
var states = map[ReleaseState]stateTraits{
	StateWorkloadNotFound: 0,
	StateWorkloadHeld:     0,
	StateIdle:             atRest,
	StateQuarantined:      0,
	StateCompleted:        atRest,
	StateDrifted:          differs,
	StateWaiting:          waits,
	StateChangedPastGit:   onHold | differs,
	StateNativeRollout:    0,
	StateStarting:         0,
	StateWillNotFit:       waits,
	StateRolling:          0,
	StatePausePoint:       waits,
	StateBlocked:          waits | atGates,
	StateApprovalRefused:  waits | atGates,
	StateRejected:         wentWrong,
	StateStopped:          onHold,
	StateFailed:           wentWrong,
	StateShifting:         0,
	StateFinishing:        0,
	StateWaitingForTrain:  waits,
}

// AtRest reports whether nothing is in progress and nothing waits. A release without a state, which
// the controller has not observed, is at rest.
func (s ReleaseState) AtRest() bool { return s == "" || s.has(atRest) }

// OnHold reports whether the release continues only when a user lets it.
func (s ReleaseState) OnHold() bool { return s.has(onHold) }

// Waits reports whether the release waits for an approval, a time, room or the native controller.
func (s ReleaseState) Waits() bool { return s.has(waits) }

// AtGates reports whether the step waits for its gates.
func (s ReleaseState) AtGates() bool { return s.has(atGates) }

// Differs reports whether the workload or spec.template differs from what Git released.
func (s ReleaseState) Differs() bool { return s.has(differs) }

// WentWrong reports whether a gate was rejected, or no progress was made within the deadline.
func (s ReleaseState) WentWrong() bool { return s.has(wentWrong) }

func (s ReleaseState) has(trait stateTraits) bool { return states[s]&trait != 0 }
