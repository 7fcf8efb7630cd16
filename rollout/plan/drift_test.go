package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// changed gives the workload the template v9, past the release.
func (s *scene) changed() *scene {
	s.Workload.Digest, s.Workload.Revision = "digest-v9", "v9"
	return s.sets(set("v1", 0), set("v9", s.Workload.Replicas))
}

// differing answers in which fields the template differs from the released one.
func (s *scene) differing(fields ...string) *scene {
	s.Drift = &Drift{Digest: "digest-v1", Fields: fields}
	return s
}

// respelled gives the template of the workload, and the released one, other defaults.
func (s *scene) respelled() *scene {
	s.Workload.Digest, s.Drift = "digest-respelled", &Drift{Digest: "digest-respelled"}
	return s
}

// toldOfDrift says that an earlier pass has reported it.
func (s *scene) toldOfDrift() *scene {
	before := Next(s.Observation)
	return s.status(func(status *v1alpha1.BatchReleaseStatus) { *status = before.Status })
}

const image = "spec.template.spec.containers[app].image: app:1 -> app:9"

func TestWatchDrift(t *testing.T) {
	t.Parallel()
	const rests, drifted = "Completed 3/3 Completed Completed", "Completed 3/3 Completed Drifted"
	done := func() *scene { return completed(10).resolved("v1") }
	rolledBack := func(s *v1alpha1.BatchReleaseStatus) {
		s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerAnnotation, From: "v2"}
		s.Quarantined, s.Reason = []string{"given-v2"}, v1alpha1.ReasonRolledBack
		s.Resolved.Given = "given-v2"
	}
	checkPlans(t, map[string]planned{
		"another template than the one released is compared with it": {
			done().changed(), outcome{Script: []string{"needs drift from the template of the release"}, Is: rests},
		},
		"after a rollback with the one that was rolled back to": {
			done().resolved("v2").changed().status(rolledBack),
			outcome{Script: []string{"needs drift from template v1"}, Is: "Completed 3/3 Completed RolledBack"},
		},
		"what differs is said, and nothing done": {done().changed().differing(image), outcome{Is: drifted}},
		"what does not count is no drift":        {done().changed().differing(), outcome{Is: rests}},
		"nor do other defaults of one version":   {done().respelled(), outcome{Is: rests}},
		"a workload that is gone has no drift":   {done().changed().differing(image).toldOfDrift().but(missing), outcome{Is: "Completed 3/3 Completed WorkloadNotFound"}},
		"drift: Revert goes back to what was released, on live reads": {
			done().changed().differing(image).cached().but(reverts), outcome{Script: []string{"needs release, workload"}, Is: "Completed 3/3 Completed Drifted"},
		},
		"which is on record before anything is written": {
			done().changed().differing(image).but(reverts), outcome{StatusFirst: true, Is: "RollingBack - Initial RollingBack"},
		},
		"it is looked for while the steps can't be read": {
			done().changed().spoiled(), outcome{Script: []string{"needs drift from the template of the release"}, Is: rests, Stalled: decreases},
		},
		"and told": {done().changed().differing(image).spoiled(), outcome{Is: drifted, Stalled: decreases}},
		"which keep it from being reverted": {
			done().changed().differing(image).spoiled().but(reverts), outcome{Is: drifted, Stalled: decreases},
		},
		"not while it is suspended": {done().changed().differing(image).but(reverts).but(suspended), outcome{Is: drifted}},
		"not soon after the last time": {
			done().changed().differing(image).but(reverts).status(revertedNow), outcome{Wake: tenMinutes, Is: drifted},
		},
		"it ends when the template is what it was":     {done().changed().differing(image).toldOfDrift().unchanged(), outcome{Is: rests}},
		"scaling is none, and nothing is asked for it": {done().cached().but(func(o *Observation) { o.Workload.Replicas = 3 }), outcome{Is: rests}},
		"Git brings the same template: that is released": {
			done().changed().differing(image).toldOfDrift().resolved("v9"),
			outcome{
				Script: []string{
					"keep template v9 (Released): revision v9 is stable",
					"annotate release current-stable-revision=v9 last-stable-revision=v1: revision v9 is stable",
				},
				Is: rests,
			},
		},
	})
}

