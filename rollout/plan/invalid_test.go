package plan

import (
	"strings"
	"testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// wrong returns steps that are invalid.
func wrong() []v1alpha1.Step {
	return []v1alpha1.Step{step("1"), step("50%"), step("30%"), step("100%")}
}

// decreases says what is wrong with the steps of a spoiled scene.
const decreases = `InvalidStrategy: spec.strategy.steps[2].replicas: Invalid value: "30%": must not be less than in a step before it`

// spoiled returns a scene whose steps are invalid by now.
func (s *scene) spoiled() *scene { return s.steps(wrong()...) }

// spoiledOrder returns a scene whose strategy is invalid though its steps are as they were.
func (s *scene) spoiledOrder() *scene {
	s.Release.Spec.Strategy.Order = []v1alpha1.OrderKey{{}}
	return s
}

func (s *scene) scaledTo(replicas int32) *scene {
	s.Workload.Replicas = replicas
	return s
}

// half returns a release whose second step, of 50%, is done.
func half() *scene { return held(10).at(1, 5).sets(set("v1", 5), set("v2", 5)) }

// all returns a release whose last step is done.
func all() *scene { return held(10).at(2, 10).sets(set("v1", 0), set("v2", 10)) }

// halfBack returns a rollback that has its half of the pods when its own steps become invalid.
func halfBack() *scene {
	s := rollingBack(10).sets(set("v1", 5), set("v2", 5)).status(func(s *v1alpha1.BatchReleaseStatus) {
		s.Replicas, s.TargetReplicas = 10, 5
	})
	s.Release.Spec.Rollback = &v1alpha1.RollbackStrategy{Steps: wrong()}
	return s
}

// notBegun sets a rollback that is only recorded: the workload still has the bad template.
func notBegun(s *scene) *scene {
	s.Workload.Digest, s.Workload.Revision = "digest-v2", "v2"
	return s.status(func(s *v1alpha1.BatchReleaseStatus) { notEntered(s); s.Replicas, s.TargetReplicas = 0, 0 })
}

func unpaused(o *Observation) { deploymentOf(o.Workload).Paused = false }

func failedPhase(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }

// TestInvalidStepsFollowReplicas: while its steps are invalid a release stands, and follows
// spec.replicas: no more pods run the new version than before, and no larger part of all.
func TestInvalidStepsFollowReplicas(t *testing.T) {
	t.Parallel()
	const more, fewer = ": more replicas: the added pods run the old version", ": fewer replicas: the batch shrinks in proportion"
	pausedAgain := []string{"take over: " + string(unpausedReason)}
	checkScripts(t, map[string]scripted{
		"nothing is begun":                           {running(10).spoiled(), nil},
		"at rest nothing happens":                    {half().spoiled(), nil},
		"the step is not carried on":                 {held(10).at(1, 5).sets(set("v1", 8), set("v2", 2)).spoiled(), nil},
		"no gate is opened, no step entered":         {half().gates(gate(1, 1, 0, passed)).spoiled(), nil},
		"more pods are of the version before":        {half().spoiled().scaledTo(20), []string{"scale v1 5 -> 15" + more}},
		"of fewer pods each version has its part":    {half().spoiled().scaledTo(4), []string{"scale v2 5 -> 2" + fewer, "scale v1 5 -> 3: batch 2/3"}},
		"nobody knows whether the step was a number": {half().steps(step("1"), step("5"), step("100%")).spoiled().scaledTo(4), []string{"scale v2 5 -> 2" + fewer, "scale v1 5 -> 3: batch 2/3"}},
		"one updated pod stays":                      {held(10).at(0, 1).sets(set("v1", 9), set("v2", 1)).spoiled().scaledTo(2), []string{"scale v1 9 -> 2: batch 1/3"}},
		"without pods the next are of the stable version": {
			half().spoiled().scaledTo(0), []string{"take over with template v1: scaled to 0: the next pods are of the stable revision v1"},
		},
		"back from none":         {half().sets(set("v1", 0), set("v2", 0)).spoiled(), []string{"take over with template v1: no version has pods: the next pods are of the stable revision v1"}},
		"in the last step: more": {all().spoiledOrder().scaledTo(14), []string{"scale v1 0 -> 4" + more}},
		"fewer":                  {all().spoiledOrder().scaledTo(4), []string{"scale v2 10 -> 4" + fewer}},
		"up from none all that there are had been approved": {
			all().sets(set("v1", 0), set("v2", 4)).bounds("0", "1").spoiledOrder().scaledTo(4).
				status(func(s *v1alpha1.BatchReleaseStatus) { s.Replicas, s.TargetReplicas = 0, 0 }), nil,
		},
		"a lone ReplicaSet has them all":  {all().sets(set("v1", 0), set("v2", 14)).spoiledOrder().scaledTo(14), nil},
		"whichever step they say it is":   {all().sets(set("v1", 0), set("v2", 14)).spoiled().scaledTo(14), nil},
		"but not where less was approved": {half().sets(set("v1", 0), set("v2", 14)).spoiled().scaledTo(14), []string{"scale v1 0 -> 1" + more}},
		"nobody knows how many of what has grown were approved: those that there are stay": {
			half().sets(set("v1", 5), set("v2", 6, available(0))).spoiled().scaledTo(12), []string{"scale v1 5 -> 7" + more},
		},
		"what the steps say now is not believed": {
			half().steps(step("100%"), step("100%"), step("5"), step("100%")).scaledTo(20), []string{"scale v1 5 -> 15" + more},
		},
		"who has unpaused the workload is put right": {half().spoiled().but(unpaused), pausedAgain},
		"who has edited its template is, too": {half().spoiled().but(func(o *Observation) {
			o.Workload.Digest, o.Resolved = "digest-v9", &Resolved{ResolvedTemplate: *resolved("v2")}
		}), []string{"take over with the template of the release: put back: the template of revision v2"}},
		"frozen as well": {half().spoiled().frozen(`{"reason":"weekend"}`).scaledTo(20), []string{"scale v1 5 -> 15" + more}},
		"failed":         {half().spoiled().scaledTo(20).status(failedPhase), []string{"scale v1 5 -> 15" + more}},
		"a rollback stands, if its own steps are meant":  {halfBack(), nil},
		"then more pods are of the version it goes to":   {halfBack().scaledTo(20), []string{"scale v1 5 -> 15: batch 1/2"}},
		"and fewer of the one that it leaves":            {halfBack().scaledTo(4), []string{"scale v1 5 -> 4" + fewer, "scale v2 5 -> 1: batch 1/2"}},
		"a rollback that is on record has its template":  {notBegun(halfBack()), []string{"needs to resolve template v1"}},
		"before its first step it follows spec.replicas": {halfBack().scaledTo(20).status(noBatch), []string{"scale v1 5 -> 15: follow spec.replicas"}},
	})
}

// TestInvalidStepsBeginNothingInARollback: a rollback has steps of its own. Where those of the
// release are invalid nothing takes the rollback's place, whatever the workload runs by then, but
// for another rollback.
func TestInvalidStepsBeginNothingInARollback(t *testing.T) {
	t.Parallel()
	back := func() *scene {
		return rollingBack(10).sets(set("v1", 5), set("v2", 5)).status(func(s *v1alpha1.BatchReleaseStatus) { s.Replicas, s.TargetReplicas = 10, 5 })
	}
	runsIt := func(o *Observation) { o.Workload.Digest, o.Workload.Revision = "digest-v3", "v3" }
	tests := map[string]struct {
		scene *scene
		want  string
	}{
		"another template waits":                        {back().resolved("v3").spoiled(), "v1"},
		"also if somebody has given it to the workload": {back().resolved("v3").but(runsIt).spoiled(), "v1"},
		"once they are fixed it begins":                 {back().resolved("v3"), "v3"},
		"what was stable goes without them":             {back().keep("v3").resolved("v3").spoiled(), "v3"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if p := next(t, test.scene); p.Status.UpdateRevision != test.want {
				t.Errorf("%s is released, want %s: %+v", p.Status.UpdateRevision, test.want, outcomeOf(p))
			}
		})
	}
}

