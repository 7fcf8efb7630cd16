package journeys

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestStatefulSetWindowForged: at a gate a user opens the partition, and writes it into Sluice's
// annotation. It is closed again, and pods that the native controller updated meanwhile go back.
func TestStatefulSetWindowForged(t *testing.T) {
	w := newWorld(t)
	s := w.halfOfOrdinals(6)
	w.excuses(withinStep) // by whoever has opened it
	w.excuse.races = []law{neverFewer}
	for _, forged := range []struct{ window, strategy string }{
		{"1", `{"type":"RollingUpdate","rollingUpdate":{"partition":1}}`}, {"-1", `{"type":"OnDelete","rollingUpdate":null}`},
	} {
		w.forgeWindow(forged.window, forged.strategy)
		w.catchUp()
		w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6)), seenNatively))
	}
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
}

// TestStatefulSetUpdatedWhileAway: the partition is forged while Sluice is away, until all pods are
// updated. None can go back at the gate (S5): the release reports that, and a rollback replaces
// them.
func TestStatefulSetUpdatedWhileAway(t *testing.T) {
	w := newWorld(t)
	s := w.halfOfOrdinals(6)
	w.controllers[0].kill()
	w.excuses(withinStep)
	w.forgeWindow("0", `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`)
	w.await(all(places(from(0, 0, 6)), seenNatively))
	w.startController()
	w.await(all(web.blocksAt(0), closed, web.condition(v1alpha1.ConditionBeyondStep, v1alpha1.ReasonCameUpdated, "6 of 6 pods")))
	w.rollBack()
	w.wantUntouched(s, all(web.rolledBack(v1alpha1.TriggerAnnotation, "rollback=true"), web.serves("web:1", 6)))
}

// forgeWindow writes a partition as Sluice would, with its note in the hold.
func (w *world) forgeWindow(window, strategy string) {
	w.Helper()
	held := w.now().stateful().Annotations[v1alpha1.HoldAnnotation]
	w.kubectl("patch", "statefulset", "web", "--type=merge", "-p", fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"updateStrategy":%s}}`,
		v1alpha1.HoldAnnotation, strings.Replace(held, "{", fmt.Sprintf(`{"window":%q,`, window), 1), strategy))
}

// halfOfOrdinals has a release of web:2 stop after half of so many pods.
func (w *world) halfOfOrdinals(n int, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	w.Helper()
	w.startController()
	s := statefulSet(int32(n), change...)
	w.placed(s, int32(n))
	w.create(toStateful(step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), closed, places(from(0, n/2, n)), seenNatively))
	return s
}