// TestOldestReleaseRevertsDrift: where no release holds the workload, one of those that name it
// decides what it runs.
func TestOldestReleaseRevertsDrift(t *testing.T) {
	t.Parallel()
	beside := func(siblings ...Sibling) *scene {
		return completed(10).resolved("v1").changed().differing(image).but(reverts).but(func(o *Observation) {
			o.Release.CreationTimestamp, o.Siblings = metav1.NewTime(noon), siblings
		})
	}
	const shared = `WorkloadShared: Deployment "web" also belongs to BatchRelease "api", and only that one reverts changes (the one created first, or of the same second the first by name); delete one of the two`
	younger, older := Sibling{Name: "api", Created: noon.Add(1)}, Sibling{Name: "api", Created: noon.Add(-1)}
	goesBack := outcome{StatusFirst: true, Is: "RollingBack - Initial RollingBack"}
	leaves := outcome{Is: "Completed 3/3 Completed Drifted", Stalled: shared}
	checkPlans(t, map[string]planned{
		"the oldest does":             {beside(younger), goesBack},
		"a younger one says why not":  {beside(older), leaves},
		"the oldest of several":       {beside(younger, older, Sibling{Name: "db", Created: noon}), leaves},
		"of one second the name says": {beside(Sibling{Name: "api", Created: noon}), leaves},
		"... either way":              {beside(Sibling{Name: "zoo", Created: noon}), goesBack},
		"who only reports drift does so without a word of others": {
			beside(older).but(func(o *Observation) { o.Release.Spec.Drift = v1alpha1.DriftReport }),
			outcome{Is: "Completed 3/3 Completed Drifted"},
		},
	})
}

// reverts has drift reverted.
func reverts(o *Observation) { o.Release.Spec.Drift = v1alpha1.DriftRevert }

// revertedNow sets the end of a rollback from drift.
func revertedNow(s *v1alpha1.BatchReleaseStatus) {
	s.LastUpdateTime = &metav1.Time{Time: noon}
	s.Rollback = &v1alpha1.RollbackRecord{Trigger: v1alpha1.TriggerDrift, From: "v9"}
}

// unchanged takes back what changed has done.
func (s *scene) unchanged() *scene {
	s.Workload.Digest, s.Workload.Revision = "digest-v1", "v1"
	return s.sets(set("v1", s.Workload.Replicas))
}

func TestDriftIsToldOnce(t *testing.T) {
	t.Parallel()
	s := completed(10).resolved("v1").changed().differing(image).but(inShop)
	first := next(t, s)
	want := []Event{{Warning: true, Reason: v1alpha1.ReasonDrifted, Message: "the Deployment was changed out of band: " + image +
		"; undo it ('kubectl rollout undo deployment/web -n shop'), or commit it to Git"}}
	if diff := cmp.Diff(want, first.Events); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	condition := meta.FindStatusCondition(first.Status.Conditions, v1alpha1.ConditionDrifted)
	if condition == nil || condition.Reason != v1alpha1.ReasonTemplateChanged {
		t.Errorf("want the condition Drifted for that a template has changed, have %+v", condition)
	}
	if meta.IsStatusConditionTrue(first.Status.Conditions, v1alpha1.ConditionReady) {
		t.Error("Ready is true though the workload does not run what was released")
	}
	if again := next(t, s.toldOfDrift()); len(again.Events) > 0 {
		t.Errorf("it is told again: %v", again.Events)
	}
	if other := next(t, s.differing(image, "spec.template.spec.hostNetwork (added)")); len(other.Events) != 1 {
		t.Errorf("want what else has changed told, have %v", other.Events)
	}
	if over := next(t, s.unchanged()); meta.FindStatusCondition(over.Status.Conditions, v1alpha1.ConditionDrifted) != nil {
		t.Error("the condition stays though the template is what it was")
	}
}

// TestReleaseOverDrift: a rollback of the release that comes next goes to what was released, not to
// what somebody has made of it.
func TestReleaseOverDrift(t *testing.T) {
	t.Parallel()
	over := func() *scene { return completed(10).changed().resolved("v2") }
	checkScripts(t, map[string]scripted{
		"how the workload differs is known before it is taken over": {over(), []string{"needs drift from template v1"}},
		"the template that somebody has put there is none to go back to": {
			over().differing(image), []string{"take over with the template of the release: release v2"},
		},
		"pods that were only restarted are what was released": {
			over().differing(), []string{
				"keep template v9 (Adopted): kept to roll back to",
				"annotate release finalizer=true current-stable-revision=v9 last-stable-revision=v1: the workload is handed back before the release goes away",
				"take over with the template of the release: release v2",
			},
		},
	})
	if p := next(t, over().differing(image)); p.Status.StableRevision != "v1" {
		t.Errorf("the release goes back to %s, want v1", p.Status.StableRevision)
	}
}

// TestCompletedBeforeItsPodsAreAvailable: a first release completes before its pods are available.
// They are counted once more when all are; later changes at rest cost no write.
func TestCompletedBeforeItsPodsAreAvailable(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		had, now, want int32
	}{
		"All":       {had: 0, now: 10, want: 10},
		"TheRest":   {had: 7, now: 10, want: 10},
		"NotAll":    {had: 0, now: 9, want: 0},
		"LostSince": {had: 10, now: 3, want: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := completed(10).resolved("v1").sets(set("v1", 10, available(tc.now))).status(func(s *v1alpha1.BatchReleaseStatus) {
				s.UpdatedReplicas, s.UpdatedAvailableReplicas = 10, tc.had
			})
			if got := next(t, s).Status.UpdatedAvailableReplicas; got != tc.want {
				t.Errorf("%d updated pods are said to be available, want %d", got, tc.want)
			}
		})
	}
}
