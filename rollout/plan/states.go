package plan

import (
	"slices"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// state is one row of the tables below: when a release is in it, what is done then, and how people
// read it. The first row of a group that holds is the state; the last of each group always holds,
// except among the obstacles.
type state struct {
	// when reports whether the release is in the state, if it is in no state above it.
	when func(*snapshot) bool
	// act decides what is done; nil where all states of the group do the same (proceed).
	act func(Decision) Decision
	// value is the state in the API.
	value v1alpha1.ReleaseState
	// reason and message describe the state in the status.
	reason, message func(*report) string
	// event says when the state becomes an event.
	event notice
	// stall names what a user must change.
	stall stalls
	// traits are other properties of the state.
	traits traits
}

// stalls says that a user must change something. The zero value is nothing.
type stalls struct {
	cause v1alpha1.StallCause
	// message is the status message if nil.
	message func(*report) string
	// told marks a stall that the event of the state tells already.
	told bool
	// With yields a refused write is the cause if there is one; with last, any other cause is.
	yields, last bool
}

// traits is a set of properties of a state.
type traits uint8

const (
	// hidden is a state that is acted on, and not reported: the one below it is.
	hidden traits = 1 << iota
	// gone means that there is no workload.
	gone
	// calm means that nothing can stall.
	calm
	// showsPods means that trouble of updated pods is reported.
	showsPods
	// stops means that the event is the one of what stops the release.
	stops
	// ready means that all pods run what was released last.
	ready
	// beginsNext means that another template is about to be released.
	beginsNext
	// tellsPreflight means that the message has what preflight found.
	tellsPreflight
)

func (t traits) has(all traits) bool { return t&all == all }

// group is a list of states of which the first that holds counts.
type group struct {
	when func(*snapshot) bool
	// before must be done before a state is acted on. It reports whether it is.
	before func(Decision) (Decision, bool)
	rows   []*state
}

// groups are all states, in the order in which they count.
var groups = []*group{&trains, &obstacles, &preparing, &resting, &arriving, &startingGroup, &rollingGroup}

// obstacles are the states in which the workload is missing, or not the release's to move: no
// request is answered.
var obstacles = group{when: always, rows: []*state{
	{when: goesAway, traits: hidden, act: func(d Decision) Decision { return retryRefused(leave(d.snap)) }},
	{
		when: func(s *snapshot) bool { return absent(s) && goesAway(s) }, value: v1alpha1.StateWorkloadNotFound,
		reason: just(v1alpha1.ReasonWorkloadNotFound), message: absentWords("the release is being deleted"), event: notice{onEntry, true}, traits: gone,
	},
	{
		when: absent, act: leaveRoutes, value: v1alpha1.StateWorkloadNotFound,
		reason: just(v1alpha1.ReasonWorkloadNotFound), message: absentWords("the release starts when it does"), event: notice{onEntry, true}, traits: gone | calm,
	},
	{when: anotherWorkload, traits: hidden, act: func(d Decision) Decision { return d.read(ReadWorkload) }},
	{
		when: heldByAnother, act: leaveRoutes, value: v1alpha1.StateWorkloadHeld,
		reason: just(v1alpha1.ReasonWorkloadHeld), message: heldWords, stall: stalls{cause: v1alpha1.StallWorkloadHeld},
	},
	{when: unsecured, traits: hidden, act: secureAgain},
}}

// preparing are the states in which a new template waits for something on the held workload.
var preparing = group{when: awaitsWorkload, rows: []*state{
	{
		when: preparedLate, value: v1alpha1.StateWaiting, reason: preparingReason, message: preparingWords,
		stall: stalls{cause: v1alpha1.StallDeadlineExceeded, yields: true}, traits: beginsNext,
	},
	{when: always, value: v1alpha1.StateWaiting, reason: preparingReason, message: preparingWords, traits: beginsNext},
}}

// resting are the states in which no release is in progress.
var resting = group{when: func(s *snapshot) bool { return s.record.idle() }, rows: []*state{
	{
		when: func(s *snapshot) bool {
			return s.record.Queued != nil && stopCauses(s).any() && s.record.completed() && !drifts(s)
		}, value: v1alpha1.StateWaiting,
		reason: stopReason, message: waitingWords, traits: stops | ready,
	},
	{
		when: func(s *snapshot) bool { return s.record.Queued != nil && stopCauses(s).any() }, value: v1alpha1.StateWaiting,
		reason: stopReason, message: waitingWords, traits: stops,
	},
	{
		when: func(s *snapshot) bool { return queuedByTrain(s) && s.record.completed() && !drifts(s) }, value: v1alpha1.StateWaiting,
		reason: just(v1alpha1.ReasonWaitingForTrain), message: queuedByTrainWords, traits: ready,
	},
	{
		when: queuedByTrain, value: v1alpha1.StateWaiting,
		reason: just(v1alpha1.ReasonWaitingForTrain), message: queuedByTrainWords,
	},
	{when: drifts, value: v1alpha1.StateDrifted, reason: just(v1alpha1.ReasonDrifted), message: driftedWords, event: notice{onChange, true}},
	{
		when: func(s *snapshot) bool { return s.pastGit }, value: v1alpha1.StateChangedPastGit,
		reason: just(v1alpha1.ReasonChangedPastGit), message: just(pastGitWords), event: notice{onEntry, true},
	},
	{
		when: func(s *snapshot) bool { return s.record.completed() && s.record.isRollback() }, value: v1alpha1.StateCompleted, reason: just(v1alpha1.ReasonRolledBack),
		message: runsAgainWords, event: notice{onEntry, false}, traits: ready,
	},
	{
		when: func(s *snapshot) bool { return s.record.completed() }, value: v1alpha1.StateCompleted, reason: just(v1alpha1.ReasonCompleted),
		message: func(r *report) string { return "all pods run revision " + r.s.record.UpdateRevision }, event: notice{onEntry, false}, traits: ready,
	},
	{
		when: mayNotFollow, value: v1alpha1.StateIdle, reason: just(v1alpha1.ReasonWorkloadShared),
		message: func(r *report) string { return sharedWords(r.s, followsIt) }, stall: stalls{cause: v1alpha1.StallWorkloadShared, yields: true},
	},
	{
		when: func(s *snapshot) bool { return s.given == "" && !follows(s) }, value: v1alpha1.StateIdle,
		reason: just(v1alpha1.ReasonNoTemplate), message: just(noTemplateText), stall: stalls{cause: v1alpha1.StallNoTemplate, yields: true},
	},
	{
		when: isQuarantined, value: v1alpha1.StateQuarantined,
		reason: just(v1alpha1.ReasonRolledBack), message: just(quarantineText), event: notice{onEntry, false},
	},
	{
		when: func(s *snapshot) bool { return refusedTemplate(s) != nil }, value: v1alpha1.StateIdle, reason: just(v1alpha1.ReasonInvalidTemplate),
		message: func(r *report) string { return refusedTemplate(r.s).words() }, stall: stalls{cause: v1alpha1.StallInvalidTemplate, yields: true},
	},
	{when: always, value: v1alpha1.StateIdle, reason: just(""), message: just("")}, // the API server has not defaulted the template yet
}}

// arriving are the states of a workload that runs the template under its native controller.
var arriving = group{when: runsUnderNative, rows: []*state{
	{
		when: func(s *snapshot) bool { return s.pods.Unseen }, act: leaveRoutes, value: v1alpha1.StateStarting,
		reason: just(v1alpha1.ReasonTakingOver), message: just(unseenWords),
	},
	{
		when: nativeRollout, act: followNativeRollout, value: v1alpha1.StateNativeRollout,
		reason: just(v1alpha1.ReasonNativeRollout), message: nativeRolloutWords,
	},
	{
		when: func(s *snapshot) bool { return s.record.Held != nil }, act: arrive, value: v1alpha1.StateFinishing,
		reason: just(v1alpha1.ReasonHandingBack), message: just(handBackWords),
	},
	{when: always, act: arrive, value: v1alpha1.StateStarting, reason: beginReason, message: beginWords},
}}

// startingGroup are the states of a workload that is to be taken over, or to get another template.
var startingGroup = group{when: func(s *snapshot) bool { return !takenOver(s) }, before: refillFirst, rows: []*state{
	{when: stoppedAtStart, act: followHeld, value: v1alpha1.StateStopped, reason: stopReason, message: stoppedWords("the workload is not taken over"), traits: stops | showsPods},
	{
		when: func(s *snapshot) bool { return fresh(s) && s.record.failed() }, act: rollBackIfFailed, value: v1alpha1.StateFailed,
		reason: just(v1alpha1.ReasonDeadlineExceeded), message: failedWords, event: notice{onEntry, true}, stall: stalls{cause: v1alpha1.StallDeadlineExceeded, told: true},
	},
	{when: nativeBehind, act: idle, value: v1alpha1.StateStarting, reason: just(v1alpha1.ReasonTakingOver), message: just(unseenWords)},
	{
		when: func(s *snapshot) bool { return fresh(s) && mixesVersions(s) }, act: idle, value: v1alpha1.StateStarting, reason: just(v1alpha1.ReasonWouldMixVersions),
		message: func(r *report) string { return notTakenOver + mixingWords(r) }, stall: stalls{cause: v1alpha1.StallWouldMixVersions, message: mixingWords},
	},
	{
		when: func(s *snapshot) bool {
			return fresh(s) && notAsInGit(s) && rejectedOf([]waitingGate{s.gates().notAsInGit()}) != nil
		}, act: askFirst, value: v1alpha1.StateRejected,
		reason: just(v1alpha1.ReasonNotAsInGit), message: notAsInGitRejectedWords, event: notice{onEntry, true},
	},
	{
		when: func(s *snapshot) bool { return fresh(s) && notAsInGit(s) && s.gates().notAsInGit().refused() }, act: askFirst, value: v1alpha1.StateApprovalRefused,
		reason: just(v1alpha1.ReasonNotAsInGit), message: notAsInGitWords, event: notice{onEntry, true},
	},
	{
		when: func(s *snapshot) bool { return fresh(s) && notAsInGit(s) }, act: askFirst, value: v1alpha1.StateBlocked,
		reason: just(v1alpha1.ReasonNotAsInGit), message: notAsInGitWords, event: notice{onEntry, true},
	},
	{
		when: func(s *snapshot) bool { return fresh(s) && wontFit(s) }, act: checkRoomLater, value: v1alpha1.StateWillNotFit, reason: just(v1alpha1.ReasonWillNotFit),
		message: func(r *report) string { return notTakenOver + joined(r.s.obs.Preflight.WillNotFit) }, event: notice{onChange, true}, traits: tellsPreflight,
	},
	{
		when: func(s *snapshot) bool { return fresh(s) && trafficProblem(s) != nil }, act: showTraffic, value: v1alpha1.StateStarting, reason: just(v1alpha1.ReasonTrafficBlocked),
		message: func(r *report) string { return notTakenOver + trafficProblem(r.s).Words() }, event: notice{onChangeOfProblem, true},
	},
	{when: func(s *snapshot) bool { return s.record.failed() }, act: start, value: v1alpha1.StateFailed, reason: just(v1alpha1.ReasonDeadlineExceeded), message: failedWords},
	{when: func(s *snapshot) bool { return s.record.entered() }, act: start, value: v1alpha1.StateRolling, reason: upgradeReason, message: rollingWords},
	{when: always, act: start, value: v1alpha1.StateStarting, reason: beginReason, message: beginWords},
}}

// rollingGroup are the states of a release that holds its workload.
var rollingGroup = group{when: always, rows: []*state{
	{
		when: func(s *snapshot) bool { return s.record.failed() }, value: v1alpha1.StateFailed, reason: just(v1alpha1.ReasonDeadlineExceeded),
		message: failedWords, event: notice{onEntry, true}, stall: stalls{cause: v1alpha1.StallDeadlineExceeded, told: true},
	},
	{
		when: func(s *snapshot) bool { return stopsProgress(s).any() && !s.record.entered() }, value: v1alpha1.StateStopped,
		reason: stopReason, message: stoppedWords("the release has not begun"), traits: stops | showsPods,
	},
	{
		when: func(s *snapshot) bool { return stopsProgress(s).any() }, value: v1alpha1.StateStopped,
		reason: stopReason, message: stoppedInBatchWords, traits: stops | showsPods,
	},
	{when: func(s *snapshot) bool { return !s.record.entered() }, value: v1alpha1.StateStarting, reason: beginReason, message: beginWords},
	{
		when: func(s *snapshot) bool { return s.record.Phase == v1alpha1.PhaseFinalizing }, value: v1alpha1.StateFinishing,
		reason: just(v1alpha1.ReasonHandingBack), message: just(handBackWords),
	},
	{
		when: func(s *snapshot) bool { return s.record.paused() }, value: v1alpha1.StatePausePoint, reason: just(v1alpha1.ReasonPausePoint),
		message: func(r *report) string { return pauseWords(r.s, r.s.record.PausePoint) }, traits: showsPods,
	},
	{
		when: heldByTrain, value: v1alpha1.StateWaitingForTrain, reason: just(v1alpha1.ReasonWaitingForTrain),
		message: func(r *report) string { return "batch " + r.status.Batch + " is done, " + trainWaitWords(r.s) }, traits: showsPods,
	},
	{
		when: heldInLockstep, value: v1alpha1.StateWaitingForTrain, reason: just(v1alpha1.ReasonWaitingForTrain),
		message: lockstepWords, traits: showsPods,
	},
	{
		when: func(s *snapshot) bool { return rejectedOf(openGatesOf(s)) != nil }, value: v1alpha1.StateRejected, reason: just(v1alpha1.ReasonGateRejected),
		message: rejectedWords, event: notice{onEntry, true}, stall: stalls{cause: v1alpha1.StallGateRejected, told: true, last: true}, traits: showsPods,
	},
	{
		when: func(s *snapshot) bool { return refusedOf(openGatesOf(s)) }, value: v1alpha1.StateApprovalRefused,
		reason: just(v1alpha1.ReasonApprovalRefused), message: blockedWords, event: notice{onEntry, true}, traits: showsPods,
	},
	{
		when: func(s *snapshot) bool { return len(openGatesOf(s)) > 0 }, value: v1alpha1.StateBlocked,
		reason: just(v1alpha1.ReasonBlocking), message: blockedWords, event: notice{onEntry, false}, traits: showsPods,
	},
	{when: shifting, value: v1alpha1.StateShifting, reason: just(v1alpha1.ReasonShiftingTraffic), message: shiftingWords, traits: showsPods},
	{when: always, value: v1alpha1.StateRolling, reason: upgradeReason, message: rollingWords, traits: showsPods},
}}

// find returns the first state of the group that holds; nil if none does.
func (g *group) find(s *snapshot) *state {
	i := slices.IndexFunc(g.rows, func(row *state) bool { return row.when(s) })
	if i < 0 {
		return nil
	}
	return g.rows[i]
}

// carryOn does what is done in a state.
func (g *group) carryOn(d Decision, row *state) Decision {
	if g.before != nil {
		var done bool
		if d, done = g.before(d); !done {
			return d
		}
	}
	return row.act(d)
}

// stateOf returns the state of a release to report.
func stateOf(s *snapshot) *state {
	for _, g := range groups {
		if !g.when(s) {
			continue
		}
		for _, row := range g.rows {
			if !row.traits.has(hidden) && row.when(s) {
				return row
			}
		}
	}
	return rollingGroup.rows[len(rollingGroup.rows)-1]
}

func always(*snapshot) bool { return true }

func idle(d Decision) Decision { return d }

// just returns a column of the table that is the same in each release.
func just(text string) func(*report) string { return func(*report) string { return text } }

// leaveRoutes gives the routes back.
func leaveRoutes(d Decision) Decision {
	d, _ = leaveTraffic(d, traffic.Leave)
	return d
}

// absent reports whether there is no workload.
func absent(s *snapshot) bool { return s.workload == nil || s.workload.Deleting }

// heldByAnother reports whether another release holds the workload.
func heldByAnother(s *snapshot) bool {
	return !goesAway(s) && !absent(s) && !anotherWorkload(s) && s.workload.Hold != nil && !s.hold().held()
}

// unsecured reports whether the native controller may roll a workload that is held.
func unsecured(s *snapshot) bool {
	return s.hold().held() && !s.workload.secured() && !s.record.completed()
}

// fresh reports whether the workload was never taken over for the attempt.
func fresh(s *snapshot) bool { return !s.hold().held() && s.record.Held == nil }

// stoppedAtStart reports whether a stop keeps the workload from being taken over.
func stoppedAtStart(s *snapshot) bool {
	return stopsProgress(s).any() && !s.record.rollingBack() && !s.record.entered() && (s.record.Held == nil || s.hold().held())
}

// nativeBehind reports whether the native controller has not seen the workload as it is.
func nativeBehind(s *snapshot) bool {
	held := s.hold().held()
	return !held && s.workload.Behind > 0 || held && s.record.Phase == v1alpha1.PhaseInitial && s.workload.native().Stale
}

// openGatesOf returns the gates of the step that were opened and have not passed.
func openGatesOf(s *snapshot) []waitingGate {
	if len(s.record.Gates) == 0 {
		return nil
	}
	return s.gates().waiting()
}
