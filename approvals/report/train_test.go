package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// aboard makes the release a member of a train.
func (s *scene) aboard() *scene {
	s.release.Spec.Train = "shop"
	return s
}

// running makes the release a train with a run.
func (s *scene) running(members ...v1alpha1.RunMember) *scene {
	s.release.Spec.Members = []v1alpha1.TrainMember{{Name: "db"}, {Name: "api"}}
	s.release.Status.Run = &v1alpha1.TrainRun{Members: members, Message: "member api failed"}
	return s
}

// stopped has causes stop the release.
func (s *scene) stopped(causes ...v1alpha1.StopCause) *scene {
	s.release.Status.StoppedBy = causes
	return s.standing(v1alpha1.StateStopped, "suspended")
}

// TestMembersReport: a member of a train reports what people must act on, and how that ended; its
// train the rest.
func TestMembersReport(t *testing.T) {
	t.Parallel()
	toldStopped := v1alpha1.ReportContent{Kind: v1alpha1.ReportStopped, Batch: 2, Batches: 4}
	cases := map[string]struct {
		of   *scene
		want string // empty for no report
	}{
		"progress":                     {rolling(good), ""},
		"its end":                      {rolling(good).completed(), ""},
		"the train holds it":           {rolling(good).standing(v1alpha1.StateWaitingForTrain, "waiting for train shop"), ""},
		"the train returns":            {rolling(good).stopped(v1alpha1.StopTrainReturns), ""},
		"a freeze, which all have":     {rolling(good).stopped(v1alpha1.StopFrozen), ""},
		"it returns with its train":    {rolling(good).takenBack().because(v1alpha1.TriggerTrain, "train shop returns"), ""},
		"it has returned with it":      {rolling(good).takenBack().because(v1alpha1.TriggerTrain, "train shop returns").completed(), ""},
		"it has failed":                {rolling(good).failed("no progress"), "no progress"},
		"it is suspended":              {rolling(good).stopped(v1alpha1.StopSuspended), "suspended"},
		"it was rolled back by itself": {rolling(good).takenBack(), "rolling back to 58d4: rollback=true was requested"},
		"after a failure, its end":     {rolling(good).completed().told(good, toldFailed, "no progress"), "released: 10/10 updated to 7f9c"},
		"after a failure, its return": {
			rolling(good).takenBack().because(v1alpha1.TriggerTrain, "train shop returns").completed().told(good, toldFailed, "no progress"),
			"rolled back to 58d4: train shop returns",
		},
		"after a stop, that it goes on": {rolling(good).told(good, toldStopped, "suspended"), "batch 2/4: updating to 3 of 10 pods"},
		"and no more of that":           {rolling(good).told(good, toldUpdating, "batch 1/4: updating to 1 of 10 pods"), ""},
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			s := test.of.aboard()
			var got []string
			for _, post := range Next(s.release, s.gates, Options{}) {
				got = append(got, post.Status.Description)
			}
			if strings.Join(got, "; ") != test.want {
				t.Errorf("want %q reported, got %q", test.want, got)
			}
		})
	}
}

// TestTrainReports: a train counts its members, and fails if some of them have returned.
func TestTrainReports(t *testing.T) {
	t.Parallel()
	db, api := v1alpha1.RunMember{Name: "db"}, v1alpha1.RunMember{Name: "api"}
	returned := v1alpha1.RunMember{Name: "api", Returns: true, Back: true}
	cases := map[string]*scene{
		"pending: batch 2/4: updating 2 members":                                                        rolling(good).running(db, api),
		"pending: batch 2/4: 1 of 2 members done, waiting for approval #12":                             rolling(good).blockedOn(approval()).running(v1alpha1.RunMember{Name: "db", Steps: 2}, api),
		"success: released: 2 members updated":                                                          rolling(good).completed().running(db, api),
		"failure: 1 member released, 1 returned: member api failed":                                     rolling(good).completed().running(db, returned),
		"failure: member api failed":                                                                    rolling(good).standing(v1alpha1.StateFailed, "member api failed").running(db, api),
		"failure: rolled back to what 2 members ran before, change Git by hand: rollback was requested": rolling(good).takenBack().reverting(v1alpha1.RevertRefused).because(v1alpha1.TriggerMember, "rollback was requested").completed().running(db, api),
	}
	for want, s := range cases {
		posts := Next(s.release, s.gates, Options{})
		if len(posts) != 1 || string(posts[0].Status.State)+": "+posts[0].Status.Description != want {
			t.Errorf("want %q reported, got %+v", want, posts)
		}
	}
}

