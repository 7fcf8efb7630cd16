package sim

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
	tales "github.com/sluice-dev/sluice/telemetry/story"
)

// ends are how releases end, by the reasons of the events that say so.
var ends = map[string]tales.Kind{
	v1alpha1.ReasonCompleted: tales.ReleaseCompleted, v1alpha1.ReasonRolledBack: tales.RolledBack,
	v1alpha1.ReasonSuperseded: tales.ReleaseSuperseded, v1alpha1.ReasonDeadlineExceeded: tales.ReleaseFailed,
}

// TestFactsAgreeWithEvents: whatever happens, what telemetry finds out from two versions of a status is what the planner says of itself, and no batch
// is done twice.
func TestFactsAgreeWithEvents(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := begin(t, rapid.Int32Range(1, 6).Draw(t, "replicas"))
		told := map[string]bool{}
		for range rapid.IntRange(0, 150).Draw(t, "events") {
			before, event, lags := w.version(), w.anything("event"), w.state.Lag.any()
			var said []plan.Event
			if event.Kind == Pass {
				asked := w.state.Clone()
				said = asked.Process.Pass(asked.World, Mishaps{}).Events
			}
			w.step(event)
			after := w.version()
			facts := tales.OfRelease(before, after, w.state.Now)
			if event.Kind == Pass && !lags { // a cache that lags has the same said again
				w.agree(said, facts, before.Status.Held != nil && before.Status.UpdateRevision != after.Status.UpdateRevision)
			}
			for i := range facts {
				if id := facts[i].ID(); facts[i].Kind == tales.BatchDone && told[id] {
					w.Fatalf("%s is told twice%s", id, w.story.String())
				} else {
					told[id] = true
				}
			}
		}
	})
}

// version is the release as the API server has it.
func (w *walk) version() *v1alpha1.BatchRelease {
	r := &w.state.Release
	return &v1alpha1.BatchRelease{ObjectMeta: metav1.ObjectMeta{UID: "u"}, Spec: *r.Spec, Status: *r.Status.DeepCopy()}
}

// agree compares which releases ended, as events and facts have it. That one was superseded is an event only where another
// version took its place on a workload that was held.
func (w *walk) agree(said []plan.Event, facts []tales.Fact, gaveWay bool) {
	want, got := map[tales.Kind]int{}, map[tales.Kind]int{}
	for _, event := range said {
		if kind, is := ends[event.Reason]; is {
			want[kind]++
		}
	}
	for i := range facts {
		for _, kind := range ends {
			if kind == facts[i].Kind && (gaveWay || kind != tales.ReleaseSuperseded) {
				got[kind]++
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Fatalf("facts are what events say (-events +facts):\n%s%s", diff, w.story.String())
	}
}
