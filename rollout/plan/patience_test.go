package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/traffic"
)

// silentFor returns traffic whose route was given back, or gives the canary side nothing, and
// whose Gateway has not confirmed it.
func silentFor(held bool, unchanged time.Duration) *traffic.Seen {
	named := v1alpha1.TrafficRoute{Kind: v1alpha1.RouteHTTP, Name: "web", Service: "web"}
	return &traffic.Seen{
		Services: true, Unchanged: unchanged,
		Stable: traffic.Side{Made: true, Revision: "v1", Ready: 10, Steady: time.Hour}, Canary: traffic.Side{Made: true, Revision: "v2", Ready: 1, Steady: time.Hour},
		Routes: []traffic.Route{{TrafficRoute: named, Named: true, Held: held, Whole: held, Pending: []string{"Gateway dead"}}},
	}
}

func (s *scene) traffic(seen *traffic.Seen) *scene {
	s.Release.Spec.Strategy.Traffic = &v1alpha1.Traffic{Routes: []v1alpha1.TrafficRoute{seen.Routes[0].TrafficRoute}}
	seen.Stage = traffic.StageOf(s.Release, &s.Release.Status)
	s.Traffic = seen
	return s
}

// told returns the scene with the plan's status, for the next plan.
func (s *scene) told(p Plan) *scene {
	s.Release.Status = p.Status
	return s
}

func hasSilent(p Plan) bool {
	return slices.ContainsFunc(p.Events, func(e Event) bool { return e.Warning && e.Reason == v1alpha1.ReasonGatewaySilent })
}

// TestDeletionGoesOnWithoutSilentGateway: a release that is deleted waits for a Gateway that is
// silent until it has said that it does not any more, and then goes.
func TestDeletionGoesOnWithoutSilentGateway(t *testing.T) {
	t.Parallel()
	const enough = maxPatience + v1alpha1.DefaultTrafficDrainSeconds*time.Second
	s := held(10).sets(set("v1", 10), set("v2", 1)).deleted().traffic(silentFor(false, time.Minute))
	p := next(t, s)
	told := p.Status.Traffic
	if script(p) != nil || p.StatusFirst || told == nil || told.GaveUp || !slices.Equal(told.PendingParents, []string{"HTTPRoute web: Gateway dead"}) {
		t.Fatalf("want it to wait for the Gateway, and to say so: %q, %+v", script(p), told)
	}
	if left := enough - time.Minute; !told.AcceptDeadline.Equal(new(metav1.NewTime(noon.Add(left)))) || p.Wake() != left {
		t.Errorf("want it to wait until 12:04:10, got %v, and to look again then, got %v", told.AcceptDeadline, p.Wake())
	}
	again := next(t, s.told(p).but(func(o *Observation) { o.Now = noon.Add(2 * time.Second) }))
	if !again.Status.Traffic.AcceptDeadline.Equal(told.AcceptDeadline) {
		t.Errorf("the deadline is %v, and was %v: clocks differ by seconds", again.Status.Traffic.AcceptDeadline, told.AcceptDeadline)
	}

	p = next(t, s.traffic(silentFor(false, enough)))
	if !p.StatusFirst || len(p.Actions) > 0 || !p.Status.Traffic.GaveUp || !hasSilent(p) || !Urgent(&s.Release.Status, &p.Status) {
		t.Fatalf("want people to be told first, got %q, %+v, events %v", script(p), p.Status.Traffic, p.Events)
	}
	p = next(t, s.told(p))
	want := []string{"hand back with template v1", "annotate release finalizer=false"}
	got := script(p)
	if len(got) != len(want) || !strings.HasPrefix(got[0], want[0]) || !strings.HasPrefix(got[1], want[1]) || hasSilent(p) {
		t.Errorf("want %q, and people told once, got %q, events %v", want, got, p.Events)
	}
}

// TestDeletionWithoutWorkloadGoesOn: where the workload is gone, too, the release goes.
func TestDeletionWithoutWorkloadGoesOn(t *testing.T) {
	t.Parallel()
	gone := func(o *Observation) { o.Workload = nil }
	s := held(10).deleted().traffic(silentFor(false, time.Hour)).but(gone)
	if p := next(t, s.told(next(t, s))); len(p.Actions) != 1 {
		t.Errorf("want the finalizer taken off, got %q", script(p))
	}
}

// TestRollbackGoesOnWithoutSilentGateway: a rollback says once that it goes on without a Gateway,
// and does not fail.
func TestRollbackGoesOnWithoutSilentGateway(t *testing.T) {
	t.Parallel()
	s := rollingBack(10).sets(set("v1", 10), set("v2", 1)).traffic(silentFor(true, maxPatience-time.Second))
	p := next(t, s)
	if told := p.Status.Traffic; told == nil || told.GaveUp || told.AcceptDeadline == nil || hasSilent(p) {
		t.Fatalf("want it to wait, got %+v", told)
	}
	p = next(t, s.told(p).traffic(silentFor(true, maxPatience+2*time.Second)))
	if !p.Status.Traffic.GaveUp || !hasSilent(p) {
		t.Errorf("want it to say that it goes on, got %+v, events %v", p.Status.Traffic, p.Events)
	}
	if p = next(t, s.told(p)); hasSilent(p) {
		t.Error("want people to be told once")
	}
}

// TestPatienceIsShorterThanTheDeadline: the timeout of waiting is shorter than the progress
// deadline, whether the release sets it, the workload, or neither.
func TestPatienceIsShorterThanTheDeadline(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		release, workload *int32
		want              time.Duration
	}{
		"nobody":       {nil, nil, maxPatience},
		"the workload": {nil, new(int32(40)), 20 * time.Second},
		"the release":  {new(int32(60)), new(int32(40)), 30 * time.Second},
		"no deadline":  {nil, new(int32(1<<31 - 1)), maxPatience},
	} {
		s := held(10)
		s.Release.Spec.Strategy.ProgressDeadlineSeconds, s.Workload.ProgressDeadlineSeconds = test.release, test.workload
		if got := statusPatience(s.look()); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

// TestAReleaseWithoutItsWorkloadGivesItsRoutesBackByItsOwnDeadline: a release may have a progress
// deadline of its own and no workload any more, and still waits for its routes.
func TestAReleaseWithoutItsWorkloadGivesItsRoutesBackByItsOwnDeadline(t *testing.T) {
	t.Parallel()
	gone := func(o *Observation) {
		o.Release.Spec.Strategy.ProgressDeadlineSeconds, o.Workload = new(int32(60)), nil
	}
	for name, s := range map[string]*scene{
		"it is deleted": held(10).but(shared).but(gone).deleted(),
		"it stays":      held(10).but(shared).but(gone),
	} {
		if got := strings.Join(script(Next(s.Observation)), "; "); !strings.Contains(got, "HTTPRoute web") {
			t.Errorf("%s: plan is %q, want the route to be given back", name, got)
		}
	}
}
