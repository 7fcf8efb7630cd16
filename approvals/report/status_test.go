package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
)

const (
	good    = "900d900d900d900d900d900d900d900d900d900d"
	bad     = "bad0bad0bad0bad0bad0bad0bad0bad0bad0bad0"
	fix     = "f1ef1ef1ef1ef1ef1ef1ef1ef1ef1ef1ef1ef1ef"
	context = "sluice/shop/web"
	pullAt  = "https://forge.test/octo/shop/pull/12"
)

// made is when the gates of these tests were made.
var made = time.Date(2026, time.October, 5, 12, 0, 30, 0, time.UTC)

func TestNext(t *testing.T) {
	t.Parallel()
	manual := waitingGate(v1alpha1.GatePolicy{Manual: &v1alpha1.ManualGate{}})
	soak := waitingGate(v1alpha1.GatePolicy{Soak: &v1alpha1.SoakGate{Duration: metav1.Duration{Duration: 10 * time.Minute}}})
	window := waitingGate(v1alpha1.GatePolicy{Window: &v1alpha1.WindowGate{Schedule: "0 9 * * *"}})
	check := waitingGate(v1alpha1.GatePolicy{CheckRun: &v1alpha1.CheckRunGate{Name: "e2e", App: "ci"}})
	foreign := waitingGate(v1alpha1.GatePolicy{})
	foreign.Spec.Type = "analysis"
	unopened := decided(waitingGate(v1alpha1.GatePolicy{PullRequest: &v1alpha1.PullRequestGate{}}), "", "")
	const (
		updating = "batch 2/4: updating to 3 of 10 pods"
		approve  = "900d pending batch 2/4: 3/10 updated, waiting for approval #12 -> " + pullAt
	)
	waits := func(what string) []string { return []string{"900d pending batch 2/4: 3/10 updated, waiting " + what} }
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"a batch that rolls":          {rolling(good), []string{"900d pending " + updating}},
		"a batch of one pod":          {rolling(good).status(func(s *v1alpha1.BatchReleaseStatus) { s.Replicas, s.TargetReplicas = 1, 1 }), []string{"900d pending batch 2/4: updating to 1 of 1 pod"}},
		"pods that crash":             {rolling(good).troubled(), []string{"900d pending batch 2/4: 2 of 3 pods crash: CrashLoopBackOff: exit code 1"}},
		"pods that crash at a gate":   {rolling(good).troubled().blockedOn(smoke()), waits("for ci/smoke; 2 of 3 pods crash: CrashLoopBackOff: exit code 1")},
		"pods that crash no more":     {rolling(good).told(good, toldUpdating, "batch 2/4: 2 of 3 pods crash: CrashLoopBackOff: exit code 1"), []string{"900d pending " + updating}},
		"it was told":                 {rolling(good).told(good, toldUpdating, updating), nil},
		"pods don't count":            {rolling(good).told(good, toldUpdating, updating).status(func(s *v1alpha1.BatchReleaseStatus) { s.UpdatedReplicas, s.UpdatedAvailableReplicas = 3, 2 }), nil},
		"no commit":                   {rolling(""), nil},
		"not begun":                   {rolling(good).status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase, s.StepStartedAt = v1alpha1.PhaseInitial, nil }), nil},
		"never seen":                  {&scene{release: &v1alpha1.BatchRelease{}}, nil},
		"being handed back":           {rolling(good).status(func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFinalizing }), nil},
		"for approval":                {rolling(good).blockedOn(approval()), []string{approve}},
		"for approval, told":          {&scene{after(rolling(good).blockedOn(approval())), []v1alpha1.Gate{firstGate(approval())}}, nil},
		"for approval, elsewhere":     {rolling(good).blockedOn(approval()).told(good, v1alpha1.ReportContent{Kind: v1alpha1.ReportWaiting, Batch: 2, Batches: 4}, "batch 2/4: 3/10 updated, waiting for approval #12"), []string{approve}},
		"for a status":                {rolling(good).blockedOn(smoke()), waits("for ci/smoke")},
		"for a check":                 {rolling(good).blockedOn(check), waits("for check e2e")},
		"for a time":                  {rolling(good).blockedOn(soak), waits("until 2026-10-05 12:11 UTC")},
		"for the window":              {rolling(good).blockedOn(window), waits("for the window")},
		"for confirmation":            {rolling(good).blockedOn(manual), waits("for confirmation")},
		"for another's gate":          {rolling(good).blockedOn(foreign), waits("for gate analysis")},
		"for several":                 {rolling(good).blockedOn(manual, smoke(), approval()), []string{"900d pending batch 2/4: 3/10 updated, waiting for confirmation, for ci/smoke, for approval #12 -> " + pullAt}},
		"for those not passed":        {rolling(good).blockedOn(decided(approval(), v1alpha1.DecisionPassed, ""), smoke()), waits("for ci/smoke")},
		"all have passed":             {rolling(good).blockedOn(decided(approval(), v1alpha1.DecisionPassed, "")), nil},
		"still to be opened":          {rolling(good).blockedOn(unopened), nil},
		"can't be opened":             {rolling(good).blockedOn(decided(unopened, v1alpha1.DecisionWaiting, "the forge can't be asked: forbidden")), waits("for approval")},
		"a gate that is not there":    {rolling(good).blockedOn(smoke()).but(func(s *scene) { s.gates = nil }), nil},
		"one of several is not there": {rolling(good).blockedOn(smoke(), check).but(func(s *scene) { s.gates = s.gates[:1] }), nil},
		"a gate of before":            {rolling(good).blockedOn(smoke()).but(func(s *scene) { s.gates[0].Spec.Attempt = 2 }), nil},
		"a gate that goes away":       {rolling(good).blockedOn(smoke()).but(func(s *scene) { s.gates[0].DeletionTimestamp = new(metav1.NewTime(made)) }), nil},
		"a link that is none":         {rolling(good).blockedOn(approval()).but(func(s *scene) { s.gates[0].Status.PullRequest.URL = "javascript:alert(1)" }), waits("for approval #12")},
		"rejected": {
			rolling(good).blockedOn(smoke(), decided(approval(), v1alpha1.DecisionRejected, "pull request #12 was closed")),
			[]string{"900d failure batch 2/4: 3/10 updated, rejected: pull request #12 was closed -> " + pullAt},
		},
		"refused": {
			rolling(good).blockedOn(smoke(), refusedOne()),
			[]string{"900d failure batch 2/4: approval #12 was refused: by ada, who wrote the release: another person must approve -> " + pullAt},
		},
		"refused in an earlier attempt": {
			rolling(good).blockedOn(smoke()).but(func(s *scene) {
				earlier := refusedOne()
				earlier.Spec.Attempt = 2
				s.gates = append(s.gates, earlier)
			}), waits("for ci/smoke"),
		},
		"refused, then approved":           {rolling(good).blockedOn(approval()).told(good, because(v1alpha1.ReportApprovalRefused, "batch 2/4: approval #12 was refused: by ada"), "batch 2/4: approval #12 was refused: by ada"), []string{approve}},
		"opened again":                     {rolling(good).blockedOn(approval()).told(good, because(v1alpha1.ReportRejected, "batch 2/4: 3/10 updated, rejected: closed"), "batch 2/4: 3/10 updated, rejected: closed"), []string{approve}},
		"failed":                           {rolling(good).failed("batch 2/4: no progress for 10m0s: pod web-1 can't pull its image"), []string{"900d failure batch 2/4: no progress for 10m0s: pod web-1 can't pull its image"}},
		"failed, and the workload is gone": {rolling(good).failed("").status(func(s *v1alpha1.BatchReleaseStatus) { s.State = v1alpha1.StateWorkloadNotFound }), nil},
		"retried":                          {rolling(good).told(good, toldFailed, "batch 2/4: no progress"), []string{"900d pending " + updating}},
		"completed":                        {rolling(good).completed(), []string{"900d success released: 10/10 updated to 7f9c"}},
		"all told":                         {&scene{release: after(rolling(good).completed())}, nil},

		"superseded":                     {rolling(fix).told(good, toldUpdating, updating), []string{"900d failure superseded by f1ef1ef at batch 2/4", "f1ef pending " + updating}},
		"superseded by no commit":        {rolling("").told(good, v1alpha1.ReportContent{Kind: v1alpha1.ReportStopped}, "waiting"), []string{"900d failure superseded by revision 7f9c"}},
		"superseded, the next not begun": {rolling(fix).status(func(s *v1alpha1.BatchReleaseStatus) { s.StepStartedAt = nil }).told(good, toldUpdating, updating), []string{"900d failure superseded by f1ef1ef at batch 2/4"}},
		"superseded, told":               {rolling(fix).told(good, v1alpha1.ReportContent{Kind: v1alpha1.ReportSuperseded, Batch: 2, Batches: 4}, "superseded by f1ef1ef at batch 2/4"), []string{"f1ef pending " + updating}},
		"its end was not seen":           {rolling(fix).ended(good, "").told(good, toldUpdating, updating), []string{"900d success released: 10/10 updated to 58d4", "f1ef pending " + updating}},
		"nor that it went on":            {rolling(fix).ended(good, "").told(good, toldFailed, "batch 2/4: no progress"), []string{"900d success released: 10/10 updated to 58d4", "f1ef pending " + updating}},
		"nor that of its revert":         {rolling(fix).ended(good, v1alpha1.TriggerGitRevert).told(good, toldUpdating, "reverting"), []string{"900d success reverted to 58d4: 10/10 updated", "f1ef pending " + updating}},
		"nor that of its rollback":       {rolling(fix).ended(bad, v1alpha1.TriggerAnnotation).told(bad, back(v1alpha1.ReportRollingBack, askedFor), "rolling back to 58d4: asked for"), []string{"bad0 failure rolled back to 58d4: asked for", "f1ef pending " + updating}},
		"that of another was":            {rolling(fix).ended(bad, "").told(good, toldUpdating, updating), []string{"900d failure superseded by f1ef1ef at batch 2/4", "f1ef pending " + updating}},
		"what failed keeps its reason":   {rolling(fix).told(good, toldFailed, "batch 2/4: no progress"), []string{"f1ef pending " + updating}},
		"what was released stays so":     {rolling(fix).told(good, toldReleased, "released"), []string{"f1ef pending " + updating}},
		"a commit is released once more": {rolling(good).told(good, toldReleased, "released"), []string{"900d pending " + updating}},
		"another name for us":            {rolling(fix).told(good, toldUpdating, updating).but(func(s *scene) { s.release.Status.Report.Context = "sluice/old/shop/web" }), []string{"f1ef pending " + updating}},

		"taken back":                    {rolling(bad).takenBack().told(bad, toldUpdating, updating), []string{"bad0 failure rolling back to 58d4: asked for at batch 2/4"}},
		"taken back, never told":        {rolling(bad).takenBack(), []string{"bad0 failure rolling back to 58d4: rollback=true was requested"}},
		"taken back, rolling":           {rolling(bad).takenBack().told(bad, back(v1alpha1.ReportRollingBack, askedAtBatch), "rolling back to 58d4: asked for at batch 2/4").status(func(s *v1alpha1.BatchReleaseStatus) { s.Batch = "1/2" }), nil},
		"taken back as it failed":       {rolling(bad).takenBack().told(bad, toldFailed, "batch 2/4: no progress"), []string{"bad0 failure rolling back to 58d4: batch 2/4: no progress"}},
		"taken back after the end":      {rolling(bad).takenBack().told(bad, toldReleased, "released"), []string{"bad0 failure rolling back to 58d4: requested after it was released"}},
		"taken back, done":              {rolling(bad).takenBack().told(bad, back(v1alpha1.ReportRollingBack, askedAtBatch), "rolling back to 58d4: asked for at batch 2/4").completed(), []string{"bad0 failure rolled back to 58d4: asked for at batch 2/4"}},
		"taken back, told":              {rolling(bad).takenBack().told(bad, back(v1alpha1.ReportRolledBack, askedAtBatch), "rolled back to 58d4: asked for at batch 2/4").completed(), nil},
		"taken back, and stuck":         {rolling(bad).takenBack().told(bad, back(v1alpha1.ReportRollingBack, askedFor), "rolling back to 58d4: asked for").failed("batch 1/2: no progress"), []string{"bad0 failure rollback stuck on the way to 58d4: batch 1/2: no progress"}},
		"taken back, and stuck no more": {rolling(bad).takenBack().told(bad, back(v1alpha1.ReportRollbackStuck, nil), "rollback stuck on the way to 58d4: batch 1/2: no progress"), []string{"bad0 failure rolling back to 58d4: rollback=true was requested"}},
		"taken back, then Git follows":  {rolling(bad).takenBack().told(bad, back(v1alpha1.ReportRolledBack, askedFor), "rolled back to 58d4: asked for").completed().status(func(s *v1alpha1.BatchReleaseStatus) { s.Quarantined = nil }), nil},
		"taken back, never told, then Git follows": {
			rolling(bad).takenBack().completed().status(func(s *v1alpha1.BatchReleaseStatus) { s.Quarantined = nil }), []string{"bad0 failure rolled back to 58d4: rollback=true was requested"},
		},
		"taken back by itself": {
			rolling(bad).takenBack().because(v1alpha1.TriggerDeadline, "no progress within 600s").told(bad, toldUpdating, updating),
			[]string{"bad0 failure rolling back to 58d4: no progress within 600s"},
		},
		"taken back, Git is asked to follow": {
			rolling(bad).takenBack().completed().told(bad, back(v1alpha1.ReportRolledBack, askedFor), "rolled back to 58d4: asked for").reverting(v1alpha1.RevertOpen),
			[]string{"bad0 failure rolled back to 58d4, merge #13 to update Git: asked for -> " + pullAt},
		},
		"taken back, Git has followed": {
			rolling(bad).takenBack().completed().told(bad, merging(back(v1alpha1.ReportRolledBack, askedFor)), "rolled back to 58d4, merge #13 to update Git: asked for").reverting(v1alpha1.RevertMerged),
			[]string{"bad0 failure rolled back to 58d4: asked for"},
		},
		"taken back, Git can't be asked": {
			rolling(bad).takenBack().completed().told(bad, back(v1alpha1.ReportRolledBack, askedFor), "rolled back to 58d4: asked for").reverting(v1alpha1.RevertRefused),
			[]string{"bad0 failure rolled back to 58d4, change Git by hand: asked for"},
		},
		"drifted": {
			rolling(good).completed().drifted().told(good, toldReleased, "released: 10/10 updated to 7f9c"),
			[]string{"900d failure drifted: image is web:9, not web:2"},
		},
		"drifted no more": {
			rolling(good).completed().told(good, toldDrifted, "drifted: image is web:9, not web:2"), []string{"900d success released: 10/10 updated to 7f9c"},
		},
		"drifted, then another": {rolling(fix).told(good, toldDrifted, "drifted: image is web:9, not web:2"), []string{"f1ef pending " + updating}},
		"suspended": {
			rolling(bad).standing(v1alpha1.StateStopped, "batch 2/4 is on hold: spec.suspend is set"), []string{"bad0 pending batch 2/4 is on hold: spec.suspend is set"},
		},
		"held before a pod": {
			rolling(bad).standing(v1alpha1.StatePausePoint, "batch 2/4: paused before pod web-1").told(bad, toldUpdating, updating),
			[]string{"bad0 pending batch 2/4: paused before pod web-1"},
		},
		"frozen before it is taken over": {
			rolling(bad).standing(v1alpha1.StateStopped, "the workload is not taken over: frozen: holidays").status(func(s *v1alpha1.BatchReleaseStatus) { s.StepStartedAt = nil }),
			[]string{"bad0 pending the workload is not taken over: frozen: holidays"},
		},
		"of an earlier version": {rolling(bad).standing("", "batch 2/4 is on hold: spec.suspend is set"), nil},
		"a write is refused": {
			rolling(bad).standing(v1alpha1.StateRolling, "the API server refuses it").status(func(s *v1alpha1.BatchReleaseStatus) { s.StalledBy = v1alpha1.StallWriteRefused }),
			[]string{"bad0 pending the API server refuses it"},
		},
		"no room for it":           {rolling(bad).standing(v1alpha1.StateWillNotFit, "quota pods is full"), []string{"bad0 pending quota pods is full"}},
		"unpaused by somebody":     {rolling(bad).standing(v1alpha1.StateStopped, "batch 2/4 is on hold: unpaused"), []string{"bad0 pending batch 2/4 is on hold: unpaused"}},
		"taken back, then another": {rolling(fix).told(bad, back(v1alpha1.ReportRolledBack, askedFor), "rolled back to 58d4: asked for"), []string{"f1ef pending " + updating}},
		"reverted in Git": {
			rolling(fix).reverted().told(bad, toldUpdating, updating),
			[]string{"bad0 failure rolled back to 58d4 by f1ef1ef at batch 2/4", "f1ef pending reverting to 58d4: batch 1/2: updating to 1 of 10 pods"},
		},
		"reverted, half told":    {rolling(fix).reverted().told(bad, back(v1alpha1.ReportRolledBack, nil), "rolled back to 58d4 by f1ef1ef at batch 2/4"), []string{"f1ef pending reverting to 58d4: batch 1/2: updating to 1 of 10 pods"}},
		"reverted as it failed":  {rolling(fix).reverted().told(bad, toldFailed, "batch 2/4: no progress").completed(), []string{"bad0 failure rolled back to 58d4 by f1ef1ef: batch 2/4: no progress", "f1ef success reverted to 58d4: 10/10 updated"}},
		"reverted after the end": {rolling(fix).reverted().told(bad, toldReleased, "released").completed(), []string{"f1ef success reverted to 58d4: 10/10 updated"}},
		"taken back, and Git has followed": {
			rolling(fix).reverted().ended(bad, v1alpha1.TriggerAnnotation).told(bad, merging(back(v1alpha1.ReportRolledBack, askedFor)), "rolled back to 58d4, merge #13 to update Git: asked for").completed(),
			[]string{"bad0 failure rolled back to 58d4: asked for", "f1ef success reverted to 58d4: 10/10 updated"},
		},
		"a revert that is stuck":     {rolling(fix).reverted().failed("batch 1/2: no progress").told(fix, toldUpdating, ""), []string{"f1ef failure reverting to 58d4: batch 1/2: no progress"}},
		"deleted":                    {rolling(good).told(good, toldUpdating, updating).deleted(), []string{"900d failure the release was deleted at batch 2/4"}},
		"deleted, told":              {rolling(good).told(good, v1alpha1.ReportContent{Kind: v1alpha1.ReportDeleted, Batch: 2, Batches: 4}, "the release was deleted at batch 2/4").deleted(), nil},
		"deleted after it failed":    {rolling(good).failed("batch 2/4: no progress").told(good, toldFailed, "batch 2/4: no progress").deleted(), nil},
		"deleted before it was told": {rolling(good).deleted(), nil},
		"deleted after the end":      {rolling(good).completed().deleted(), []string{"900d success released: 10/10 updated to 7f9c"}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, lines(Next(tc.scene.release, tc.scene.gates, Options{}))); diff != "" {
				t.Errorf("Next(...): -want +got:\n%s", diff)
			}
		})
	}
}