// TestMendedStepsGoOn: once the steps are fixed the release goes on where it stopped, whatever it
// was scaled to meanwhile.
func TestMendedStepsGoOn(t *testing.T) {
	t.Parallel()
	for replicas, want := range map[int32]int32{10: 5, 20: 10, 4: 2, 3: 1} {
		stood := held(10).at(1, 5).sets(set("v1", replicas), set("v2", 0)).spoiled().scaledTo(replicas)
		p := next(t, stood)
		if len(p.Actions) > 0 || p.Status.Reason != v1alpha1.ReasonInvalidStrategy || p.Wake() != 0 {
			t.Errorf("of %d pods: want it to stand, got %q, %s: %s", replicas, script(p), p.Status.Reason, p.Status.Message)
		}
		stood.Release.Status = p.Status
		repaired := stood.steps(step("1"), step("50%"), step("100%")).look()
		_, task := follow(nothing(repaired))
		if task.Target != want {
			t.Errorf("scaled from 10 to %d: want %d updated pods at 50%%, got %d", replicas, want, task.Target)
		}
		if p = next(t, stood); p.Status.Reason != v1alpha1.ReasonUpgrading || !strings.HasPrefix(p.Status.Message, "batch 2/3: updating to ") {
			t.Errorf("what goes on says %s: %s", p.Status.Reason, p.Status.Message)
		}
	}
}

