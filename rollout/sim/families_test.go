package sim

import "github.com/sluice-dev/sluice/api/v1alpha1"

// caches are the objects whose readings may stay behind, and a restart that makes the lag
// something the process can't know of.
func caches(objects ...Object) []Event {
	events := []Event{{Kind: Restart}}
	for _, object := range objects {
		events = append(events, Event{Kind: Freeze, Text: string(object)})
	}
	return events
}

func scales(replicas ...int32) []Event {
	var events []Event
	for _, n := range replicas {
		events = append(events, Event{Kind: Scale, N: n})
	}
	return events
}

// family is what else happens, each at any moment, and how it begins: with a release from v1 to
// v2 unless it says otherwise.
type family struct {
	Exploration

	begin func(Setup) *State
}

func families() map[string]family {
	all := map[string]family{
		"just created": {
			begin:       newborn,
			Exploration: Exploration{Offers: append(late(2), scales(2, 4)...), Budget: map[Kind]uint8{SyncWorkloadLate: 2}},
		},
		"not as in Git": {
			begin: func(s Setup) *State { s.FromGit = true; return releasing(s) },
			Exploration: Exploration{
				Offers: append(caches(ReleaseObject, WorkloadObject, GateObjects), Event{Kind: PassDies}, Event{Kind: Rollback, Text: "true"},
					Event{Kind: Give, Text: "v3"}, Event{Kind: Suspend}, Event{Kind: Jump, N: 1}, Event{Kind: LoseStatus}),
			},
		},
		"not as in Git, rejected": {
			begin:       func(s Setup) *State { s.FromGit = true; return releasing(s) },
			Exploration: Exploration{Offers: []Event{{Kind: Reject}, {Kind: PassDies}, {Kind: Give, Text: "v3"}, {Kind: Give, Text: "v1"}, {Kind: Scale, N: 2}}},
		},
		"sick, deadline": {
			begin: sick,
			Exploration: Exploration{
				Offers: []Event{{Kind: Elapse}, {Kind: Retry}, {Kind: Cure}, {Kind: Rollback, Text: "true"}},
				Budget: map[Kind]uint8{Elapse: 2},
			},
		},
		"sick, turned round": {
			begin: func(s Setup) *State { return sick(s.turning()) },
			Exploration: Exploration{
				Offers: append(caches("v2", ReleaseObject), Event{Kind: Elapse}, Event{Kind: Retry}, Event{Kind: Cure}, Event{Kind: PassDies}),
				Budget: map[Kind]uint8{Elapse: 2},
			},
		},
		"rejected, turned round": {
			begin: func(s Setup) *State {
				s.Steps = Steps("1 manual-", "50% none", "100% manual-")
				return releasing(s)
			},
			Exploration: Exploration{Offers: []Event{{Kind: Reject}, {Kind: PassDies}, {Kind: Freeze, Text: string(GateObjects)}, {Kind: Give, Text: "v3"}}},
		},
		"reverted after": {
			begin:       released,
			Exploration: Exploration{Offers: append(scales(2, 4), Event{Kind: Give, Text: "v1"}, Event{Kind: Rollback, Text: "true"}, Event{Kind: PassDies})},
		},
		"released again": {
			begin:       rolledBackAfter,
			Exploration: Exploration{Offers: []Event{{Kind: Give, Text: "v3"}, {Kind: Give, Text: "v2"}, {Kind: Touch}, {Kind: Restart}, {Kind: PassDies}}, Budget: map[Kind]uint8{Give: 2}},
		},
		"released again, stale": {
			begin:       rolledBackUnseen,
			Exploration: Exploration{Offers: []Event{{Kind: Give, Text: "v3"}, {Kind: Give, Text: "v2"}, {Kind: Rollback, Text: "v2"}, {Kind: Restart}}, Budget: map[Kind]uint8{Give: 2}},
		},
		"rolled back while another waits": {
			begin:       crowded,
			Exploration: Exploration{Offers: []Event{{Kind: Rollback, Text: "v1"}, {Kind: Give, Text: "v2"}, {Kind: Cure}, {Kind: PassDies}}},
		},
		"made anew, rolled back": {
			begin:       madeAnew,
			Exploration: Exploration{Offers: []Event{{Kind: Rollback, Text: "v3"}, {Kind: Rollback, Text: "v2"}, {Kind: Rollback, Text: "true"}, {Kind: Give, Text: "v4"}, {Kind: PassDies}}, Budget: map[Kind]uint8{Rollback: 2}},
		},
		"rollback after": {
			begin:       released,
			Exploration: Exploration{Offers: append(scales(2, 4), Event{Kind: Rollback, Text: "true"}, Event{Kind: PassDies})},
		},
		"drift": {
			begin: released,
			Exploration: Exploration{
				Offers: []Event{{Kind: Drift, Text: "v9"}, {Kind: Drift, Text: "v2"}, {Kind: Give, Text: "v3"}, {Kind: PassDies}},
				Budget: map[Kind]uint8{Drift: 2},
			},
		},
		"drift, reverted": {
			begin: reverting,
			Exploration: Exploration{
				Offers: []Event{{Kind: Drift, Text: "v9"}, {Kind: Drift, Text: "v1"}, {Kind: Give, Text: "v3"}, {Kind: PassDies}, {Kind: Rollback, Text: "true"}},
				Budget: map[Kind]uint8{Drift: 2},
			},
		},
		"drift, stale": {
			begin: released,
			Exploration: Exploration{Offers: append(caches(ReleaseObject, WorkloadObject),
				Event{Kind: Drift, Text: "v9"}, Event{Kind: Rollback, Text: "true"}, Event{Kind: Give, Text: "v3"})},
		},
		"written otherwise": {
			begin:       releasing,
			Exploration: Exploration{Offers: []Event{{Kind: Give, Text: "v2~"}, {Kind: Give, Text: "v1~"}, {Kind: EditTemplate, Text: "v2~"}, {Kind: PassDies}}, Budget: map[Kind]uint8{Give: 2}},
		},
		"written otherwise, after": {
			begin:       released,
			Exploration: Exploration{Offers: []Event{{Kind: Give, Text: "v2~"}, {Kind: Drift, Text: "v2~"}, {Kind: Give, Text: "v1~"}, {Kind: Rollback, Text: "true"}}, Budget: map[Kind]uint8{Give: 2}},
		},
		"ready, not available": {
			begin:       func(s Setup) *State { s.MinReady = true; return releasing(s) },
			Exploration: Exploration{Offers: []Event{{Kind: Give, Text: "v3"}, {Kind: Rollback, Text: "true"}, {Kind: PodFails, Text: "v1"}}},
		},
		"superseded, not available": {
			begin:       superseded,
			Exploration: Exploration{Offers: []Event{{Kind: Rollback, Text: "true"}, {Kind: PassDies}, {Kind: Scale, N: 2}}},
		},
		"one version at a time": {
			begin: func(s Setup) *State { s.Strategy, s.OneVersion = Recreate, true; return releasing(s) },
			Exploration: Exploration{
				Offers: append(scales(0, 2), Event{Kind: Cure}, Event{Kind: Give, Text: "v3"}, Event{Kind: Give, Text: "v2"}, Event{Kind: Rollback, Text: "true"}, Event{Kind: PassDies}),
				Budget: map[Kind]uint8{Give: 2},
			},
		},
		"pods take time to go": {
			begin:       func(s Setup) *State { s.Graceful, s.Strategy = true, Recreate; return releasing(s) },
			Exploration: Exploration{Offers: []Event{{Kind: DeleteRelease}, {Kind: Drift, Text: "v9"}, {Kind: Rollback, Text: "true"}}},
		},
		"pods that go are waited for": {
			begin: func(s Setup) *State {
				s.Graceful, s.PodReplacement = true, v1alpha1.ReplaceWhenTerminated
				return releasing(s)
			},
			Exploration: Exploration{Offers: append(scales(2, 4), Event{Kind: Rollback, Text: "true"}, Event{Kind: PassDies})},
		},
		"from zero": {
			begin:       scaledToZero,
			Exploration: Exploration{Offers: append(scales(2, 4), Event{Kind: PassDies})},
		},
	}
	all["queued"] = family{
		begin: queueing,
		Exploration: Exploration{
			Offers: []Event{{Kind: Give, Text: "v3"}, {Kind: Give, Text: "v4"}, {Kind: Give, Text: "v2"}, {Kind: PassDies}, {Kind: Reject}},
			Budget: map[Kind]uint8{Give: 3},
		},
	}
	all["queued, rolled back"] = family{
		begin: queueing,
		Exploration: Exploration{
			Offers: []Event{{Kind: Give, Text: "v3"}, {Kind: Give, Text: "v1"}, {Kind: Rollback, Text: "true"}, {Kind: Suspend}},
			Budget: map[Kind]uint8{Give: 2},
		},
	}
	all["queued, stale"] = family{
		begin:       queueing,
		Exploration: Exploration{Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: Give, Text: "v3"}, Event{Kind: EditTemplate, Text: "v9"})},
	}
	all["jumps, pods go back"] = family{
		begin: steppingBack,
		Exploration: Exploration{
			Offers: []Event{{Kind: Jump, N: 0}, {Kind: Jump, N: 1}, {Kind: PassDies}, {Kind: Scale, N: 4}, {Kind: Rollback, Text: "true"}},
			Budget: map[Kind]uint8{Jump: 2},
		},
	}
	all["going back, stale"] = family{
		begin: goingBack,
		Exploration: Exploration{
			Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2", GateObjects), append(late(1), Event{Kind: PodFails, Text: "v1"})...),
			Budget: map[Kind]uint8{Freeze: 2},
		},
	}
	all["it goes in a rollback"] = family{
		begin: func(s Setup) *State { return calmed(releasing(s), atStep(0)) },
		Exploration: Exploration{Offers: []Event{
			{Kind: Rollback, Text: "true"}, {Kind: DeleteRelease}, {Kind: PassDies}, {Kind: PassRaces}, {Kind: Give, Text: "v3"},
		}},
	}
	all["it goes, proceeding"] = family{
		begin: func(s Setup) *State {
			s.DeletionPolicy = v1alpha1.DeletionProceed
			return calmed(releasing(s), atStep(0))
		},
		Exploration: Exploration{Offers: []Event{
			{Kind: Rollback, Text: "true"}, {Kind: DeleteRelease}, {Kind: PassDies}, {Kind: StripHold}, {Kind: Restart},
		}},
	}
	all["writes refused, turned round"] = family{
		begin:       func(s Setup) *State { return releasing(s.turning()) },
		Exploration: Exploration{Offers: append(refusals(TakeOvers, NewSets, Growth), Event{Kind: Elapse}, Event{Kind: Cure}, Event{Kind: PassDies})},
	}
	all["steps invalid"] = family{
		begin:       invalidSteps(moreSteps),
		Exploration: Exploration{Offers: append(scales(0, 2, 4), Event{Kind: Repair}, Event{Kind: PassDies})},
	}
	all["the status is lost at the end"] = family{
		begin:       ending,
		Exploration: Exploration{Limit: atTheEnd, Offers: []Event{{Kind: LoseStatus}, {Kind: Rollback, Text: "true"}, {Kind: PassDies}, {Kind: Give, Text: "v1"}}},
	}
	all["the status is lost, reverted"] = family{
		begin:       midway,
		Exploration: Exploration{Limit: atTheEnd, Offers: []Event{{Kind: LoseStatus}, {Kind: Give, Text: "v1"}, {Kind: PassDies}, {Kind: Rollback, Text: "true"}}},
	}
	all["invalid, rolled back"] = family{
		begin:       invalidSteps(rollbackSteps),
		Exploration: Exploration{Offers: append(scales(2, 4), Event{Kind: Rollback, Text: "true"}, Event{Kind: Repair})},
	}
	all["invalid, out of band"] = family{
		begin:       invalidSteps(fewerSteps),
		Exploration: Exploration{Offers: []Event{{Kind: Unpause}, {Kind: StripHold}, {Kind: Scale, N: 4}, {Kind: EditTemplate, Text: "v9"}}},
	}
	all["invalid, dies, stale"] = family{
		begin: midway,
		Exploration: Exploration{
			Offers: append(caches(ReleaseObject, "v1", "v2"), Event{Kind: Spoil, N: moreSteps}, Event{Kind: PassDies}, Event{Kind: Scale, N: 2}),
		},
	}
	all["clock jumps"] = family{
		begin: func(s Setup) *State { return midway(s.turning()) },
		Exploration: Exploration{
			Offers: []Event{{Kind: Leap, N: 48}, {Kind: Leap, N: -48}, {Kind: Away}, {Kind: Restart}, {Kind: PassDies}, {Kind: PodFails, Text: "v2"}},
			Budget: map[Kind]uint8{Leap: 2},
		},
	}
	all["clock jumps, sick"] = family{
		begin: func(s Setup) *State { return sick(s.turning()) },
		Exploration: Exploration{
			Offers: []Event{{Kind: Leap, N: 48}, {Kind: Away}, {Kind: Elapse}, {Kind: Restart}, {Kind: Cure}, {Kind: Freeze, Text: "v2"}},
		},
	}
	for name, e := range explorations() {
		all[name] = family{Exploration: e, begin: releasing}
	}
	return all
}

