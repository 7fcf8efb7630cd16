package rollout

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
)

// TestRefusedStatusIsReportedAgain: a status that is refused over and over is reported once. Once
// one was written, a refusal is news again.
func TestRefusedStatusIsReportedAgain(t *testing.T) {
	t.Parallel()
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{cluster: &cluster{recorder: recorder, live: nothingLeft{}}}
	v := &view{process: newProcess(clock.RealClock{}), release: &v1alpha1.BatchRelease{}}
	refused := kube.Refused{Err: apierrors.NewForbidden(schema.GroupResource{Resource: "batchreleases"}, "web", nil)}
	unanswered := kube.Failed{Err: apierrors.NewInternalError(errors.New("no answer"))}
	for i, step := range []struct {
		outcome kube.Outcome
		events  int
	}{
		{refused, 1},
		{refused, 0},
		{kube.Unchanged{}, 0},
		{refused, 0},
		{unanswered, 1},
		{unanswered, 0},
		{kube.Written{}, 0},
		{unanswered, 1},
		{kube.Written{}, 0},
		{refused, 1},
	} {
		r.tellStatusRefused(t.Context(), v, step.outcome)
		if got := len(recorder.Events); got != step.events {
			t.Errorf("step %d, %T: %d events, want %d", i, step.outcome, got, step.events)
		}
		for len(recorder.Events) > 0 {
			<-recorder.Events
		}
	}
}
