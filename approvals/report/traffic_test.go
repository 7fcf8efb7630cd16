package report

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// shared has routes share the requests of a release.
func (s *scene) shared() *scene {
	steps := s.release.Spec.Strategy.Steps
	steps[0].Traffic, steps[1].Traffic, steps[2].Traffic = "0%", "10%", "50%"
	steps[0].Matches, steps[2].Matches = make([]v1alpha1.RequestMatch, 1), make([]v1alpha1.RequestMatch, 2)
	s.release.Spec.Strategy.Traffic = &v1alpha1.Traffic{}
	s.release.Status.Traffic = &v1alpha1.TrafficStatus{Weight: 10, TargetWeight: 10, StableRevision: "58d4", CanaryRevision: "7f9c"}
	return s
}

func (s *scene) shares(change func(*v1alpha1.TrafficStatus)) *scene {
	change(s.release.Status.Traffic)
	return s
}

// atStep has the release be at a step, counted from 0.
func (s *scene) atStep(step, target int32) *scene {
	s.release.Status.CurrentStepIndex, s.release.Status.TargetReplicas = step, target
	return s
}

// blockedBy has a problem keep the routes from being shared.
func (s *scene) blockedBy(problem v1alpha1.TrafficProblem) *scene {
	s.release.Status.StalledBy, s.release.Status.Traffic.Problem = v1alpha1.StallTrafficBlocked, &problem
	s.release.Status.Message = "what nothing decides by"
	return s
}

