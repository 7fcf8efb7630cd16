package podwatch

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// FreshFor exports freshFor to the external tests.
const FreshFor = freshFor

// TestFreshness: the first pods of a watch are as fresh as a list only within a time from when they
// were asked for, however late they come, and only for the first who asks, who has not read them
// meanwhile.
func TestFreshness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that no time passes
		release, what := types.NamespacedName{Name: "web"}, Pods{}
		for name, test := range map[string]struct {
			asked, begun time.Duration // so long ago
			late         bool          // somebody asks before the watch has seen all pods
			relisted     bool
			want, before Seen
		}{
			"at once":                             {want: Fresh},
			"in time":                             {asked: freshFor - time.Second, want: Fresh},
			"the answer takes long":               {asked: freshFor, want: All},
			"a list of a cache":                   {relisted: true, want: All},
			"asked for before, in time":           {late: true, before: Begun, want: Fresh},
			"read by who did not wait any longer": {begun: grace, late: true, before: Late, want: All},
		} {
			synced := !test.late
			e := &entry{
				what: what, store: cache.NewStore(cache.MetaNamespaceKeyFunc), synced: func() bool { return synced }, stop: func() {},
				version: func() string { return "" }, begun: time.Now().Add(-test.begun),
			}
			e.asked.Store(new(time.Now().Add(-test.asked)))
			e.relisted.Store(test.relisted)
			w := &Watches{entries: map[types.NamespacedName]*entry{release: e}}
			ask := func(want Seen) {
				t.Helper()
				if _, seen, err := w.Of(release, what); seen != want || err != nil {
					t.Errorf("%s: seen %d, %v, want %d", name, seen, err, want)
				}
			}
			if test.late {
				ask(test.before)
				synced = true
			}
			ask(test.want)
			ask(All)
		}
	})
}

// TestFreshPodsAreOvertakenByTime: Fresh pods that are not acted on in time are to be read after
// all.
func TestFreshPodsAreOvertakenByTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // so that no time passes
		release := types.NamespacedName{Name: "web"}
		e := &entry{synced: func() bool { return true }}
		w := &Watches{entries: map[types.NamespacedName]*entry{release: e}}
		for ago, want := range map[time.Duration]bool{0: false, freshFor - time.Second: false, freshFor: true} {
			e.asked.Store(new(time.Now().Add(-ago)))
			if got := w.Overtaken(release, nil, true); got != want {
				t.Errorf("fresh pods asked for %v ago: overtaken: %t, want %t", ago, got, want)
			}
			if w.Overtaken(release, nil, false) {
				t.Errorf("pods that were read are overtaken %v after the watch was asked for", ago)
			}
		}
	})
}
