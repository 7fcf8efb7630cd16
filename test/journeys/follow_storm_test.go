package journeys

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// TestFollowStorm: of many writes at once, each of which lets the native controller loose or takes
// away the label and notes, none gets a pod past the policy. The last template is released.
func TestFollowStorm(t *testing.T) {
	onFollowed(t, func(h tool) {
		h.controllers[0].kill()
		strategy := "/spec/updateStrategy"
		if h.kind == "Deployment" {
			strategy = "/spec/strategy"
		}
		patches := []client.Patch{
			strategicPatch(h.withImage("web:2")),
			strategicPatch(h.withImage("web:3")),
			strategicPatch(`{"metadata":{"labels":{"rollouts.sluice.dev/follow":null}},"spec":{` + loose[h.kind] + `}}`),
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null,"annotations":null},"spec":{`+loose[h.kind]+`}}`)),
			client.RawPatch(types.JSONPatchType, encode([]any{
				map[string]string{"op": "remove", "path": "/metadata/labels"},
				map[string]string{"op": "remove", "path": "/metadata/annotations"},
				map[string]string{"op": "remove", "path": strategy},
				map[string]string{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "web:4"},
			})),
		}
		var storm sync.WaitGroup
		for i := range 60 {
			storm.Go(func() {
				err := h.Patch(h.Context(), h.mine(h.chart("")), patches[i%len(patches)])
				if err != nil && !apierrors.IsConflict(err) {
					t.Errorf("patch %d: %v", i, err)
				}
			})
		}
		storm.Wait()
		h.patches(h.withImage("web:5"))
		h.patches(`{"spec":{` + loose[h.kind] + `}}`)
		h.catchUp()
		h.await(all(web.serves("web:1", 4), labelled, h.contained))
		h.startController()
		h.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:5": 1})))
	})
}

// TestFollowHuge: a workload as large as the API server takes costs the policy no more than it may,
// and is held.
func TestFollowHuge(t *testing.T) {
	w := newFollowingWorld(t)
	for name, size := range map[string]struct{ containers, variables, value int }{
		"many": {200, 60, 40}, "list": {1, 10_000, 60}, "long": {1, 1, 1_000_000},
	} {
		d := deployment(1, runsImage("web:1"))
		d.Name, d.Labels = name, map[string]string{v1alpha1.FollowLabel: "nobody"}
		d.Annotations = map[string]string{v1alpha1.GuardAnnotation: v1alpha1.Guarded, "huge": strings.Repeat("x", 200<<10)}
		first := d.Spec.Template.Spec.Containers[0]
		for i := range size.variables {
			first.Env = append(first.Env, corev1.EnvVar{Name: fmt.Sprintf("V%d", i), Value: strings.Repeat("x", size.value)})
		}
		d.Spec.Template.Spec.Containers = nil
		for i := range size.containers {
			first.Name = fmt.Sprintf("c%d", i)
			d.Spec.Template.Spec.Containers = append(d.Spec.Template.Spec.Containers, first)
		}
		w.create(d)
		err := w.Patch(w.Context(), d, strategicPatch(`{"spec":{"paused":false,"template":{"spec":{"containers":[{"name":"c0","image":"web:2"}]}}}}`))
		if err != nil || !d.Spec.Paused || d.Annotations[v1alpha1.WaitingAnnotation] == "" {
			t.Errorf("%s: want the new template stored and held, got paused %t, %.300v", name, d.Spec.Paused, err)
		}
	}
}

// TestFollowPaused: kubectl rollout pause and resume, at rest and at a gate, keep no release from
// going on and let no pod past it.
func TestFollowPaused(t *testing.T) {
	w := newFollowingWorld(t)
	h := tool{w, "Deployment", w.charts()["Deployment"]}
	w.startController()
	h.applies("web:1")
	w.await(web.serves("web:1", 4))
	w.create(following(release("", step(1), step("100%", none()))))
	w.await(all(web.completed, labelled))
	h.kubectl("rollout", "pause", "deployment/web")
	h.kubectl("set", "image", "deployment/web", "web=web:2")
	atGate := all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1}), h.contained)
	h.await(atGate)
	h.kubectl("rollout", "resume", "deployment/web")
	h.lookedAgain()
	h.await(atGate)
	h.confirm("web")
	h.await(all(web.completed, web.serves("web:2", 4)))
	h.suspend(true)
	h.kubectl("set", "image", "deployment/web", "web=web:3")
	_, _ = h.tryKubectl("", "rollout", "resume", "deployment/web") // an error where it is not paused
	h.lookedAgain()
	h.await(all(web.serves("web:2", 4), h.contained))
}
