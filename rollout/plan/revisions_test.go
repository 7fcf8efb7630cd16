package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// from says what the release knows of the commit of its template.
func from(commit, author, subject string) func(*Observation) {
	return func(o *Observation) {
		o.Release.Annotations[v1alpha1.CommitAnnotation] = commit
		o.Release.Annotations[v1alpha1.AuthorAnnotation] = author
		o.Release.Annotations[v1alpha1.SubjectAnnotation] = subject
	}
}

func committed(s *v1alpha1.BatchReleaseStatus) {
	s.Commit, s.StartedAt = "c2", &metav1.Time{Time: noon.Add(-tenMinutes)}
}

func TestRecordOfWhatBecameStable(t *testing.T) {
	t.Parallel()
	const why Reason = "revision v2 is stable"
	released := Record{
		Outcome: v1alpha1.OutcomeReleased, Attempt: 1, Commit: "c2", Author: "Ann", Subject: "Two",
		StartedAt: "2026-03-02T11:50:00Z", ReleasedAt: "2026-03-02T12:00:00Z",
	}
	approved, superseded, forced := released, released, released
	forced.ApprovedBy, forced.Forced = "ada (forced)", "soak gate of batch 1 by ada: INC-42"
	approved.ApprovedBy = "bob, carol"
	superseded.Author, superseded.Subject = "", ""
	keep := func(record Record) []Action {
		return []Action{RecordRevision{Reason: why, Revision: "v2", Digest: "digest-v2", Number: 2, Record: record}}
	}
	release := func() *scene { return handedBack(10).status(committed).but(from("c2", "Ann", "Two")) }
	tests := map[string]struct {
		scene *scene
		want  []Action
	}{
		"a release is kept with its commit":           {release(), keep(released)},
		"a commit that came since says nothing of it": {release().but(from("c3", "Cid", "Three")), keep(superseded)},
		"and with those who passed its gates, once each and in the order of the steps": {
			release().gates(gate(1, 1, 0, passed, by("carol", "bob")), gate(1, 0, 0, passed, by("bob", "")),
				gate(0, 0, 0, passed, by("mallory")), gate(1, 2, 0, by("eve"))),
			keep(approved),
		},
		"but not with who merged what others had to review": {
			release().gates(gate(1, 0, 0, passed, reviewedBy("ann", "bob")), gate(1, 1, 0, passed, mergedBy("carol"))),
			keep(approved),
		},
		"what was forced is marked, apart and beside the name": {
			release().gates(gate(1, 0, 0, passed, by("ada"), forcedBy("ada", "INC-42"))).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Forced = []v1alpha1.ForcedGate{{Step: 0, Type: v1alpha1.GateSoak, Force: v1alpha1.Force{By: "ada", Reason: "INC-42"}}}
			}),
			keep(forced),
		},
		"force that is asked for once it has passed marks nobody": {
			release().gates(gate(1, 1, 0, passed, by("carol")), gate(1, 0, 0, passed, by("bob"), asksForce("eve"))), keep(approved),
		},
		"once it is kept nothing more is written": {release().recorded("v2", released), nil},
		"one that was rolled back before, and passed its gates again, is marked as the newest": {
			release().recorded("v2", Record{Outcome: v1alpha1.OutcomeRolledBack, Attempt: 1, ApprovedBy: "dan"}),
			[]Action{UpdateRevision{Reason: why, Name: "web-v2", Number: 3, Record: released}},
		},
		"what runs all along keeps its record": {
			release().recorded("v2", Record{Outcome: v1alpha1.OutcomeReleased, Commit: "c0"}).
				status(func(s *v1alpha1.BatchReleaseStatus) { s.Held = nil }),
			nil,
		},
		"what was rolled back to keeps its commit, and those who approved it": {
			release().recorded("v2", approved).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "v3"}
				s.Attempt, s.Commit = 5, "c4"
			}),
			[]Action{UpdateRevision{Reason: why, Name: "web-v2", Number: 2, Record: Record{
				Outcome: v1alpha1.OutcomeRolledBackTo, Attempt: 5, Commit: "c2", Author: "Ann", Subject: "Two",
				StartedAt: "2026-03-02T11:50:00Z", ReleasedAt: "2026-03-02T12:00:00Z", ApprovedBy: "bob, carol",
			}}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := recordStable(nothing(test.scene.look()))
			if diff := cmp.Diff(test.want, d.actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// by adds evidence of these actors.
func by(actors ...string) func(*v1alpha1.Gate) {
	return func(g *v1alpha1.Gate) {
		for _, actor := range actors {
			g.Status.Evidence = append(g.Status.Evidence, v1alpha1.Evidence{Kind: "StatusPatch", Actor: actor})
		}
	}
}

// mergedBy has a pull request merged that takes no reviews.
func mergedBy(merger string) func(*v1alpha1.Gate) {
	return func(g *v1alpha1.Gate) {
		g.Spec.Type, g.Spec.Policy = v1alpha1.GatePullRequest, v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}
		g.Status.Evidence = []v1alpha1.Evidence{{Kind: v1alpha1.EvidencePullRequestMerged, Actor: merger}}
	}
}

// reviewedBy has a pull request merged by one, after the approving review of another that it takes.
func reviewedBy(merger, reviewer string) func(*v1alpha1.Gate) {
	return func(g *v1alpha1.Gate) {
		mergedBy(merger)(g)
		g.Spec.Policy.PullRequest.MinApprovals = 1
		g.Status.Evidence = append(g.Status.Evidence, v1alpha1.Evidence{Kind: "Review", Actor: reviewer})
	}
}

// recorded keeps one more template, with a record.
func (s *scene) recorded(revision string, record Record) *scene {
	s.keep(revision)
	s.Kept[len(s.Kept)-1].Record = record
	return s
}

func TestApproversAreBounded(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		words []string
		want  string
	}{
		"none":                    {nil, ""},
		"as many as fit":          {[]string{"ann", "bob"}, "ann, bob"},
		"the rest is hinted at":   {[]string{"ann", "bob", "carol"}, "ann, ..."},
		"even the first":          {[]string{"bartholomew the great"}, "..."},
		"none but the last is in": {[]string{"ann", "bob", "c"}, "ann, bob, c"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := within(test.words, 11); got != test.want {
				t.Errorf("within 11 bytes it is %q, want %q", got, test.want)
			}
		})
	}
}

