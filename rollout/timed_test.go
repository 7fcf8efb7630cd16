package rollout

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestTimedPlanIsNoted: the time that the last plan of a pass waits for because the release says so
// does not count for its deadline; that of a pass before does.
func TestTimedPlanIsNoted(t *testing.T) {
	t.Parallel()
	at := func(seconds int) time.Time { return time.Unix(int64(seconds), 0) }
	status := v1alpha1.BatchReleaseStatus{CurrentStepState: v1alpha1.StepUpgrade, Progress: &v1alpha1.Progress{Since: metav1.Unix(1, 0)}}
	process := newProcess(testingclock.NewFakePassiveClock(at(0)))
	pass := func(now time.Time, p plan.Plan) plan.Watched {
		v := &view{process: process, persisted: status, gone: true}
		if _, err := (shell{v: v}).Settle(context.Background(), p, nil); err != nil {
			t.Fatal(err)
		}
		v.noteLook(nil, now)
		return process.watches.Watched(&status, now.Add(20*time.Second))
	}
	if got := pass(at(0), plan.Plan{Timed: 30 * time.Second}); got.Progress != 0 || got.Timed != 20*time.Second {
		t.Errorf("want 20s that do not count, got %+v", got)
	}
	if got := pass(at(10), plan.Plan{}); got.Progress != 20*time.Second || got.Timed != 10*time.Second {
		t.Errorf("want 20s that count after 10s that do not, got %+v", got)
	}
}
