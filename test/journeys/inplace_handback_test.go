package journeys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
)

// inPlace is a workload of pods in places.
type inPlace struct {
	kind string
	// workload has so many pods.
	workload func(w *world, pods int) client.Object
	// template is that of another image for it.
	template func(w *world, image string, annotations map[string]string) corev1.PodTemplateSpec
}

func inPlaces() map[string]inPlace {
	ofSet := func(_ *world, image string, annotations map[string]string) corev1.PodTemplateSpec {
		return podTemplate(image, annotations)
	}
	return map[string]inPlace{
		"StatefulSet":  {"StatefulSet", func(_ *world, pods int) client.Object { return statefulSet(int32(pods)) }, ofSet},
		"OrderedReady": {"StatefulSet", func(_ *world, pods int) client.Object { return statefulSet(int32(pods), managed(oneByOne)) }, ofSet},
		"DaemonSet": {"DaemonSet", func(w *world, pods int) client.Object {
			w.ownNodes(pods)
			return w.daemonSet()
		}, (*world).onEachOwnNode},
	}
}

// begin has four pods of web:1 serve.
func (p inPlace) begin(w *world) client.Object {
	w.Helper()
	before := p.workload(w, 4)
	w.placed(before, 4)
	return before
}

// release is one of web:2 in two batches.
func (p inPlace) release(w *world, change ...func(*v1alpha1.BatchRelease)) *v1alpha1.BatchRelease {
	r := releaseTo(p.kind, p.template(w, "web:2", nil), step("50%"), step("100%"))
	for _, c := range change {
		c(r)
	}
	return r
}

var halfInPlace = all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2}), seenInPlace)

// halfway has a release stop after half of the pods, and no controller any more.
func (p inPlace) halfway(w *world, change ...func(*v1alpha1.BatchRelease)) client.Object {
	w.Helper()
	c := w.startController()
	before := p.begin(w)
	w.create(p.release(w, change...))
	w.await(halfInPlace)
	c.kill()
	return before
}

const hangs = `{"metadata":{"finalizers":["journeys.sluice.dev/hangs"]}}`

// hang keeps the pods of an image from going, until what it returns is called.
func (w *world) hang(image string) (letGo func()) {
	w.Helper()
	var names []string
	for _, pod := range w.now().pods {
		if alive(pod) && pod.Spec.Containers[0].Image == image {
			names = append(names, pod.Name)
			w.edit(named[corev1.Pod](pod.Name), mergePatch(hangs), "kubectl-patch")
		}
	}
	return func() {
		w.Helper()
		for _, name := range names {
			w.edit(named[corev1.Pod](name), mergePatch(`{"metadata":{"finalizers":null}}`), "kubectl-patch")
		}
	}
}

// goingPod wants a pod of an image to be going.
func goingPod(image string) check {
	return func(s *scene) error {
		for _, pod := range s.pods {
			if pod.DeletionTimestamp != nil && pod.Spec.Containers[0].Image == image {
				return nil
			}
		}
		return fmt.Errorf("want a pod of %s that goes", image)
	}
}

// A workload that is held when there is no controller any more is handed back by the command, wherever its release stands, with the stable
// template unless it was meant to go on; once.
func TestInPlaceHandback(t *testing.T) {
	cases := map[string]struct {
		before  func(*world, inPlace) (client.Object, func())
		options handback.Options
		image   string
		size    int32
	}{
		"AtGate":  {func(w *world, p inPlace) (client.Object, func()) { return p.halfway(w), nil }, handback.Options{}, "web:1", 4},
		"Proceed": {func(w *world, p inPlace) (client.Object, func()) { return p.halfway(w), nil }, handback.Options{Proceed: true}, "web:2", 4},
		"DeletionPolicyProceed": {func(w *world, p inPlace) (client.Object, func()) {
			return p.halfway(w, func(r *v1alpha1.BatchRelease) { r.Spec.DeletionPolicy = v1alpha1.DeletionProceed }), nil
		}, handback.Options{}, "web:2", 4},
		"ReleaseGone": {func(w *world, p inPlace) (client.Object, func()) {
			before := p.halfway(w)
			w.patchRelease(`{"metadata":{"finalizers":null}}`)
			w.kubectl("delete", "batchrelease", "web")
			w.await(func(s *scene) error {
				if len(s.releases)+len(s.kept) > 0 {
					return errors.New("want the release and its templates gone")
				}
				return nil
			})
			return before, nil
		}, handback.Options{}, "web:1", 4},
		"InBatch": {func(w *world, p inPlace) (client.Object, func()) {
			before := p.begin(w)
			letGo := w.hang("web:1")
			c := w.startController()
			w.create(p.release(w))
			w.await(goingPod("web:1"))
			c.kill()
			return before, letGo
		}, handback.Options{}, "web:1", 4},
		"InBatchProceed": {func(w *world, p inPlace) (client.Object, func()) {
			before := p.begin(w)
			letGo := w.hang("web:1")
			c := w.startController()
			w.create(p.release(w))
			w.await(goingPod("web:1"))
			c.kill()
			return before, letGo
		}, handback.Options{Proceed: true}, "web:2", 4},
		"InRollback": {func(w *world, p inPlace) (client.Object, func()) {
			before := p.halfway(w)
			letGo := w.hang("web:2")
			w.rollBack()
			c := w.startController()
			w.await(goingPod("web:2"))
			c.kill()
			return before, letGo
		}, handback.Options{}, "web:1", 4},
		"Emptied": {func(w *world, p inPlace) (client.Object, func()) {
			before := p.halfway(w)
			w.empty(before)
			c := w.startController()
			w.patchRelease(`{"spec":{"revisionHistoryLimit":9}}`)
			w.await(all(web.observed, web.runs(pods{})))
			c.kill()
			return before, func() { w.fill(before) }
		}, handback.Options{}, "web:1", 4},
	}
	// Cases run with -every-moment that would show nothing new: the command makes the same writes with and without the policies, what
	// it reads of the release is the same for each kind, and OrderedReady is like Parallel where no pods are on their way.
	guardedCases := []string{"AtGate", "InBatch", "ReleaseGone"}
	leftOut := map[string][]string{
		"StatefulSet":  {"DeletionPolicyProceed"},
		"DaemonSet":    {"Proceed"},
		"OrderedReady": {"Proceed", "DeletionPolicyProceed", "ReleaseGone", "Emptied"},
	}
	for kind, p := range inPlaces() {
		for name, tc := range cases {
			for _, guarded := range []bool{false, true} {
				if !*everyMoment && (guarded != slices.Contains(guardedCases, name) || slices.Contains(leftOut[kind], name)) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/Guarded=%t", kind, name, guarded), func(t *testing.T) {
					w := newWorld(t)
					w.judged = nil // what the native controller does next nobody answers for
					if guarded {
						w.guardPlaces()
					}
					before, after := tc.before(w, p)
					if said := w.handBackAll(handback.Options{Proceed: tc.options.Proceed, DryRun: true}); !strings.Contains(said, "web: would be handed back: ") {
						t.Errorf("a dry run says %q", said)
					}
					if said := w.handBackAll(tc.options); !strings.Contains(said, "web: handed back: ") {
						t.Errorf("the command says %q", said)
					} else {
						t.Log(said)
					}
					w.catchUp()
					s := w.await(web.handedBack)
					wantUpdateStrategy(t, s, before)
					if reason, found := s.workload("web").GetAnnotations()[v1alpha1.BreakGlassAnnotation]; found {
						t.Errorf("the annotation that broke the glass is still there: %q", reason)
					}
					if after != nil {
						after()
					}
					w.await(all(web.serves(tc.image, tc.size), seenInPlace))
					if said := w.handBackAll(handback.Options{}); said != "nothing to do: no workload is held" {
						t.Errorf("a second run says %q", said)
					}
				})
			}
		}
	}
}

