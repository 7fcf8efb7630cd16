package statefulset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/rollout/mover"
	"github.com/sluice-dev/sluice/rollout/mover/inplace"
)

func TestBoundsAreTheNativeOnes(t *testing.T) {
	t.Parallel()
	value := func(s string) *intstr.IntOrString { return new(intstr.Parse(s)) }
	tests := map[string]struct {
		replicas    int32
		unavailable *intstr.IntOrString
		want        int32
	}{
		"one by default":              {10, nil, 1},
		"a share is rounded down":     {10, value("25%"), 2},
		"... to one at least":         {3, value("10%"), 1},
		"no more than there are":      {3, value("5"), 3},
		"none is one":                 {3, value("0"), 1},
		"what can't be read is one":   {3, value("a lot"), 1},
		"less than none is one":       {3, value("-2"), 1},
		"of no pods none can be that": {0, nil, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := Mover{}.Bounds(new(intstr.FromInt32(3)), test.unavailable, test.replicas)
			if want := (mover.Bounds{Unavailable: test.want}); got != want {
				t.Errorf("bounds %+v, want %+v", got, want)
			}
		})
	}
}

func TestHowAStatefulSetIsHeld(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		mover Mover
		held  bool
	}{
		"no ordinal reaches the partition":     {Mover{RollingUpdate: true, Partition: inplace.Held, Window: inplace.Held}, true},
		"Sluice has opened it":                 {Mover{RollingUpdate: true, Partition: 7, Window: 7}, true},
		"... all of it":                        {Mover{RollingUpdate: true, Partition: 0, Window: 0}, true},
		"somebody has closed it a little":      {Mover{RollingUpdate: true, Partition: 8, Window: 7}, true},
		"somebody has opened it":               {Mover{RollingUpdate: true, Partition: 7, Window: inplace.Held}, false},
		"somebody has opened it further":       {Mover{RollingUpdate: true, Partition: 6, Window: 7}, false},
		"pods are updated as they are deleted": {Mover{Window: inplace.Held}, false},
		"Sluice has set that":                  {Mover{Window: inplace.Anywhere}, true},
		"... and somebody has set it back":     {Mover{RollingUpdate: true, Window: inplace.Anywhere}, false},
		"... or closed it":                     {Mover{RollingUpdate: true, Partition: inplace.Held, Window: inplace.Anywhere}, true},
		"it is as its user has it":             {Mover{RollingUpdate: true, Window: inplace.Held}, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := test.mover.Native()
			if got.Secured != test.held || got.Ours != test.held || got.Free == test.held {
				t.Errorf("it is %+v, want held: %t", got, test.held)
			}
		})
	}
}

func TestWhatIsLostWouldComeBackOlder(t *testing.T) {
	t.Parallel()
	all := Mover{
		RollingUpdate: true, Partition: inplace.Held, Window: inplace.Held, Current: "v0",
		Workload: inplace.Workload{
			Observed: true, Replicas: 2, Update: "v1", Status: inplace.Status{Current: 2, Ready: 2, Available: 2, Updated: 2},
		},
	}
	with := func(change func(*Mover)) Mover {
		m := all
		change(&m)
		return m
	}
	tests := map[string]struct {
		mover Mover
		stale bool
	}{
		"all pods run a later version":                        {all, true},
		"... and the native controller has not seen the hold": {with(func(m *Mover) { m.Observed = false }), true},
		"the native controller has come to it":                {with(func(m *Mover) { m.Current = "v1" }), false},
		"not all pods run it":                                 {with(func(m *Mover) { m.Status.Updated = 1 }), false},
		"it would wait for a pod that is not ready":           {with(func(m *Mover) { m.Status.Ready = 1 }), false},
		"it has no pods":                                      {with(func(m *Mover) { m.Replicas, m.Status = 0, inplace.Status{} }), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.mover.Native().Stale; got != test.stale {
				t.Errorf("stale %t, want %t", got, test.stale)
			}
		})
	}
}