// TestShareThatWasEntered: the share of an entered step stays in proportion to its pods then.
func TestShareThatWasEntered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  share
	}{
		"in proportion":       {half(), share{5, 10}},
		"all, in the last":    {all(), share{10, 10}},
		"none, in the last":   {held(0).at(2, 0), share{}},
		"before it has begun": {held(10).at(1, 4).scaledFrom(0), share{4, 0}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.look().record.enteredShare(); got != test.want {
				t.Errorf("want %+v, got %+v", test.want, got)
			}
		})
	}
}

// TestPodsThatGoMustBeCounted: where the cluster does not count the pods that are going away, a
// release that is to wait for them does not begin, and a rollback goes on without.
func TestPodsThatGoMustBeCounted(t *testing.T) {
	t.Parallel()
	waits := func(o *Observation) { o.Release.Spec.Strategy.PodReplacement = v1alpha1.ReplaceWhenTerminated }
	counted := func(s *Set) { s.Terminating = new(int32(0)) }
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"not counted":   {running(10).but(waits), true},
		"counted":       {running(10).sets(set("v1", 10, counted)).but(waits), false},
		"not asked for": {running(10), false},
		"in a rollback": {rollingBack(10).sets(set("v1", 1), set("v2", 9)).but(waits), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := strings.HasPrefix(outcomeOf(next(t, test.scene)).Stalled, v1alpha1.ReasonInvalidStrategy+": spec.strategy.podReplacement")
			if refused != test.want {
				t.Errorf("refused is %t, want %t", refused, test.want)
			}
		})
	}
}

// TestConfigNeedsCopies: a release that somebody made by hand with spec.config does not begin, as
// nobody makes the copies.
func TestConfigNeedsCopies(t *testing.T) {
	t.Parallel()
	with := func(copied string) func(*Observation) {
		return func(o *Observation) {
			o.Release.Spec.Config = []v1alpha1.ConfigReference{{ConfigMap: "app", Copy: copied}}
		}
	}
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"by hand":       {running(10).but(with("")), true},
		"from Git":      {running(10).but(with("app-1")), false},
		"in a rollback": {rollingBack(10).sets(set("v1", 1), set("v2", 9)).but(with("")), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			refused := strings.HasPrefix(outcomeOf(next(t, test.scene)).Stalled, v1alpha1.ReasonInvalidStrategy+": spec.config: Forbidden: is for releases from a repository")
			if refused != test.want {
				t.Errorf("refused is %t, want %t", refused, test.want)
			}
		})
	}
}
