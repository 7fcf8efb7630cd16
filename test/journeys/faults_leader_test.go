package journeys

import (
	"fmt"
	"net/http"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/sluice-dev/sluice/internal/app"
)

// electLeaders has the controllers of the journey take turns, by a Lease in its namespace.
func (w *world) electLeaders() {
	w.Helper()
	w.options = func(o *app.Options) { o.LeaderElection, o.LeaseNamespace = true, w.namespace }
	meta := metav1.ObjectMeta{Name: "leases", Namespace: w.namespace}
	w.create(
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create", "get", "update"},
		}}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "leases"},
			Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: "sluice-system", Name: "sluice-controller"}},
		})
}

// TestLateWriteOfAStoppedLeader: F07, a leader is stopped with a write in hand. Its lease runs out,
// another controller goes on, and then the write arrives: it rests on what is no more, is refused
// for that, and the release ends as without it.
func TestLateWriteOfAStoppedLeader(t *testing.T) {
	writes := moments(t.Name(), releaseWrites)
	for _, write := range writes[:len(writes)-1] { // the last is after the end
		t.Run(momentName(write, releaseWrites), func(t *testing.T) {
			w := newWorld(t)
			w.electLeaders()
			w.deployed(sixPods())
			w.create(threeBatches())
			p := w.behindProxy()
			first := w.startControllerHalting(write)
			w.awaitConfirming(first.halt.reached)
			p.stop()
			first.halt.goOn()
			w.await(p.inHand)
			w.proxy = nil
			second := w.startController()
			first.wantLost()

			done := all(web.completed, web.serves("web:2", 6))
			if write%2 == 0 { // as soon as the other has done the same, or in the end
				w.awaitConfirming(either(done, second.hasDone(first.halt.at())))
			} else {
				w.awaitConfirming(done)
			}
			answer := p.letThrough()
			t.Logf("%q arrives late: %s", first.halt.at(), http.StatusText(answer))
			// A JSON patch tests what it rests on, and is not to be processed if that is no more.
			if answer != http.StatusConflict && answer != http.StatusUnprocessableEntity {
				t.Errorf("want the late write refused because what it rests on has changed, got status %d", answer)
			}
			w.awaitConfirming(done)
			second.rest()
		})
	}
}

// hasDone wants the controller to have had an answer to a write, by its method and path.
func (c *controller) hasDone(request string) check {
	return func(*scene) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !c.answered[request] {
			return fmt.Errorf("want an answer to %q", request)
		}
		return nil
	}
}
