package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// takenFrom returns held(10) after another client's write to the workload, such as an unpause.
func takenFrom(change func(*Workload)) *scene {
	return held(10).but(func(o *Observation) { change(o.Workload) })
}

func TestHoldTakesTheWorkloadOver(t *testing.T) {
	t.Parallel()
	const (
		keep     = "keep template v1 (Adopted): kept to roll back to"
		finalize = "annotate release finalizer=true current-stable-revision=v1: the workload is handed back before the release goes away"
		takeOver = "take over with the template of the release: release v2"
	)
	checkScripts(t, map[string]scripted{
		"what a rollback needs is durable before the template is overwritten": {
			running(10), []string{keep, finalize, takeOver},
		},
		"what is durable already is not written again": {
			running(10).keep("v1").finalized().stable("v1", ""), []string{takeOver},
		},
		"the finalizer alone is reason to write": {
			running(10).keep("v1").stable("v1", ""), []string{finalize, takeOver},
		},
		"where no status says what was released it goes back to what the workload runs": {
			running(10).keep("v0").finalized().stable("v0", ""),
			[]string{
				keep, "annotate release finalizer=true current-stable-revision=v1 last-stable-revision=v0: " +
					"the workload is handed back before the release goes away", takeOver,
			},
		},
		"a write of the release proves that it was read as it is": {
			running(10).cached(), []string{keep, finalize, takeOver},
		},
		"without such a write the release is read live first": {
			running(10).keep("v1").finalized().stable("v1", "").cached(), []string{"needs release"},
		},
		"the gates of the attempt before stay until the new one is on record: they are the evidence of how far it is": {
			held(10).resolved("v3").gates(gate(1, 0, 0), gate(1, 1, 0, passed), gate(2, 0, 0)).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Attempt = 2
			}),
			[]string{"take over with the template of the release: release v3 instead"},
		},
	})
}

func TestOtherDefaultsAreRecorded(t *testing.T) {
	t.Parallel()
	s := takenFrom(func(w *Workload) { w.Digest = "digest-v2-of-newer-server" })
	s.Resolved = &Resolved{ResolvedTemplate: v1alpha1.ResolvedTemplate{Given: "given-v2", Digest: "digest-v2-of-newer-server", Revision: "v2"}}
	if got := next(t, s).Status.Resolved.Digest; got != s.Workload.Digest {
		t.Errorf("digest of what is released is %q, want what the workload has: %q", got, s.Workload.Digest)
	}
}

func TestTheHoldIsWhatTheWorkloadGetsBackInTheEnd(t *testing.T) {
	t.Parallel()
	own := v1alpha1.HeldWorkload{Strategy: nativeStrategy}
	tests := map[string]struct {
		scene *scene
		want  v1alpha1.HeldWorkload
	}{
		"at first it is what the workload has": {running(10), own},
		"a workload that was paused will be so again": {
			running(10).but(func(o *Observation) { deploymentOf(o.Workload).Paused = true }),
			v1alpha1.HeldWorkload{Strategy: nativeStrategy, Paused: true},
		},
		"while it is held it is what the annotation says": {
			takenFrom(func(w *Workload) {
				deploymentOf(w).Paused, deploymentOf(w).Strategy, w.Hold.Strategy = false, "Recreate", "the annotation's"
			}),
			v1alpha1.HeldWorkload{Strategy: "the annotation's"},
		},
		"without the annotation it is what the status remembers": {
			takenFrom(func(w *Workload) { w.Hold, deploymentOf(w).Strategy = nil, "Recreate" }), own,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := next(t, test.scene)
			want := Hold{Release: "web", UID: "release-1", Stable: "v1", HeldWorkload: test.want}
			if diff := cmp.Diff(want, takeOverOf(t, p).Hold, cmpopts.IgnoreFields(Hold{}, "Change")); diff != "" {
				t.Errorf("hold (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(&test.want, p.Status.Held); diff != "" {
				t.Errorf("status.held (-want +got):\n%s", diff)
			}
		})
	}
}

func takeOverOf(t *testing.T, p Plan) TakeOver {
	t.Helper()
	for _, action := range p.Actions {
		if takeOver, is := action.(TakeOver); is {
			return takeOver
		}
	}
	t.Fatalf("no take-over among %v", p.Actions)
	return TakeOver{}
}

func TestWhatIsStableWhenAReleaseIsTakenOver(t *testing.T) {
	t.Parallel()
	forgotten := func(s *v1alpha1.BatchReleaseStatus) { s.StableRevision = "" }
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"the first time it is what the workload runs": {running(10), "v1"},
		"a release in between does not change it":     {held(10).resolved("v3"), "v1"},
		"a lost status finds it in the annotation":    {held(10).status(forgotten).sets(set("v1", 10)), "v1"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := next(t, test.scene).Status.StableRevision; got != test.want {
				t.Errorf("stable revision %q, want %q", got, test.want)
			}
		})
	}
}

func TestGoOnWithAWorkloadThatIsTakenOver(t *testing.T) {
	t.Parallel()
	lost := func(s *v1alpha1.BatchReleaseStatus) { *s = v1alpha1.BatchReleaseStatus{} }
	checkScripts(t, map[string]scripted{
		"another attempt with it means that the status was lost, or that an old one was read": {
			held(10).resolved("v2").status(lost).cached().sets(set("v1", 10), set("v2", 1, available(0))),
			[]string{"needs release"},
		},
		"a status that is lost indeed starts with the pods that are there": {
			held(10).resolved("v2").status(lost).sets(set("v1", 10), set("v2", 1, available(0))), nil,
		},
		"the gates of attempts before the one on record are void, those of this one are not": {
			held(10).resolved("v2").status(func(s *v1alpha1.BatchReleaseStatus) { s.Attempt = 2 }).
				gates(gate(1, 0, 0), gate(1, 1, 0, passed), gate(2, 0, 0)).sets(set("v1", 10), set("v2", 1, available(0))),
			[]string{
				"close gate web-v2-1-0-0: a new attempt voids the gates of the one before",
				"close gate web-v2-1-1-0: a new attempt voids the gates of the one before",
			},
		},
		"not before the attempt is stored: without it the one before goes on": {
			held(10).resolved("v2").status(func(s *v1alpha1.BatchReleaseStatus) { s.Attempt = 2 }).
				gates(gate(1, 0, 0), gate(1, 1, 0, passed), gate(2, 0, 0)).sets(set("v1", 10), set("v2", 1, available(0))).
				but(func(o *Observation) { o.Begun = true }),
			nil,
		},
		"the same attempt needs no look at the release": {
			held(10).cached().sets(set("v1", 10), set("v2", 1, available(0))), nil,
		},
	})
}