// TestMemberWaits: a member whose template waits for its train reports that only if something of
// its own stops it.
func TestMemberWaits(t *testing.T) {
	t.Parallel()
	waits := func(causes ...v1alpha1.StopCause) *scene {
		return rolling(good).completed().aboard().status(func(s *v1alpha1.BatchReleaseStatus) {
			s.State, s.StoppedBy = v1alpha1.StateWaiting, causes
			s.Queued = &v1alpha1.QueuedTemplate{Commit: bad}
		})
	}
	for want, s := range map[int]*scene{0: waits(v1alpha1.StopFrozen), 1: waits(v1alpha1.StopSuspended)} {
		if posts := Waiting(s.release, Options{}); len(posts) != want {
			t.Errorf("want %d reports, got %+v", want, posts)
		}
	}
}

// TestRevertsAlone: a member that returns in a run leaves Git to its train.
func TestRevertsAlone(t *testing.T) {
	t.Parallel()
	of := func(phase v1alpha1.Phase, members ...v1alpha1.RunMember) *v1alpha1.BatchRelease {
		return &v1alpha1.BatchRelease{Status: v1alpha1.BatchReleaseStatus{Phase: phase, Run: &v1alpha1.TrainRun{Members: members}}}
	}
	web := v1alpha1.RunMember{Name: "web"}
	back := v1alpha1.RunMember{Name: "web", Returns: true}
	cases := map[string]struct {
		train *v1alpha1.BatchRelease
		want  bool
	}{
		"no train":                {nil, true},
		"no run":                  {&v1alpha1.BatchRelease{}, true},
		"a run of others":         {of(v1alpha1.PhaseRollingUpdate, v1alpha1.RunMember{Name: "db"}), true},
		"in its run":              {of(v1alpha1.PhaseRollingUpdate, web), false},
		"after its run":           {of(v1alpha1.PhaseCompleted, web), true},
		"after all have returned": {of(v1alpha1.PhaseCompleted, back), false},
	}
	for name, test := range cases {
		if got := RevertsAlone(rolling(good).release, test.train); got != test.want {
			t.Errorf("%s: want %t, got %t", name, test.want, got)
		}
	}
}

// TestLaterMembers: the text of a gate says that it counts for members, too, that begin later.
func TestLaterMembers(t *testing.T) {
	t.Parallel()
	for want, members := range map[bool][]Member{
		true:  {{Name: "db"}, {Name: "api", Later: true}},
		false: {{Name: "db"}, {Name: "api"}},
	} {
		if text := membersText(Batch{Members: members}); strings.Contains(text, "**Not begun: 1 member.**") != want {
			t.Errorf("want it said: %t, got %s", want, text)
		}
	}
}

// TestRevertOfTrain: a commit that another superseded has to be reverted, too.
func TestRevertOfTrain(t *testing.T) {
	t.Parallel()
	const ends = ", and push; until then the members stay as they are"
	stable := strings.Repeat("ab", 20)
	for commit, want := range map[string]string{
		"":     "run 'git revert bad0bad'" + ends,
		"main": "run 'git revert bad0bad'" + ends,
		stable: "run 'git revert bad0bad', and revert what else changed members since abababa" + ends,
	} {
		s := rolling(bad).running(v1alpha1.RunMember{Name: "db"})
		s.release.Status.Run.StableCommit = commit
		if got := RevertRefused(s.release, "", ""); got != "Sluice opens no pull request for a train: "+want {
			t.Errorf("after %q: want %q, got %q", commit, want, got)
		}
	}
}

// TestMembersText: the members of a large train with long images fit into what a forge takes.
func TestMembersText(t *testing.T) {
	t.Parallel()
	image := "registry.example.com/" + strings.Repeat("é", 100) + "@sha256:" + strings.Repeat("0", 64)
	images := []string{image, image, image, image, image}
	for _, n := range []int{1, 100, 2000} {
		var batch Batch
		for i := range n {
			batch.Members = append(batch.Members, Member{
				Name: fmt.Sprint("m", i), FromImages: images, ToImages: images,
				From: strings.Repeat("a: b\n", 2000), To: strings.Repeat("c: d\n", 2000),
			})
		}
		text := membersText(batch)
		if len(text) > 60_000 {
			t.Errorf("%d members take %d bytes", n, len(text))
		}
		if more := strings.Contains(text, " more."); more != (n > 1) {
			t.Errorf("%d members: want it said whether more are left out: %.300s", n, text)
		}
	}
}