func TestCountsAreOfTheVersionsThatPodsComeBackIn(t *testing.T) {
	t.Parallel()
	full := func(pods, up, most int32, known bool) mover.Count {
		return mover.Count{
			Known: known, Wanted: pods, Current: up, Most: most, Ready: up, Available: up, Staying: up, StayingReady: up, Observed: true,
		}
	}
	type counts struct {
		Updated, Others mover.Count
		Settled, Unseen bool
	}
	tests := map[string]struct {
		scene *scene
		want  counts
	}{
		"pods of both": {held("1112"), counts{full(1, 1, 1, true), full(3, 3, 3, true), true, false}},
		"below the partition missing pods are others": {held("1-t2"), counts{full(1, 1, 1, true), full(3, 1, 3, true), true, false}},
		"above it they are updated":                   {held("1-t2").open(2), counts{full(2, 1, 2, true), full(2, 1, 2, true), false, false}},
		"where there is no other revision they are updated": {
			held("2-t2").but(sameRevision), counts{full(4, 2, 4, true), full(0, 0, 0, false), true, false},
		},
		"pods that spec.replicas does not ask for": {
			held("1122").scaledTo(3), counts{
				mover.Count{Known: true, Wanted: 1, Current: 2, Most: 2, Ready: 1, Available: 1, Staying: 1, StayingReady: 1, Observed: true},
				full(2, 2, 2, true), false, false,
			},
		},
		"... and that go": {held("112t").scaledTo(3), counts{full(1, 1, 1, true), full(2, 2, 2, true), true, false}},
		"of another template": {
			held("1112").but(func(s *scene) { s.Mover.Digest = "digest-v3" }), counts{full(0, 0, 0, false), full(4, 4, 4, true), true, false},
		},
		"what the status says is updated": {
			held("1112").but(unlisted(inplace.Status{Current: 4, Ready: 4, Available: 4, Updated: 4})), counts{full(4, 4, 4, true), full(0, 0, 0, true), true, false},
		},
		"... where others are too": {
			held("1112").but(unlisted(inplace.Status{Current: 4, Ready: 3, Available: 3, Updated: 2})), counts{
				mover.Count{Known: true, Wanted: 2, Current: 2, Most: 2, Ready: 1, Available: 1, Staying: 1, StayingReady: 1, Observed: true},
				full(2, 2, 2, true), true, false,
			},
		},
		"... with pods to go": {
			held("1112").but(unlisted(inplace.Status{Current: 6, Ready: 6, Available: 6, Updated: 2})), counts{
				full(2, 2, 2, true),
				mover.Count{Known: true, Wanted: 2, Current: 4, Most: 4, Ready: 2, Available: 2, Staying: 2, StayingReady: 2, Observed: true},
				false, false,
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := test.scene.Count("digest-v2")
			if diff := cmp.Diff(test.want, counts{c.Updated, c.Others, c.Settled, c.Unseen}); diff != "" {
				t.Errorf("counts (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.Updated.And(c.Others), c.All); diff != "" {
				t.Errorf("all (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoPodIsUpdatedBeforeTheTemplateIsSeen(t *testing.T) {
	t.Parallel()
	c := held("1112").but(func(s *scene) { s.Observed = false }).Count("digest-v2")
	if c.Updated.Known || c.Updated.Wanted != 0 || c.Others.Wanted != 4 || !c.Unseen || c.Settled {
		t.Errorf("counts are %+v, want four others, unseen", c)
	}
}

func TestPodsThatGoAwayDoNotRun(t *testing.T) {
	t.Parallel()
	s := held("11t2u")
	if old, updated := s.Runs("v1"), s.Runs("v2"); old != 2 || updated != 1 {
		t.Errorf("%d and %d pods run, want 2 and 1", old, updated)
	}
}

func TestWhatAStatefulSetIsScaledToFromNone(t *testing.T) {
	t.Parallel()
	broken := held("1a").open(0)
	tests := map[string]struct {
		scene  *scene
		filled bool
		want   mover.Write
	}{
		"pods come in the one revision there is": {held("--").but(sameRevision), true, nil},
		"pods came before the stable template was seen: the native controller replaces them": {
			held("11"), false, inplace.Window{Why: mover.StableGone},
		},
		"... as soon as it sees that": {held("11").open(0), false, nil},
		"... and one that does not serve would stop it": {
			broken, false, inplace.Replace{Pods: broken.Pods[1:], Why: mover.StableGone, Updated: true},
		},
		"it has not seen the last change": {held("11").but(func(s *scene) { s.Observed = false }), false, nil},
		"... though there is one revision": {
			held("11").but(sameRevision).but(func(s *scene) { s.Observed = false }), false, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.Refilled("v2", 0); got != test.filled {
				t.Errorf("filled is %t, want %t", got, test.filled)
			}
			if got := test.scene.Refill(mover.Beginning{Stable: "v2", Replicas: test.scene.Mover.Replicas}); !cmp.Equal(got, test.want) {
				t.Errorf("it writes %v, want %v", got, test.want)
			}
		})
	}
}

func TestSmallChanges(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		scene *scene
		want  bool
	}{
		"more follow once updated pods are available": {held("1111b").target(4).unavailable(2), true},
		"... none do that are waited for":             {held("a1112").target(4).unavailable(2), false},
		"as many as may go":                           {held("11112").target(4).unavailable(2), false},
		"as many as are missing":                      {held("1111b").target(2).unavailable(2), false},
		"none":                                        {held("1111b").target(2), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := test.scene.moves().Small; got != test.want {
				t.Errorf("small is %t, want %t", got, test.want)
			}
		})
	}
}

func several(s *scene) { s.AtOnce = 2 }

func unlisted(status inplace.Status) func(*scene) {
	return func(s *scene) { s.Listed, s.Status = false, status }
}

// TestNativeDeletions: the mover gives the native controller time for its own deletions, where it
// has the feature gate.
func TestNativeDeletions(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scene *scene
		want  bool
	}{
		"it deletes several":                   {held("11111").open(3).target(2).unavailable(2).but(several), true},
		"it may not be able to":                {held("11111").open(3).target(2).unavailable(2), false},
		"the partition is not its own to open": {held("11111").target(2).unavailable(2).but(several), false},
	} {
		if got := test.scene.moves().Native; got != test.want {
			t.Errorf("%s: native is %t, want %t", name, got, test.want)
		}
	}
}