func (s *scene) but(change func(*scene)) *scene {
	change(s)
	return s
}

func (s *scene) deleted() *scene {
	s.release.DeletionTimestamp = new(metav1.NewTime(made))
	return s
}

// firstGate returns a gate with the name that the first one gets.
func firstGate(g v1alpha1.Gate) v1alpha1.Gate {
	g.Name = "web-7f9c-3-1-0"
	return g
}

// after returns the release once everything in a scene is reported.
func after(s *scene) *v1alpha1.BatchRelease {
	for _, post := range Next(s.release, s.gates, Options{}) {
		s.release.Status.Report = After(s.release.Status.Report, post, made)
	}
	return s.release
}

func TestOnlyTheEndIsToldAfterManyPosts(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		posts int32
		want  []string
	}{
		"one is left":     {rolling(good), 899, []string{"900d pending batch 2/4: updating to 3 of 10 pods"}},
		"none is left":    {rolling(good), 900, nil},
		"but for failure": {rolling(good).failed("batch 2/4: no progress"), 900, []string{"900d failure batch 2/4: no progress"}},
		"but for the end": {rolling(good).completed(), 901, []string{"900d success released: 10/10 updated to 7f9c"}},
		"another commit":  {rolling(fix), 900, []string{"900d failure superseded by f1ef1ef at batch 1/4", "f1ef pending batch 2/4: updating to 3 of 10 pods"}},
	}
	for name, tc := range tests {
		tc.scene.told(good, v1alpha1.ReportContent{Kind: v1alpha1.ReportUpdating, Batch: 1, Batches: 4}, "batch 1/4: updating")
		tc.scene.release.Status.Report.Posts = tc.posts
		if diff := cmp.Diff(tc.want, lines(Next(tc.scene.release, nil, Options{}))); diff != "" {
			t.Errorf("%s: Next(...): -want +got:\n%s", name, diff)
		}
	}
}

