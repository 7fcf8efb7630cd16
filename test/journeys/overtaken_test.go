package journeys

import (
	"net/http"
	"path"
	"strings"
	"sync/atomic"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestPodChangesBeforeItsDeletion: a pod that changes while its deletion is on the way is looked at again and then
// deleted. No refused write is reported: nobody refused one.
func TestPodChangesBeforeItsDeletion(t *testing.T) {
	w, p := newWorld(t), policiedKinds()["DaemonSet"]
	var changed atomic.Bool
	w.startControllerUntil(func(request *http.Request) moment {
		if request.Method == http.MethodDelete && strings.HasSuffix(path.Dir(request.URL.Path), "/pods") && changed.CompareAndSwap(false, true) {
			pod := &corev1.Pod{}
			pod.Namespace, pod.Name = w.namespace, path.Base(request.URL.Path)
			if err := w.Patch(w.Context(), pod, mergePatch(`{"metadata":{"labels":{"seen":"yes"}}}`)); client.IgnoreNotFound(err) != nil {
				t.Errorf("change pod %s: %v", pod.Name, err)
			}
		}
		return goOn
	})
	p.serving(w, p.workload(w, 4), 4)
	w.create(releaseTo(p.kind, p.template(w, "web:1", nil), step("50%"), step("100%")))
	w.await(web.completed)
	p.next(w, "web:2")
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	if !changed.Load() {
		t.Error("no pod was changed before its deletion")
	}
	w.wantNeverRefused()
}
