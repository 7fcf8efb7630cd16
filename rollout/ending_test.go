package rollout

import (
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// A hand-back is told of only if the end of the release takes long: not where the status has more to say, nor where nothing was handed back.
func TestHandBackAloneMayWaitToBeTold(t *testing.T) {
	t.Parallel()
	rolling := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseRollingUpdate, Attempt: 1}
	finalizing := v1alpha1.BatchReleaseStatus{Phase: v1alpha1.PhaseFinalizing, Attempt: 1}
	but := func(s v1alpha1.BatchReleaseStatus, change func(*v1alpha1.BatchReleaseStatus)) v1alpha1.BatchReleaseStatus {
		change(&s)
		return s
	}
	now := time.Now()
	for name, test := range map[string]struct {
		handedBack     time.Time
		stored, status v1alpha1.BatchReleaseStatus
		waits          bool
	}{
		"a moment ago":              {now, rolling, finalizing, true},
		"a while ago":               {now.Add(-time.Minute), rolling, finalizing, false},
		"not by this process":       {time.Time{}, rolling, finalizing, false},
		"told of already":           {now, finalizing, finalizing, false},
		"another attempt":           {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Attempt = 2 }), finalizing, false},
		"another phase":             {now, rolling, but(finalizing, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseFailed }), false},
		"a gate on record":          {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Gates = make([]v1alpha1.GateReference, 1) }), finalizing, false},
		"a gate passed by force":    {now, rolling, but(finalizing, func(s *v1alpha1.BatchReleaseStatus) { s.Forced = make([]v1alpha1.ForcedGate, 1) }), false},
		"the end of a rollback":     {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseRollingBack }), finalizing, true},
		"the release had not begun": {now, but(rolling, func(s *v1alpha1.BatchReleaseStatus) { s.Phase = v1alpha1.PhaseInitial }), finalizing, false},
	} {
		r := &Reconciler{clock: clock.RealClock{}, processes: newProcesses(clock.RealClock{})}
		v := &view{process: newProcess(r.clock), release: &v1alpha1.BatchRelease{}, persisted: test.stored}
		v.release.ResourceVersion, v.process.ending.since = "7", test.handedBack
		wait := r.mayWait(v, &test.status)
		if waits := wait > 0 && wait <= endsWithin; waits != test.waits {
			t.Errorf("%s: it waits for %v", name, wait)
		}
		if kept := v.process.ending.version == "7"; test.waits && !kept {
			t.Errorf("%s: the status is not kept", name)
		}
	}
}