func TestAfter(t *testing.T) {
	t.Parallel()
	post := Post{
		Status:  forge.StatusRequest{SHA: good, Context: context, State: forge.StatePending, Description: "one\ntwo", TargetURL: pullAt},
		Content: toldUpdating,
	}
	want := v1alpha1.ForgeReport{
		Content: &toldUpdating,
		Commit:  good, Context: context, State: "pending", Description: "one two", URL: pullAt, Posts: 1, Time: new(metav1.NewTime(made)),
	}
	if diff := cmp.Diff(&want, After(nil, post, made)); diff != "" {
		t.Errorf("the first: -want +got:\n%s", diff)
	}
	last := want.DeepCopy()
	last.DeploymentID, last.DeploymentTask, last.DeploymentState = 9, "task", "success"
	second := *last.DeepCopy()
	second.Posts = 2
	if diff := cmp.Diff(&second, After(last, post, made)); diff != "" {
		t.Errorf("the second, with the deployment as it was: -want +got:\n%s", diff)
	}
	post.Status.SHA = fix
	second.Commit, second.Posts = fix, 1
	if diff := cmp.Diff(&second, After(last, post, made)); diff != "" {
		t.Errorf("on another commit they count anew: -want +got:\n%s", diff)
	}
	if last.Posts != 1 {
		t.Error("what was told before must be left as it is")
	}
}

