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
// The partition leaves one pod: once all are updated, the native controller makes no other version
// (S5).
func TestStatefulSetWindowForged(t *testing.T) {
	w := newWorld(t)
	w.startController()
	s := statefulSet(6)
	w.placed(s, 6)
	w.create(toStateful(step("50%"), step("100%")))
	held := w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6)))).stateful().Annotations[v1alpha1.HoldAnnotation]
	w.excuses(withinStep) // by whoever has opened it
	w.excuse.races = []law{neverFewer}
	for _, forged := range []struct{ window, strategy string }{
		{"1", `{"type":"RollingUpdate","rollingUpdate":{"partition":1}}`}, {"-1", `{"type":"OnDelete","rollingUpdate":null}`},
	} {
		note := strings.Replace(held, "{", fmt.Sprintf(`{"window":%q,`, forged.window), 1)
		w.kubectl("patch", "statefulset", "web", "--type=merge", "-p",
			fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"updateStrategy":%s}}`, v1alpha1.HoldAnnotation, note, forged.strategy))
		w.catchUp()
		w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6)), seenNatively))
	}
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
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
