package plan

import "github.com/sluice-dev/sluice/rollout/traffic"

// Next decides what a release does next. It never fails: what a user must fix is in the status.
func Next(o Observation) Plan {
	l := lookAt(o)
	return tell(l, watchPods(rememberTraffic(forgetAsker(decide(l)))))
}

// decide answers what people and Git request, and then continues the release from its present state.
func decide(l *look) Decision {
	switch s := found(l).(type) {
	case Leaving:
		return retryRefused(leave(l))
	case Absent, WorkloadHeld:
		d, _ := leaveTraffic(nothing(l), traffic.Leave)
		return d
	case Replaced:
		return nothing(l).read(ReadWorkload)
	case Unsecured:
		return retryRefused(putBack(nothing(l), s))
	}
	if d, ended := endReplaced(nothing(l)); ended {
		return d
	}
	d, ended := answer(nothing(l))
	switch {
	case ended && d.refused != nil && !d.idle():
		return failIfRefused(d)
	case ended:
		return d
	}
	return keepLeftAgain(proceed(d))
}

// answer answers what somebody requests. It reports whether there is nothing else to decide until that is done. While the steps
// can't be read it begins nothing but a rollback, which has steps of its own. A completed release needs no steps, and is watched on.
func answer(d Decision) (Decision, bool) {
	d, ended := answerRollback(d)
	if ended {
		return d, true
	}
	if d.unreadable != nil {
		return d, !d.completed() && (!d.underWay() || len(d.steps()) == 0)
	}
	for _, request := range []func(Decision) (Decision, bool){answerRetry, chooseTemplate, answerJump} {
		if d, ended = request(d); ended {
			return d, true
		}
	}
	return d, false
}

// proceed continues the release from its present state.
func proceed(d Decision) Decision {
	if d.idle() {
		return rest(d)
	}
	if d = turnTraffic(d); d.needs.Any() {
		return d
	}
	d = d.with(func(r *record) { r.Adopted = d.adopts() && d.mayAdopt() })
	switch s := underWay(d.look).(type) {
	case Arriving:
		return arrive(d, s.At)
	case Starting, Stopped, Failed:
		if !d.takenOver() {
			return hold(d, s)
		}
	case Entering, Rolling, Paused, Blocked, Shifting, Finishing:
	}
	return goOn(d)
}