// empty has the workload have no pods, and fill has it have four again.
func (w *world) empty(workload client.Object) {
	w.Helper()
	if _, is := workload.(*appsv1.StatefulSet); is {
		w.resizeSet(0)
	} else {
		w.eachNode("taint", "away=true:NoExecute")
	}
	w.await(web.runs(pods{}))
}

func (w *world) fill(workload client.Object) {
	w.Helper()
	if _, is := workload.(*appsv1.StatefulSet); is {
		w.resizeSet(4)
	} else {
		w.eachNode("taint", "away-")
	}
}

func (w *world) eachNode(verb, what string) {
	w.Helper()
	for i := range 4 {
		w.kubectl(verb, "node", fmt.Sprintf("%s-%d", w.namespace, i), what)
	}
}

// A release that is deleted before a write of its own, or whose workload is handed back by the command after the controller has died
// there, leaves one version.
func TestInPlaceLetGoBeforeEachWrite(t *testing.T) {
	ways := []struct {
		name  string
		letGo func(*world, *controller)
	}{
		{"Deleted", func(w *world, c *controller) {
			w.kubectl("delete", "batchrelease", "web", "--wait=false")
			w.catchUp()
			c.halt.goOn()
			w.await(nothingOfOurs)
		}},
		{"DeletedAfterACrash", func(w *world, c *controller) {
			c.kill()
			w.kubectl("delete", "batchrelease", "web", "--wait=false")
			w.startController()
			w.await(nothingOfOurs)
		}},
		{"Command", func(w *world, c *controller) {
			c.kill()
			w.handBackAll(handback.Options{})
		}},
	}
	policies := []v1alpha1.DeletionPolicy{v1alpha1.DeletionRevert, v1alpha1.DeletionProceed}
	for kind, p := range inPlaces() {
		for turn, write := range moments(t.Name()+kind, writesInPlace) {
			for i, way := range ways {
				for j, policy := range policies {
					if !*everyMoment && (turn%len(ways) != i || turn/len(ways)%len(policies) != j) {
						continue // each way with each policy comes once in six moments
					}
					t.Run(kind+"/"+way.name+"/"+string(policy)+"/"+momentName(write, writesInPlace), func(t *testing.T) {
						w := newWorld(t)
						w.judged = nil
						before := p.begin(w)
						w.create(p.release(w, func(r *v1alpha1.BatchRelease) { r.Spec.DeletionPolicy = policy }))
						c := w.startControllerHalting(write)
						w.awaitConfirming(either(c.halt.reached, all(web.completed, web.serves("web:2", 4))))
						t.Logf("it is let go of before %q\n%s", c.halt.at(), standing(w.now()))
						way.letGo(w, c)
						w.wantOneVersion(before)
					})
				}
			}
		}
	}
}

// wantOneVersion waits until all pods are of the template, and serve, and wants the update strategy to be the user's own.
func (w *world) wantOneVersion(before client.Object) {
	w.Helper()
	s := w.await(func(s *scene) error {
		image := templateOf(s.workload("web")).Spec.Containers[0].Image
		return all(web.handedBack, seenInPlace, web.serves(image, 4))(s)
	})
	wantUpdateStrategy(w.T, s, before)
}
