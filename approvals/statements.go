package approvals

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/forge"
	"github.com/sluice-dev/sluice/internal/plain"
	"github.com/sluice-dev/sluice/proof"
)

// Statements keeps the signed statements about gates in their repositories.
type Statements struct {
	gates  store[*v1alpha1.Gate]
	forges *connections
}

// keepAgain is the time after which a statement is written again that the forge did not take.
const keepAgain = 5 * time.Minute

// Reconcile writes the statement about a gate, and records that.
func (r *Statements) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	g, found, err := r.gates.read(ctx, req.NamespacedName, &v1alpha1.Gate{})
	if err != nil || !found || !unkept(g) {
		return reconcile.Result{}, err
	}
	release, err := releaseOf(ctx, r.gates.client, g)
	if err != nil || release == nil {
		return reconcile.Result{}, err
	}
	source, err := r.gates.sourceOf(ctx, r.gates.client, release)
	if err != nil || source == nil || source.Spec.Forge == nil {
		return reconcile.Result{}, err
	}
	key, err := r.gates.key()
	if err != nil {
		return reconcile.Result{}, err
	}
	statement, is := own(g, key)
	if !is || statement.Source != source.Namespace+"/"+source.Name {
		r.tell(release, g, "this controller's key has not signed it, or it is about another gate or source")
		return reconcile.Result{}, nil
	}
	file := forge.KeptFile{
		Ref: proof.Ref, Path: statement.Path(), Content: []byte(g.Status.Attestation), At: statement.Predicate.Decided,
		Message: fmt.Sprintf("Gate %s of release %s has passed\n", statement.Gate, statement.Release),
	}
	var refused error // it says nothing about the forge's other answers, which need not wait
	err = r.forges.ask(ctx, source, false, func(ctx context.Context, api forge.Client) error {
		refused = api.Keep(ctx, file)
		return ctx.Err()
	})
	switch {
	case err != nil:
		return reconcile.Result{RequeueAfter: max(r.gates.until(retryAt(err)), time.Second)}, nil
	case forge.KindOf(refused) == forge.Conflict:
		return reconcile.Result{}, refused
	case refused != nil:
		r.tell(release, g, refused.Error())
		return reconcile.Result{RequeueAfter: keepAgain}, nil //nolint:nilerr // the event has it
	}
	on := &subject[*v1alpha1.Gate]{store: r.gates, object: g}
	_, err = on.changeStatus(ctx, "record that the statement is kept", func(g *v1alpha1.Gate) { g.Status.AttestationKept = true })
	return reconcile.Result{}, err
}

// tell publishes an event that says why the repository lacks the statement about a gate.
func (r *Statements) tell(release *v1alpha1.BatchRelease, g *v1alpha1.Gate, why string) {
	r.gates.events.Eventf(release, g, corev1.EventTypeWarning, "NotKept", "KeepStatement", "%s", plain.UpTo(
		fmt.Sprintf("the statement about gate %s is in its status alone: %s", g.Name, plain.Line(why)), longestNote))
}

// unkept reports whether a gate has a statement that its repository lacks.
func unkept(g *v1alpha1.Gate) bool { return g.Status.Attestation != "" && !g.Status.AttestationKept }

// own reads the statement about a gate. It reports false for one that this controller's key has not
// signed, or about another gate: anyone may have written the status.
func own(g *v1alpha1.Gate, key *proof.Key) (proof.Statement, bool) {
	statement, _, err := key.Trusted().Open([]byte(g.Status.Attestation))
	is := err == nil && statement.Gate == g.Name && statement.Release == g.Namespace+"/"+g.Spec.ReleaseRef.Name &&
		statement.Attempt == g.Spec.Attempt && statement.Predicate.UID == string(g.Spec.ReleaseRef.UID)
	return statement, is
}
