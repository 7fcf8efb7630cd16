package journeys

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// workloadKind is a kind of workload, for journeys of several kinds.
type workloadKind struct {
	kind string
	// workload returns one with a number of pods of web:1.
	workload func(w *world, pods int) client.Object
	// template returns the template of an image.
	template func(w *world, image string, annotations map[string]string) corev1.PodTemplateSpec
}

// workloadKinds returns the kinds by name. OrderedReady is a StatefulSet that makes its pods in
// order.
func workloadKinds() map[string]workloadKind {
	template := func(_ *world, image string, annotations map[string]string) corev1.PodTemplateSpec {
		return podTemplate(image, annotations)
	}
	return map[string]workloadKind{
		"Deployment": {
			"Deployment", func(_ *world, pods int) client.Object { return deployment(int32(pods), rolling(1, 1)) }, template,
		},
		"StatefulSet": {
			"StatefulSet", func(_ *world, pods int) client.Object { return statefulSet(int32(pods)) }, template,
		},
		"OrderedReady": {
			"StatefulSet", func(_ *world, pods int) client.Object { return statefulSet(int32(pods), managed(oneByOne)) }, template,
		},
		"DaemonSet": {
			"DaemonSet", func(w *world, pods int) client.Object {
				w.ownNodes(pods)
				return w.daemonSet()
			}, (*world).onEachOwnNode,
		},
	}
}

// onKinds runs a journey for each of some kinds.
func onKinds(t *testing.T, kinds []string, journey func(w *world, p workloadKind)) {
	t.Helper()
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) { journey(newWorld(t), workloadKinds()[kind]) })
	}
}

// onBothKinds runs a journey for the kinds whose pods are replaced in place.
func onBothKinds(t *testing.T, journey func(w *world, p workloadKind)) {
	t.Helper()
	onKinds(t, []string{"StatefulSet", "DaemonSet"}, journey)
}

// onEachKind runs a journey for each kind.
func onEachKind(t *testing.T, journey func(w *world, p workloadKind)) {
	t.Helper()
	onKinds(t, []string{"Deployment", "StatefulSet", "DaemonSet"}, journey)
}

// served starts the controller, and waits until a number of pods of web:1 serve.
func (p workloadKind) served(w *world, pods int) client.Object {
	w.Helper()
	w.startController()
	return p.begin(w, pods)
}

// begin waits until a number of pods of web:1 serve.
func (p workloadKind) begin(w *world, pods int) client.Object {
	w.Helper()
	workload := p.workload(w, pods)
	w.placed(workload, int32(pods))
	return workload
}

// to returns a release of web:2, two pods at a time.
func (p workloadKind) to(w *world, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	w.Helper()
	return releaseTo(p.kind, p.template(w, "web:2", nil), steps...)
}

// next gives the release another image.
func (p workloadKind) next(w *world, image string) {
	w.Helper()
	w.release(p.template(w, image, nil))
}

// adopted waits until a release of web:1 is completed, without a change of its four pods.
func (p workloadKind) adopted(w *world, steps ...v1alpha1.Step) (client.Object, *controller) {
	w.Helper()
	c := w.startController()
	workload := p.begin(w, 4)
	w.create(releaseTo(p.kind, p.template(w, "web:1", nil), steps...))
	w.await(web.completed)
	return workload, c
}

// atHalf waits until a release of web:2 waits for its gate with half of its pods.
func (p workloadKind) atHalf(w *world, pods int, change ...func(*v1alpha1.BatchRelease)) client.Object {
	w.Helper()
	workload := p.served(w, pods)
	r := p.to(w, step("50%"), step("100%"))
	for _, c := range change {
		c(r)
	}
	w.create(r)
	w.await(p.half(pods))
	return workload
}

// half wants a release of web:2 to wait for its gate with half of its pods.
func (p workloadKind) half(n int) check {
	return all(web.blocksAt(0), p.shut, web.runs(pods{"web:1": n / 2, "web:2": n / 2}), seenNatively)
}

// halfway waits until a release has half of four pods, and stops the controller.
func (p workloadKind) halfway(w *world, change ...func(*v1alpha1.BatchRelease)) client.Object {
	w.Helper()
	before := p.atHalf(w, 4, change...)
	w.controllers[len(w.controllers)-1].kill()
	return before
}

