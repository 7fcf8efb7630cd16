package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/mover/deployment"
)

const (
	beside    = ": a pod of the stable version, so that the new version is never alone"
	emptiesIt = ": otherwise the native controller takes it for complete, and empties the others"
)

// TestNoUnapprovedVersionStandsAlone has a rollback to v1 that had just begun when another template
// is given.
func TestNoUnapprovedVersionStandsAlone(t *testing.T) {
	t.Parallel()
	noted := func(s *Set) { s.Noted = true }
	begun := func(given string, sets ...Set) *scene {
		s := rollingBack(10).sets(sets...).resolved(given).status(func(status *v1alpha1.BatchReleaseStatus) {
			notEntered(status)
			status.Rollback = &v1alpha1.RollbackRecord{From: "v2"}
			status.Quarantined, status.Resolved.Given = nil, "given-v1"
		})
		return s
	}
	// v2 was released in full, and then v3 was given.
	superseding := func(sets ...Set) *scene {
		return held(10).at(2, 10).sets(sets...).resolved("v3")
	}
	released := []string{"take over with the template of the release: release v3 instead"}
	checkScripts(t, map[string]scripted{
		"what is rolled back is alone: the stable version gets a pod before another release begins": {
			begun("v3", set("v1", 0), set("v2", 10)), []string{"scale v1 0 -> 1" + beside},
		},
		"its ReplicaSet is made anew": {
			begun("v3", set("v2", 10)), []string{"create v1 with 1" + beside},
		},
		"what is rolled back is given again": {
			begun("v2", set("v1", 0), set("v2", 10)), []string{"scale v1 0 -> 1" + beside},
		},
		"... and has the native controller's note, alone or not": {
			begun("v2", set("v1", 1), set("v2", 10, noted)), []string{"scale v2 10 -> 10" + emptiesIt},
		},
		"the writes rest on live reads": {
			begun("v3", set("v1", 0), set("v2", 10)).cached().but(func(o *Observation) { o.Live |= ReadKept }),
			[]string{"needs release, workload, counts"},
		},
		"nothing is written while the native controller may act on an earlier spec": {
			begun("v3", set("v1", 0), set("v2", 10)).but(func(o *Observation) { o.Workload.Behind = 2 }), nil,
		},
		"it waits for the room of pods that are to go": {
			begun("v3", set("v1", 0), set("v2", 10), set("v4", 0, current(1))).bounds("1", "0"), nil,
		},
		"... which pods that are gone have made": {
			begun("v3", set("v1", 0), set("v2", 10), set("v4", 0)).bounds("1", "0"), []string{"scale v1 0 -> 1" + beside},
		},
		"without surge it is one beyond": {
			begun("v3", set("v1", 0), set("v2", 10)).bounds("0", "1"), []string{"scale v1 0 -> 1" + beside},
		},
		"its own pods are to be gone, for nobody could tell them from new ones": {
			begun("v3", set("v1", 0, current(2)), set("v2", 10)).bounds("50%", "0"), nil,
		},
		"where none has pods the native controller gives them to the version whose template there is": {
			begun("v3", set("v1", 0, current(1)), set("v2", 0)), nil,
		},
		"... or the newest, if there is no ReplicaSet of that": {
			superseding(set("v1", 0)), []string{"scale v1 0 -> 1" + beside},
		},
		"what is approved in full stands alone": {
			superseding(set("v1", 0), set("v2", 10)), released,
		},
		"two are not alone": {
			superseding(set("v1", 4), set("v2", 6)), released,
		},
	})
}