// explorations are of a release from v1 to v2.
func explorations() map[string]Exploration {
	rollback := Event{Kind: Rollback, Text: "true"}
	return map[string]Exploration{
		"nothing else":   {Limit: whole},
		"stale caches":   {Offers: caches(ReleaseObject, WorkloadObject, "v1", "v2", NewSetObjects, GateObjects)},
		"scaling":        {Offers: scales(0, 1, 2, 3, 4)},
		"scaling, stale": {Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2"), scales(0, 2, 4)...)},
		"native lags":    {Offers: append(late(2), scales(0, 2, 4)...), Budget: map[Kind]uint8{SyncWorkloadLate: 2}},
		"native lags, stale": {
			Offers: append(late(1), Event{Kind: Freeze, Text: "v1"}, Event{Kind: Freeze, Text: "v2"}), Budget: map[Kind]uint8{SyncWorkloadLate: 3, Freeze: 2},
		},
		"out of band, lags": {Offers: append(late(2), Event{Kind: Unpause}, Event{Kind: EditTemplate, Text: "v9"}, Event{Kind: Give, Text: "v3"})},
		"the process dies":  {Limit: whole, Offers: []Event{{Kind: PassDies}}, Budget: map[Kind]uint8{PassDies: 2}},
		"dies, stale":       {Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2", NewSetObjects), Event{Kind: PassDies})},
		"writes race":       {Offers: append(scales(2, 4), Event{Kind: PassRaces}, Event{Kind: Touch})},
		"rollback":          {Offers: []Event{rollback, {Kind: PodFails, Text: "v2"}}},
		"rollback, stale":   {Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2"), rollback)},
		"another template":  {Offers: []Event{{Kind: Give, Text: "v3"}, {Kind: PassDies}}},
		"back to v1":        {Offers: append(scales(2, 4), Event{Kind: Give, Text: "v1"})},
		"pods fail, vanish": {
			Offers: []Event{{Kind: PodFails, Text: "v1"}, {Kind: PodFails, Text: "v2"}, {Kind: PodLost, Text: "v1"}, {Kind: PodLost, Text: "v2"}},
		},
		"no room":            {Offers: []Event{{Kind: Crowd}, rollback, {Kind: Give, Text: "v3"}, {Kind: PassDies}}},
		"drift at the start": {Offers: []Event{{Kind: Drift, Text: "v9"}, rollback, {Kind: PassDies}}},
		"writes refused": {
			Offers: append(refusals(TakeOvers, HandBacks, NewSets, Growth, Shrinkage, OpenedGates, Templates, Annotations), Event{Kind: Elapse}, Event{Kind: Cure}, rollback),
		},
		"writes rewritten": {
			Offers: append(refusals(Stamped, StampedLate, Resumed, Stripped), Event{Kind: Elapse}, Event{Kind: Cure}, Event{Kind: Unpause}, rollback),
		},
		"people meddle":      {Offers: []Event{{Kind: Unpause}, {Kind: EditTemplate, Text: "v9"}, {Kind: StripHold}, {Kind: Retry}}},
		"out of band, dies":  {Offers: []Event{{Kind: Unpause}, {Kind: StripHold}, {Kind: Retry}, rollback, {Kind: PassDies}}, Budget: map[Kind]uint8{Retry: 2}},
		"the status is lost": {Offers: []Event{{Kind: LoseStatus}, rollback, {Kind: PassDies}}},
		"the release goes":   {Offers: []Event{{Kind: DeleteRelease}, {Kind: PassDies}}},
		"it goes, stale":     {Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: DeleteRelease})},
		"the workload goes":  {Offers: []Event{{Kind: DeleteWorkload}, {Kind: CreateWorkload, Text: "v1"}, {Kind: CreateWorkload, Text: "v2"}}},
		"suspended": {
			Offers: []Event{{Kind: Suspend}, {Kind: Resume}, {Kind: Give, Text: "v3"}, {Kind: Scale, N: 4}, {Kind: PassDies}},
			Budget: map[Kind]uint8{Suspend: 2, Resume: 2},
		},
		"suspended, stale": {
			Offers: append(caches(ReleaseObject, WorkloadObject, "v1", "v2"), Event{Kind: Suspend}, Event{Kind: Give, Text: "v3"}),
		},
		"jumps": {
			Offers: []Event{{Kind: Jump, N: 0}, {Kind: Jump, N: 1}, {Kind: Jump, N: 2}, {Kind: PassDies}, {Kind: Scale, N: 4}},
			Budget: map[Kind]uint8{Jump: 2},
		},
		"jumps, stale": {
			Offers: append(caches(ReleaseObject, WorkloadObject, "v2", GateObjects), Event{Kind: Jump, N: 0}, Event{Kind: Jump, N: 2}),
			Budget: map[Kind]uint8{Jump: 2},
		},
		"jumps, turned round": {
			Offers: []Event{{Kind: Jump, N: 0}, {Kind: Jump, N: 2}, rollback, {Kind: Give, Text: "v3"}, {Kind: Suspend}}, Budget: map[Kind]uint8{Jump: 2},
		},
		"jumps, by Git": {
			Offers: []Event{{Kind: ReleaseTo, N: 1}, {Kind: ReleaseTo, N: 2}, {Kind: ReleaseTo, N: -1}, {Kind: Jump, N: 0}, {Kind: Jump, N: 2}, {Kind: PassDies}},
			Budget: map[Kind]uint8{ReleaseTo: 2},
		},
		"its step is edited": {
			Offers: append(scales(2, 4), Event{Kind: EditStep, N: 1}, Event{Kind: PassDies}, Event{Kind: Give, Text: "v3"}), Budget: map[Kind]uint8{EditStep: 2},
		},
		"suspended, rolled back": {Offers: []Event{{Kind: Suspend}, rollback, {Kind: Give, Text: "v1"}, {Kind: Give, Text: "v3"}}},
		"confirmed twice":        {Offers: []Event{{Kind: Confirm}, rollback}, Budget: map[Kind]uint8{Confirm: 4}},
	}
}

func refusals(all ...Writes) []Event {
	var events []Event
	for _, writes := range all {
		events = append(events, Event{Kind: Refuse, Text: string(writes)})
	}
	return events
}

// late are turns of the native controller with a spec of up to so many changes ago.
func late(changes int32) []Event {
	var events []Event
	for n := range changes {
		events = append(events, Event{Kind: SyncWorkloadLate, N: n + 1})
	}
	return events
}