// shut wants the workload held, so that its native controller updates no pod.
func (p workloadKind) shut(s *scene) error {
	switch p.kind {
	case "DaemonSet":
		return onDelete(s)
	case "StatefulSet":
		return closed(s)
	default:
		return web.spec("paused with Recreate", func(d *appsv1.Deployment) bool {
			return held(d) && d.Spec.Paused && d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType
		})(s)
	}
}

func managed(policy appsv1.PodManagementPolicyType) func(*appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = policy }
}

// releaseTo returns a BatchRelease "web" of a template for the workload "web", two pods at a time.
func releaseTo(kind string, template corev1.PodTemplateSpec, steps ...v1alpha1.Step) *v1alpha1.BatchRelease {
	r := releaseOf(template, steps...)
	r.Spec.WorkloadRef.Kind = kind
	r.Spec.Strategy.MaxUnavailable = share(2)
	return r
}

// placed creates a workload, and waits until all its pods serve.
func (w *world) placed(workload client.Object, n int32) {
	w.Helper()
	w.create(workload)
	w.await(all(web.serves(templateOf(workload).Spec.Containers[0].Image, n), seenNatively))
}

// seenNatively wants the native controller to have seen the workload's newest spec and all its
// pods.
func seenNatively(s *scene) error {
	switch o := s.workload("web").(type) {
	case *appsv1.Deployment:
		if o.Status.ObservedGeneration == o.Generation && o.Status.AvailableReplicas == wantedPods(o) && o.Status.Replicas == wantedPods(o) {
			return nil
		}
	case *appsv1.StatefulSet:
		if o.Status.ObservedGeneration == o.Generation && o.Status.AvailableReplicas == wantedPods(o) {
			return nil
		}
	case *appsv1.DaemonSet:
		if o.Status.ObservedGeneration == o.Generation && o.Status.NumberAvailable == wantedPods(o) {
			return nil
		}
	}
	return fmt.Errorf("want the native controller to have seen the workload and its pods")
}

// wantUntouched waits for the end of a release, and until the native controller has seen the
// workload. It wants the user's own strategy then, and no pod replaced after the end.
func (w *world) wantUntouched(before client.Object, ends check) {
	w.Helper()
	atEnd := w.awaitConfirming(all(web.handedBack, ends))
	after := w.await(all(web.handedBack, ends, seenNatively))
	wantOwnStrategy(w.T, after, before)
	if diff := cmp.Diff(atEnd.podsRunning(""), after.podsRunning("")); diff != "" {
		w.Errorf("pods are replaced after the hand-back (-then +now):\n%s", diff)
	}
}

// wantOwnStrategy compares the strategy with that of the workload as it was.
func wantOwnStrategy(t *testing.T, s *scene, want client.Object) {
	t.Helper()
	if diff := cmp.Diff(strategyOf(want), strategyOf(s.workload("web"))); diff != "" {
		t.Errorf("strategy that was handed back (-want +got):\n%s", diff)
	}
}

func strategyOf(workload client.Object) any {
	switch o := workload.(type) {
	case *appsv1.Deployment:
		return []any{o.Spec.Strategy, o.Spec.Paused}
	case *appsv1.StatefulSet:
		return o.Spec.UpdateStrategy
	case *appsv1.DaemonSet:
		return o.Spec.UpdateStrategy
	default:
		return nil
	}
}

// missing gives a step a maxUnavailable of its own.
func missing(pods int32, s v1alpha1.Step) v1alpha1.Step {
	s.MaxUnavailable = share(pods)
	return s
}

// lookedAgain waits until the controller has looked at the release once more.
func (w *world) lookedAgain() {
	w.Helper()
	limit := ptr.Deref(w.now().releases["web"].Spec.RevisionHistoryLimit, 10) - 1
	w.patchRelease(fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d}}`, limit))
	w.await(web.observed)
}

// going wants a number of pods to be there, and to be going.
func going(n int) check {
	return func(s *scene) error {
		have := 0
		for _, pod := range s.pods {
			if pod.DeletionTimestamp != nil {
				have++
			}
		}
		if have != n {
			return fmt.Errorf("want %d pods going, have %d", n, have)
		}
		return nil
	}
}