// TestTrafficInStatuses: a status says what share of the requests its batch gives, and nothing that
// changes within seconds.
func TestTrafficInStatuses(t *testing.T) {
	t.Parallel()
	gone := v1alpha1.TrafficProblem{Type: v1alpha1.TrafficRouteNotFound, Object: "HTTPRoute shop/web", Message: "it does not exist"}
	const goneWords = "requests can't be moved: HTTPRoute shop/web: it does not exist: create it, or correct strategy.traffic.routes"
	ended := func(t *v1alpha1.TrafficStatus) { t.Ending, t.Weight = &v1alpha1.TrafficEnding{}, 100 }
	moved := v1alpha1.ReportContent{Kind: v1alpha1.ReportUpdating, Batch: 2, Batches: 4}
	tests := map[string]struct {
		scene *scene
		want  []string
	}{
		"rolling":     {rolling(good).shared(), []string{"900d pending batch 2/4: updating to 3 of 10 pods, 10% of requests"}},
		"the first":   {rolling(good).shared().atStep(0, 1), []string{"900d pending batch 1/4: updating to 1 of 10 pods, 0% of requests and 1 match"}},
		"several":     {rolling(good).shared().atStep(2, 6), []string{"900d pending batch 3/4: updating to 6 of 10 pods, 50% of requests and 2 matches"}},
		"the last":    {rolling(good).shared().atStep(3, 10), []string{"900d pending batch 4/4: updating to 10 of 10 pods, 100% of requests"}},
		"no pods yet": {rolling(good).shared().but(func(s *scene) { s.release.Status.Traffic = nil }), []string{"900d pending batch 2/4: updating to 3 of 10 pods, 10% of requests"}},
		"at a gate":   {rolling(good).shared().blockedOn(smoke()), []string{"900d pending batch 2/4: 3/10 updated, 10% of requests, waiting for ci/smoke"}},
		"rejected":    {rolling(good).shared().blockedOn(decided(smoke(), v1alpha1.DecisionRejected, "it failed")), []string{"900d failure batch 2/4: 3/10 updated, 10% of requests, rejected: it failed"}},
		"after gates": {rolling(good).shared().atStep(3, 10).shares(ended), []string{"900d pending batch 4/4: 10/10 updated, 100% of requests, old pods go, and the routes get back what they had"}},
		"after a delay": {rolling(good).shared().atStep(3, 10).shares(ended).but(func(s *scene) {
			s.release.Spec.Strategy.Traffic.KeepOldPods, s.release.Spec.Strategy.Traffic.OldPodsDelaySeconds = true, 5400
		}), []string{"900d pending batch 4/4: 10/10 updated, 100% of requests, after 1h30m0s old pods go, and the routes get back what they had"}},
		"blocked":            {rolling(good).shared().blockedBy(gone), []string{"900d pending batch 2/4: " + goneWords}},
		"blocked at a gate":  {rolling(good).shared().blockedOn(smoke()).blockedBy(gone), []string{"900d pending batch 2/4: " + goneWords}},
		"blocked at its end": {rolling(good).shared().atStep(3, 10).shares(ended).blockedBy(gone), []string{"900d pending batch 4/4: " + goneWords}},
		"blocked at first": {rolling(good).shared().blockedBy(v1alpha1.TrafficProblem{Type: v1alpha1.TrafficDisabled, Message: "the controller runs without --traffic"}).status(func(s *v1alpha1.BatchReleaseStatus) {
			s.Phase, s.State, s.StepStartedAt = v1alpha1.PhaseInitial, v1alpha1.StateStarting, nil
		}), []string{"900d pending requests can't be moved: the controller runs without --traffic: run it with --traffic, or take strategy.traffic out of the release"}},
		"a problem of before": {rolling(good).shared().blockedBy(gone).status(func(s *v1alpha1.BatchReleaseStatus) {
			s.StalledBy = ""
		}), []string{"900d pending batch 2/4: updating to 3 of 10 pods, 10% of requests"}},
		"failed":          {rolling(good).shared().blockedBy(gone).failed("batch 2/4: no progress"), []string{"900d failure batch 2/4: no progress"}},
		"rolled back":     {rolling(bad).shared().takenBack(), []string{"bad0 failure rolling back to 58d4: rollback=true was requested"}},
		"back is blocked": {rolling(bad).shared().takenBack().blockedBy(gone), []string{"bad0 failure rollback stuck on the way to 58d4: " + strings.TrimSuffix(goneWords, " strategy.traffic.routes") + "…"}},
		"reverted in Git": {rolling(fix).shared().reverted(), []string{"f1ef pending reverting to 58d4: batch 1/2: updating to 1 of 10 pods"}},
		"completed":       {rolling(good).shared().completed(), []string{"900d success released: 10/10 updated to 7f9c"}},
	}
	for _, awaits := range []v1alpha1.TrafficAwaited{v1alpha1.AwaitedServices, v1alpha1.AwaitedDrain, ""} {
		s := rolling(good).shared().told(good, moved, "batch 2/4: updating to 3 of 10 pods, 10% of requests")
		s.status(func(status *v1alpha1.BatchReleaseStatus) {
			status.State, status.Reason = v1alpha1.StateShifting, v1alpha1.ReasonShiftingTraffic
		})
		s.shares(func(t *v1alpha1.TrafficStatus) { t.Weight, t.Awaits, t.Since = 3, awaits, new(metav1.NewTime(made)) })
		tests["told, and waits for "+string(awaits)] = struct {
			scene *scene
			want  []string
		}{s, nil}
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

// TestTrafficInApprovals: who answers a pull request reads what that does to requests.
func TestTrafficInApprovals(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*v1alpha1.Gate, *v1alpha1.BatchRelease){
		"traffic": func(*v1alpha1.Gate, *v1alpha1.BatchRelease) {},
		"traffic-evil": func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
			g.Spec.Policy.OnReject = v1alpha1.RejectRollback
			r.Status.Traffic.Matches = 1
			r.Status.Traffic.Problem = &v1alpha1.TrafficProblem{Type: v1alpha1.TrafficNotAccepted, Object: evil, Message: evil}
		},
		"traffic-last": func(g *v1alpha1.Gate, r *v1alpha1.BatchRelease) {
			g.Spec.Step, r.Status.Batch = 3, "4/4"
			r.Spec.Strategy.Traffic.KeepOldPods, r.Spec.Strategy.Traffic.OldPodsDelaySeconds = true, int32(2*time.Hour/time.Second)
			r.Status.Traffic.CanaryRevision = "c0de" // a version that was superseded, before the side is pointed anew
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, release, batch := asked()
			(&scene{release: release}).shared()
			change(g, release)
			title, body := Approval(g, release, batch)
			compare(t, filepath.Join("testdata", name+".md"), title+"\n\n"+body)
			if name == "traffic-evil" {
				body = span.ReplaceAllString(body, "CODE")
				if strings.Contains(body, "octocat") || strings.Contains(body, "script") {
					t.Errorf("what a Gateway said stands outside of code:\n%s", body)
				}
			}
		})
	}
}
