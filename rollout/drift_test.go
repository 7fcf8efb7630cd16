package rollout

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestRefusedDriftIsAskedAgain: the answer about drift stands as long as the templates do. A
// refusal of the released template stands for a minute, and wakes the release then: a policy may
// accept the template later, and only then can it be restored.
func TestRefusedDriftIsAskedAgain(t *testing.T) {
	t.Parallel()
	now := clocktesting.NewFakePassiveClock(time.Date(2026, time.November, 28, 12, 0, 0, 0, time.UTC))
	c := &recorder{workload: withWeb1, makes: web2, refuses: apierrors.NewForbidden(schema.GroupResource{}, "web", nil)}
	r := newReconciler(&cluster{client: c, live: c, clock: now})
	process := newProcess(now)
	ask := func(reason string, wantDigest string, wantWake time.Duration) {
		t.Helper()
		v := seen(t, withWeb1)
		v.process = process
		v.release.Name, v.release.Namespace = "web", "shop"
		v.release.Spec.WorkloadRef = v1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}
		v.release.Spec.Template = &runtime.RawExtension{Raw: []byte(web2)}
		if err := r.observer.readDrift(t.Context(), v, plan.Template{Given: true}); err != nil {
			t.Fatalf("%s: %v", reason, err)
		}
		if got := v.facts.Drift; got.Digest != wantDigest || len(got.Fields) != 1 {
			t.Errorf("%s: have %+v, want one field, and digest %q", reason, got, wantDigest)
		}
		if wake := plan.First(v.wakes); wake.After != wantWake {
			t.Errorf("%s: it wakes after %s, want %s", reason, wake.After, wantWake)
		}
	}
	ask("a policy refuses the released template", "", refusalMemory)
	c.refuses = nil
	now.SetTime(now.Now().Add(time.Second))
	ask("the policy is gone since a second", "", refusalMemory-time.Second)
	now.SetTime(now.Now().Add(refusalMemory))
	ask("the refusal is old", digestOfJSON(t, web2), 0)
	c.makes = web1
	now.SetTime(now.Now().Add(time.Hour))
	ask("the difference is known", digestOfJSON(t, web2), 0)
}
