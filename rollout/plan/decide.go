package plan

import "github.com/sluice-dev/sluice/api/v1alpha1"

// Next decides what a release does next. It never fails: problems for a user to fix are in the
// status.
func Next(o Observation) Plan {
	s := snapshotOf(o)
	return render(s, watchPods(keepTrafficStatus(forgetAsker(decide(s)))))
}

// decide answers what users and Git request, and then continues the release from its present state.
func decide(s *snapshot) Decision {
	if isTrain(s) {
		return decideTrain(nothing(s))
	}
	if row := obstacles.find(s); row != nil && row.act != nil {
		return row.act(nothing(s))
	}
	if d, ended := endReplaced(nothing(s)); ended {
		return d
	}
	d, ended := followWorkload(nothing(s))
	if !ended {
		d, ended = answer(Decision{snap: s, wakes: d.wakes})
	}
	switch {
	case ended && d.refused != nil && !d.snap.record.idle():
		return failIfRefused(d)
	case ended:
		return d
	}
	return keepLeftAgain(proceed(d))
}

// requests are answered in this order. Each reports whether there is nothing else to decide until
// that is done.
var requests = []func(Decision) (Decision, bool){answerRetry, chooseTemplate, answerJump}

// answer answers what is requested. While the steps are invalid it begins nothing but a rollback,
// which has steps of its own. A completed release needs no steps. It reports whether there is
// nothing else to decide until that is done.
func answer(d Decision) (Decision, bool) {
	d, ended := answerRollback(d)
	if ended {
		return d, true
	}
	if d, ended = answerTrain(d); ended {
		return d, true
	}
	if s := d.snap; s.problem != nil {
		return d, !s.record.completed() && (!s.record.underWay() || len(s.steps().list()) == 0)
	}
	for _, request := range requests {
		if d, ended = request(d); ended {
			return d, true
		}
	}
	return d, false
}

// proceed continues the release from its present state.
func proceed(d Decision) Decision {
	if d.snap.record.idle() {
		return rest(d)
	}
	if d = rollBackTraffic(d); d.needs.Any() {
		return d
	}
	d = d.with(func(r *record) { r.Adopted = adopts(d.snap) && canAdopt(d.snap) })
	for _, g := range []*group{&arriving, &startingGroup} {
		if g.when(d.snap) {
			return g.carryOn(d, g.find(d.snap))
		}
	}
	return goOn(d)
}

// endReplaced marks the version that a rollback leaves in the history, if the workload was created
// again meanwhile: the status will be about the new workload. It reports whether the pass ends with
// that.
func endReplaced(d Decision) (Decision, bool) {
	before := d.with(func(r *record) { *r = recordOf(d.snap.release) })
	to := before.snap.record.RolledBackTo()
	switch {
	case !anotherWorkload(before.snap) || !before.snap.record.rollingBack() || len(revisionsToMarkBad(before.snap, to)) == 0:
		return d, false
	case !d.snap.live(ReadKept):
		return before.read(ReadKept), true
	}
	before, _ = markRolledBack(before, to)
	return before, true
}

// goesAway reports whether the release is being deleted.
func goesAway(s *snapshot) bool { return s.release.DeletionTimestamp != nil }

// anotherWorkload reports whether the workload is not the one that the record is about.
func anotherWorkload(s *snapshot) bool {
	return s.workload != nil && s.record.WorkloadUID != "" && s.record.WorkloadUID != s.workload.UID
}

// pastGit reports whether spec.template differs from Git's, by the digest that gitsync recorded
// beside it. A template that a person wrote there is not released: it would have the name of a
// commit that does not contain it, and the approvals of that commit. The source restores it; until
// then it counts as if no template were given, and the release stops.
func pastGit(o *Observation) bool {
	fromGit := o.Release.Annotations[v1alpha1.GitTemplateAnnotation]
	return fromGit != "" && o.Given != fromGit
}
