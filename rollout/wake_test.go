package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/sluice-dev/sluice/rollout/plan"
)

// TestReasonOfTheNextPassIsLogged: the log says when a release is decided on again though nothing
// has changed, and why.
func TestReasonOfTheNextPassIsLogged(t *testing.T) {
	t.Parallel()
	var logged []string
	logger := funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{Verbosity: 1})
	ctx, r := log.IntoContext(t.Context(), logger), newReconciler(&cluster{})
	wakes := []plan.Wake{{After: time.Minute, Why: plan.WakeDeadline}, {After: 10 * time.Second, Why: plan.WakeRefused}}
	if again := r.wakeFirst(ctx, wakes).RequeueAfter; again != 10*time.Second {
		t.Errorf("the next pass is after %s, want the first of %v", again, wakes)
	}
	if text := strings.Join(logged, "\n"); !strings.Contains(text, "10s") || !strings.Contains(text, string(plan.WakeRefused)) || !strings.Contains(text, string(plan.WakeDeadline)) {
		t.Errorf("the log says %q, want when, and all reasons", text)
	}
	if again := r.wakeFirst(ctx, nil).RequeueAfter; again != 0 || len(logged) != 1 {
		t.Errorf("a release at rest is decided on again after %s; the log has %q", again, logged)
	}
}