func TestContexts(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ cluster, prefix, release, sync string }{
		{"", "sluice/", "sluice/shop/web", "sluice/sync"},
		{"berlin", "sluice/berlin/", "sluice/berlin/shop/web", "sluice/berlin/sync"},
	} {
		o := Options{Cluster: tc.cluster}
		if got := strings.Join([]string{o.Prefix(), o.Context("shop", "web"), o.SyncContext()}, " "); got != tc.prefix+" "+tc.release+" "+tc.sync {
			t.Errorf("cluster %q: got %s", tc.cluster, got)
		}
	}
}

// TestAReleaseIsToldInFewRequests: three approvals on the way make eight statuses.
func TestAReleaseIsToldInFewRequests(t *testing.T) {
	t.Parallel()
	s := rolling(good)
	var told []string
	tell := func() {
		for _, post := range Next(s.release, s.gates, Options{}) {
			told = append(told, lines([]Post{post})...)
			s.release.Status.Report = After(s.release.Status.Report, post, made)
		}
	}
	for step, target := range []int32{1, 3, 6, 10} {
		s.status(func(status *v1alpha1.BatchReleaseStatus) {
			status.Batch, status.CurrentStepIndex = fmt.Sprintf("%d/4", step+1), int32(step)
			status.TargetReplicas, status.CurrentStepState = target, v1alpha1.StepUpgrade
			status.Gates = nil
		})
		for updated := range target {
			s.release.Status.UpdatedReplicas = updated
			tell()
		}
		if step == 3 {
			break
		}
		for number := range int64(2) { // the pull request is opened a moment later
			s.release.Status.Gates = nil
			g := approval()
			if g.Status.PullRequest.Number = number * int64(20+step); number == 0 {
				g.Status.Decision = ""
			}
			s.blockedOn(g)
			tell()
		}
	}
	s.completed()
	tell()
	want := []string{
		"900d pending batch 1/4: updating to 1 of 10 pods",
		"900d pending batch 1/4: 1/10 updated, waiting for approval #20 -> " + pullAt,
		"900d pending batch 2/4: updating to 3 of 10 pods",
		"900d pending batch 2/4: 3/10 updated, waiting for approval #21 -> " + pullAt,
		"900d pending batch 3/4: updating to 6 of 10 pods",
		"900d pending batch 3/4: 6/10 updated, waiting for approval #22 -> " + pullAt,
		"900d pending batch 4/4: updating to 10 of 10 pods",
		"900d success released: 10/10 updated to 7f9c",
	}
	if diff := cmp.Diff(want, told); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
