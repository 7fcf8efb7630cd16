package telemetry

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	testclock "k8s.io/utils/clock/testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// kinds is told facts.
type kinds []story.Kind

// Tell implements Teller.
func (k *kinds) Tell(facts []story.Fact) {
	for i := range facts {
		*k = append(*k, facts[i].Kind)
	}
}

// TestEachChangeIsToldOnce: Informers show objects again after an interruption, and may miss
// versions, deletions and even that another object has the name.
func TestEachChangeIsToldOnce(t *testing.T) {
	t.Parallel()
	version := func(uid types.UID, version string, phase v1alpha1.Phase) *v1alpha1.BatchRelease {
		r := &v1alpha1.BatchRelease{}
		r.UID, r.ResourceVersion = uid, version
		r.Status.Attempt, r.Status.Phase = 1, phase
		return r
	}
	rolling, done := version("u", "1", v1alpha1.PhaseRollingUpdate), version("u", "2", v1alpha1.PhaseCompleted)
	waiting, passed := &v1alpha1.Gate{}, &v1alpha1.Gate{}
	waiting.ResourceVersion, passed.ResourceVersion, passed.Status.Decision = "1", "2", v1alpha1.DecisionPassed
	for name, test := range map[string]struct {
		see  func(toolscache.ResourceEventHandler, toolscache.ResourceEventHandler)
		want []story.Kind
	}{
		"a change":                {func(r, _ toolscache.ResourceEventHandler) { r.OnUpdate(rolling, done) }, []story.Kind{story.ReleaseCompleted}},
		"the same version again":  {func(r, _ toolscache.ResourceEventHandler) { r.OnUpdate(done, done); r.OnUpdate(rolling, rolling) }, nil},
		"what there was before":   {func(r, g toolscache.ResourceEventHandler) { r.OnAdd(done, true); g.OnAdd(passed, true) }, nil},
		"what was made meanwhile": {func(r, _ toolscache.ResourceEventHandler) { r.OnAdd(rolling, false) }, []story.Kind{story.ReleaseStarted}},
		"another of the same name": {func(r, _ toolscache.ResourceEventHandler) {
			r.OnUpdate(rolling, version("v", "3", v1alpha1.PhaseInitial))
		}, []story.Kind{story.ReleaseDeleted, story.ReleaseStarted}},
		"a deletion": {func(r, _ toolscache.ResourceEventHandler) { r.OnDelete(rolling) }, []story.Kind{story.ReleaseDeleted}},
		"a deletion that was missed": {func(r, _ toolscache.ResourceEventHandler) {
			r.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: rolling})
		}, []story.Kind{story.ReleaseDeleted}},
		"a gate":       {func(_, g toolscache.ResourceEventHandler) { g.OnAdd(waiting, false); g.OnUpdate(waiting, passed) }, []story.Kind{story.GateOpened, story.GatePassed}},
		"a gate again": {func(_, g toolscache.ResourceEventHandler) { g.OnUpdate(passed, passed); g.OnDelete(passed) }, nil},
		"what is no release": {func(r, g toolscache.ResourceEventHandler) {
			r.OnUpdate(waiting, passed)
			r.OnDelete("x")
			g.OnUpdate(rolling, done)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told kinds
			w := NewWatcher(nil, testclock.NewFakePassiveClock(time.Unix(0, 0)), &told)
			test.see(releases{w}, gates{w})
			if !slices.Equal(told, test.want) {
				t.Errorf("got %v, want %v", told, test.want)
			}
		})
	}
	if w := NewWatcher(nil, nil); !w.NeedLeaderElection() {
		t.Error("want one process to tell")
	}
}

// forgets is told facts, and what to forget.
type forgets struct {
	kinds

	gone []types.UID
}

// Forget implements Forgetter.
func (f *forgets) Forget(release types.UID) { f.gone = append(f.gone, release) }

// TestGoneReleasesAreForgotten: the data of a release goes with it, also without a notice of that.
func TestGoneReleasesAreForgotten(t *testing.T) {
	t.Parallel()
	var told forgets
	see := releases{NewWatcher(nil, testclock.NewFakePassiveClock(time.Unix(0, 0)), new(kinds), &told)}
	last, next := &v1alpha1.BatchRelease{}, &v1alpha1.BatchRelease{}
	last.UID, last.ResourceVersion, next.UID, next.ResourceVersion = "u", "1", "v", "2"
	see.OnUpdate(last, next)
	see.OnDelete(toolscache.DeletedFinalStateUnknown{Obj: next})
	if want := []types.UID{"u", "v"}; !slices.Equal(told.gone, want) || len(told.kinds) > 0 {
		t.Errorf("want %v forgotten and nothing told, got %v and %v", want, told.gone, told.kinds)
	}
}