// TestATemplateThatWaitsSaysForWhat: a template that waits before its release may begin says for
// what, and after the progress deadline that people should look.
func TestATemplateThatWaitsSaysForWhat(t *testing.T) {
	t.Parallel()
	noted := func(s *Set) { s.Noted = true }
	crowded := func(changes ...func(*Set)) *scene {
		return rollingBack(10).bounds("1", "0").sets(set("v1", 0), set("v2", 10, changes...), set("v4", 0, current(1))).resolved("v2").
			status(func(s *v1alpha1.BatchReleaseStatus) {
				notEntered(s)
				s.Rollback, s.Quarantined, s.Resolved.Given = &v1alpha1.RollbackRecord{From: "v2"}, nil, "given-v1"
			})
	}
	empty := func() *scene { return crowded().sets(set("v1", 0, current(1)), set("v2", 0)).resolved("v3") }
	finished := func() *scene {
		return crowded().sets(set("v1", 0), set("v5", 10), set("v4", 0, current(1))).resolved("v5").status(func(s *v1alpha1.BatchReleaseStatus) {
			s.Phase, s.StableRevision = v1alpha1.PhaseCompleted, "v1"
		})
	}
	waited := func(d time.Duration) func(*Observation) {
		return func(o *Observation) {
			o.Release.Status = Next(*o).Status
			o.Watched.Queue = d
		}
	}
	const (
		room   = "RollingBack - Initial AwaitingRoom"
		native = "RollingBack - Initial TakingOver"
		late   = "ProgressDeadlineExceeded: revision v2 waits, and there was no progress for 10m0s: other pods must be deleted first, " +
			"to make room for a pod of the stable version"
	)
	checkPlans(t, map[string]planned{
		"for room":               {crowded(), outcome{Is: room, Wake: time.Minute}},
		"... until the deadline": {crowded().but(waited(tenMinutes - time.Second)), outcome{Is: room, Wake: time.Second}},
		"... which is told":      {crowded().but(waited(tenMinutes)), outcome{Is: room, Stalled: late}},
		"... and told of":        {crowded().but(waited(tenMinutes)).but(waited(0)), outcome{Is: room, Stalled: late}},
		"a template that takes its place waits anew": {
			crowded().but(waited(tenMinutes)).resolved("v6"), outcome{Is: room, Wake: time.Minute},
		},
		"a deadline that was raised": {crowded().but(waited(tenMinutes)).but(longer), outcome{Is: room, Wake: time.Minute}},
		"it starts again once the release was suspended": {
			finished().but(waited(tenMinutes)).but(suspended).but(waited(0)).but(resumed),
			outcome{Is: "Completed - Initial AwaitingRoom", Wake: time.Minute},
		},
		"for the native controller to make the stable pods": {empty(), outcome{Is: native, Wake: time.Minute}},
		"for the native controller to see what is written": {
			crowded(noted).but(func(o *Observation) { o.Workload.Behind = 2 }), outcome{Is: native, Wake: time.Minute},
		},
		"what keeps the others is written meanwhile": {
			crowded(noted), outcome{Script: []string{"scale v2 10 -> 10" + emptiesIt}, Is: room, Wake: time.Minute},
		},
		"it begins once there is room, however late": {
			crowded().but(waited(tenMinutes)).sets(set("v1", 0), set("v2", 10), set("v4", 0)),
			outcome{Script: []string{"scale v1 0 -> 1" + beside}, Is: "RollingBack - Initial RollingBack"},
		},
		"the release before it may have completed": {finished(), outcome{Is: "Completed - Initial AwaitingRoom", Wake: time.Minute}},
	})
	for name, scene := range map[string]*scene{"in a rollback": crowded(), "after it": finished()} {
		t.Run("said once, "+name, func(t *testing.T) {
			t.Parallel()
			first := next(t, scene)
			again := next(t, scene.status(func(s *v1alpha1.BatchReleaseStatus) { *s = first.Status }))
			if diff := cmp.Diff(first.Status, again.Status); diff != "" || again.StatusFirst || again.Needs.Any() || len(again.Events) > 0 {
				t.Errorf("it goes on: %v, %v (-first +second):\n%s", script(again), again.Events, diff)
			}
			if s := first.Status; s.State != v1alpha1.StateWaiting || s.Queued == nil || s.Queued.Awaits != v1alpha1.AwaitedRoom {
				t.Errorf("its state is %s, and queued is %+v", s.State, s.Queued)
			}
			late := next(t, scene.but(waited(tenMinutes)))
			if len(late.Events) != 1 || !late.Events[0].Warning || late.Status.StalledBy != v1alpha1.StallDeadlineExceeded {
				t.Errorf("at the deadline it is stalled by %q, with events %v", late.Status.StalledBy, late.Events)
			}
		})
	}
}

func longer(o *Observation) { o.Release.Spec.Strategy.ProgressDeadlineSeconds = new(int32(3600)) }

func resumed(o *Observation) { o.Release.Spec.Suspend = false }

// TestNoVersionIsGivenAsComplete: a release of what most pods run already, in the middle of the
// native controller's own rollout of another template or after its workload was scaled to 0: that
// controller would take the others away as soon as it sees the template, before another pass.
func TestNoVersionIsGivenAsComplete(t *testing.T) {
	t.Parallel()
	noted := func(s *Set) { s.Noted = true }
	const takeNote = "scale v2 10 -> 10" + emptiesIt
	taken := script(Next(running(10).keep("v1").finalized().stable("v1", "").sets(set("v1", 1), set("v2", 10)).Observation))
	midway := func() *scene {
		return running(10).keep("v1").finalized().stable("v1", "").sets(set("v1", 1), set("v2", 10, noted))
	}
	checkScripts(t, map[string]scripted{
		"the note goes before it is taken over": {midway(), append([]string{takeNote}, taken...)},
		"that rests on live reads":              {midway().but(unlisted), []string{"needs counts"}},
		"a note of what has no pods may stay": {
			midway().sets(set("v1", 10), set("v2", 0, noted)), taken,
		},
		"also where it is taken over, and was scaled to 0 meanwhile": {
			withoutPods().but(scaledUp(10)).sets(set("v1", 1), set("v2", 10, noted)),
			[]string{takeNote, "take over with the template of the release: the release of revision v2 goes on"},
		},
		"it is not taken over while that is refused": {
			midway().but(refusing(WriteOf(MovePods{Write: deployment.Scale{Set: deployment.Set{Name: "web-v2"}}}))), nil,
		},
	})
}
