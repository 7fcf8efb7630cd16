package approvals

import (
	"context"

	corev1 "k8s.io/api/core/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/proof"
)

// attest adds the signed statement to the status of a gate that passes. It signs nothing but what
// this process has just decided itself: anyone may have written a status. A gate passes without a
// statement if the key can't be read, and an event says so.
func (j *judging) attest(ctx context.Context, decided *v1alpha1.GateStatus) error {
	if j.store.key == nil || j.release == nil || decided.Decision != v1alpha1.DecisionPassed {
		return nil
	}
	source, err := j.store.sourceOf(ctx, j.store.live, j.release)
	if err != nil {
		return err
	}
	statement, found := proof.StatementOf(j.object, *decided, j.release, source)
	if !found {
		return nil
	}
	key, err := j.store.key()
	if err == nil {
		var envelope []byte
		envelope, err = key.Sign(statement)
		decided.Attestation = string(envelope)
	}
	if err != nil {
		j.store.events.Eventf(j.release, j.object, corev1.EventTypeWarning, "NotAttested", "SignStatement", "%s",
			plain.UpTo("no statement is signed about gate "+j.object.Name+": "+plain.Line(err.Error()), longestNote))
	}
	return nil
}