func TestKeepWhatIsLeftInMidRelease(t *testing.T) {
	t.Parallel()
	back := func(trigger v1alpha1.RollbackTrigger) func(*v1alpha1.BatchReleaseStatus) {
		return func(s *v1alpha1.BatchReleaseStatus) {
			s.Attempt, s.Commit, s.Resolved = 2, "c2", resolved("v1")
			s.Rollback = &v1alpha1.RollbackRecord{Trigger: trigger, From: "v2"}
		}
	}
	asked, reverted := back(v1alpha1.TriggerAnnotation), back(v1alpha1.TriggerGitRevert)
	keep := func(record Record) []Action {
		record.Outcome, record.Attempt = v1alpha1.OutcomeRolledBack, 2
		return []Action{RecordRevision{
			Reason: "rolled back: kept for the record", Revision: "v2", Digest: "digest-v2", Number: 2, Record: record,
		}}
	}
	tests := map[string]struct {
		scene *scene
		want  []Action
	}{
		"what is rolled back is kept with its commit": {
			held(10).but(from("c2", "Ann", "Two")).status(asked), keep(Record{Commit: "c2", Author: "Ann", Subject: "Two"}),
		},
		"of a revert the status tells no more which commit it was": {
			held(10).but(from("c3", "Ann", "Revert")).status(reverted).status(func(s *v1alpha1.BatchReleaseStatus) { s.UpdateRevision = "v1" }),
			keep(Record{}),
		},
		"a template that a user wrote is not of the commit": {
			held(10).but(from("c2", "Ann", "Two")).status(back(v1alpha1.TriggerDrift)), keep(Record{}),
		},
		"it is kept once":               {held(10).status(asked).keep("v2"), nil},
		"a release that goes on is not": {held(10), nil},
		"what somebody wrote is not": {
			held(10).status(asked).but(func(o *Observation) { o.Workload.Digest, o.Workload.Revision = "digest-v9", "v9" }), nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := keepLeft(nothing(test.scene.look()))
			if diff := cmp.Diff(test.want, d.actions); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestKeepWhatRunsBeforeIt: a template that somebody has rolled out by hand since it was left is
// stable again, but one that a rollback is about to leave is not.
func TestKeepWhatRunsBeforeIt(t *testing.T) {
	t.Parallel()
	bad := func() *scene { return running(10).keep("v0", "v1").but(markedBad("v1")) }
	to := func(revision string) func(*v1alpha1.BatchReleaseStatus) {
		return func(s *v1alpha1.BatchReleaseStatus) {
			s.Resolved, s.UpdateRevision, s.Phase = resolved(revision), revision, v1alpha1.PhaseRollingBack
			s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "v9"}
		}
	}
	again := []string{"mark template web-v1 (Adopted): kept to roll back to"}
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"a release begins":                    {bad().status(func(s *v1alpha1.BatchReleaseStatus) { s.Resolved = resolved("v2") }), again},
		"a rollback leaves it":                {bad().status(to("v0")), nil},
		"a rollback goes to it":               {bad().status(to("v1")), again},
		"it is kept as one that ran properly": {running(10).keep("v0", "v1").status(to("v0")), nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, _ := keepBefore(nothing(test.scene.look()))
			if diff := cmp.Diff(test.want, script(Plan{Actions: d.actions})); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// TestWhatARollbackMarksBad: a rollback marks what it leaves, but not a template that somebody has
// given the workload by hand: that is as good as it was.
func TestWhatARollbackMarksBad(t *testing.T) {
	t.Parallel()
	back := func(trigger v1alpha1.RollbackTrigger, to string) *scene {
		return held(10).keep("v0", "v9").stable("v1", "v0").status(func(s *v1alpha1.BatchReleaseStatus) {
			s.Resolved, s.UpdateRevision = resolved(to), to
			s.Rollback = &v1alpha1.RollbackRecord{Trigger: trigger, From: "v9"}
		})
	}
	tests := map[string]struct {
		scene *scene
		to    string
		want  []string
	}{
		"what it leaves":                       {back(v1alpha1.TriggerAnnotation, "v1"), "v1", []string{"v9"}},
		"... and what is named as stable":      {back(v1alpha1.TriggerAnnotation, "v0"), "v0", []string{"v1", "v9"}},
		"... and not what was given by hand":   {back(v1alpha1.TriggerDrift, "v1"), "v1", nil},
		"a release that goes on marks nothing": {held(10), "v0", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, kept := range revisionsToMarkBad(test.scene.look(), test.to) {
				got = append(got, kept.Revision)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("marked as rolled back (-want +got):\n%s", diff)
			}
		})
	}
}

func TestForgetOldTemplates(t *testing.T) {
	t.Parallel()
	limit := func(n int32) func(*Observation) {
		return func(o *Observation) { o.Release.Spec.RevisionHistoryLimit = &n }
	}
	const beyond = ": beyond revisionHistoryLimit"
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"within the limit all stay": {
			handedBack(10).but(keptInOrder("v7", "v8", "v9")).but(limit(3)), nil,
		},
		"beyond it the oldest goes": {
			handedBack(10).but(keptInOrder("v6", "v7", "v8", "v9")).but(limit(3)),
			[]string{"forget template web-v6" + beyond},
		},
		"the oldest is told by its number, not by its place": {
			handedBack(10).but(keptInOrder("v6", "v7", "v8")).but(limit(2)).but(func(o *Observation) { o.Kept[2].Number = 0 }),
			[]string{"forget template web-v8" + beyond},
		},
		"none that a rollback may name goes, whatever the limit": {
			handedBack(10).but(keptInOrder("v0", "v1", "v2", "v9")).stable("v1", "v0").but(limit(1)),
			[]string{"forget template web-v9" + beyond},
		},
		"what a release in the making goes back to stays": {
			handedBack(10).but(keptInOrder("v1", "v9")).stable("", "").but(limit(1)),
			[]string{"forget template web-v9" + beyond},
		},
		"ten stay unless the release says otherwise": {
			handedBack(10).but(keptInOrder("a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7", "a8", "a9", "b0", "b1")),
			[]string{"forget template web-a0" + beyond, "forget template web-a1" + beyond},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := forgetOldTemplates(nothing(test.scene.look()))
			if diff := cmp.Diff(test.want, script(Plan{Actions: d.actions})); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// markedBad says of a kept template that it was rolled back.
func markedBad(revision string) func(*Observation) {
	return func(o *Observation) {
		for i := range o.Kept {
			if o.Kept[i].Revision == revision {
				o.Kept[i].Outcome = v1alpha1.OutcomeRolledBack
			}
		}
	}
}
