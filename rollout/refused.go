package rollout

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/kube"
	"github.com/sluice-dev/sluice/rollout/plan"
)

// errRefused says that a write was refused for what it says. The memory has it.
var errRefused = errors.New("the API server refuses the write")

// refusal reports whether the API server refuses a request for what it says, so that sending it again is of no use:
// it breaks a rule, a right is missing, a quota is used up, or who is asked at admission says no. What is merely
// outdated, too much at the moment, or broken is no refusal.
func refusal(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) {
		return false
	}
	switch code := status.Status().Code; code {
	case http.StatusUnauthorized, http.StatusNotFound, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return false
	default:
		return code >= http.StatusBadRequest && code < http.StatusInternalServerError
	}
}

// refusedFor is why a write is refused, or what was made of it; nil if neither is so.
func refusedFor(err error) *plan.Refusal {
	other := (*rewritten)(nil)
	switch {
	case errors.As(err, &other):
		return &plan.Refusal{Why: other.Error(), Rewritten: true, Written: other.written}
	case refusal(err):
		return &plan.Refusal{Why: kube.Refusal(err)}
	default:
		return nil
	}
}

// refuse keeps in mind that an action is refused.
func (m *memory) refuse(release *v1alpha1.BatchRelease, action plan.Action, refused plan.Refusal, now time.Time) {
	refused.Write, refused.Generation = plan.WriteOf(action), release.Generation
	m.refusals = m.refusals.With(refused, now, rand.Float64()) //nolint:gosec // when to try again is no secret
}

// tellStatusRefused tells people, once, what the status can't tell them.
func (r *Reconciler) tellStatusRefused(v *view, err error) {
	if !refusal(err) {
		return
	}
	why := kube.Refusal(err)
	if v.memory.statusRefused != why {
		v.memory.statusRefused = why
		r.tell(v.release, []plan.Event{{
			Warning: true, Reason: v1alpha1.ReasonWriteRefused, Message: "the API server refuses to write the status: " + why,
		}})
	}
}
