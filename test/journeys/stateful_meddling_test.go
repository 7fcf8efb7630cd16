package journeys

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// kubernetes#67250: with OrderedReady a new pod that never serves stops the native controller for good, whatever template comes
// next. A rollback deletes it.
func TestStatefulSetBrokenVersionIsRolledBack(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		for _, behaviour := range []string{controlplane.NeverReady, controlplane.CrashLoop, controlplane.ImagePullFailure} {
			t.Run(string(policy)+"/"+behaviour, func(t *testing.T) {
				w := newWorld(t)
				w.startController()
				s := statefulSet(6, managed(policy))
				w.placed(s, 6)
				w.create(releaseTo("StatefulSet", podTemplate("web:2", behaving(behaviour)), step("50%"), step("100%")))
				w.await(brokenPod)
				w.rollBack()
				w.wantUntouched(s, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 6)))
				if least := w.findings(web).leastReady; least < 4 {
					t.Errorf("%d pods served at least, want 4 of 6", least)
				}
			})
		}
	}
}

// brokenPod wants a pod of web:2 to be there, on its node, and not to serve.
func brokenPod(s *scene) error {
	for _, pod := range s.pods {
		if alive(pod) && pod.Spec.Containers[0].Image == "web:2" && pod.Spec.NodeName != "" && !isReady(pod) {
			return nil
		}
	}
	return fmt.Errorf("want a pod of web:2 that does not serve")
}

// Somebody sets the partition to 0 in mid-release: it is put back and reported, and the release waits until a person says so.
func TestStatefulSetOpenedByHandIsPutBack(t *testing.T) {
	w := newWorld(t)
	w.startController()
	s := statefulSet(6)
	w.placed(s, 6)
	w.create(toStateful(step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6))))
	w.excuses(heldShut) // by whoever has opened it
	w.excuse.races = []law{withinStep, neverFewer}
	w.kubectl("patch", "statefulset", "web", "--type=merge", "-p", `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}`)
	w.await(all(web.drifted(v1alpha1.ReasonStrategyChanged), closed, web.reason(v1alpha1.ReasonDrifted), seenInPlace))
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
}

// Somebody opens the partition at a gate, and writes into the annotation that Sluice has: it is closed again, and the pods that the
// native controller has updated meanwhile go back.
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
		{"0", `{"type":"RollingUpdate","rollingUpdate":{"partition":0}}`}, {"-1", `{"type":"OnDelete","rollingUpdate":null}`},
	} {
		note := strings.Replace(held, "{", fmt.Sprintf(`{"window":%q,`, forged.window), 1)
		w.kubectl("patch", "statefulset", "web", "--type=merge", "-p",
			fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}},"spec":{"updateStrategy":%s}}`, v1alpha1.HoldAnnotation, note, forged.strategy))
		w.catchUp()
		w.await(all(web.blocksAt(0), closed, places(from(0, 3, 6)), seenInPlace))
	}
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
}

// A release that is deleted in mid-release takes its pods back, or has the native controller finish, as its policy says.
func TestStatefulSetReleaseDeleted(t *testing.T) {
	for policy, image := range map[v1alpha1.DeletionPolicy]string{v1alpha1.DeletionRevert: "web:1", v1alpha1.DeletionProceed: "web:2"} {
		t.Run(string(policy), func(t *testing.T) {
			w := newWorld(t)
			w.startController()
			s := statefulSet(4)
			w.placed(s, 4)
			r := toStateful(step("50%"), step("100%"))
			r.Spec.DeletionPolicy = policy
			w.create(r)
			w.await(all(web.blocksAt(0), places(from(0, 2, 4))))
			w.kubectl("delete", "batchrelease", "web")
			w.catchUp()
			w.wantUntouched(s, all(nothingOfOurs, web.serves(image, 4)))
		})
	}
}

// halfOfOrdinals has a release of web:2 stop after half of so many pods.
func (w *world) halfOfOrdinals(n int, change ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	w.Helper()
	w.startController()
	s := statefulSet(int32(n), change...)
	w.placed(s, int32(n))
	w.create(toStateful(step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), closed, places(from(0, n/2, n)), seenInPlace))
	return s
}

// A broken version is superseded by one that serves.
func TestStatefulSetBrokenVersionIsSuperseded(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		for _, behaviour := range []string{controlplane.NeverReady, controlplane.CrashLoop} {
			t.Run(string(policy)+"/"+behaviour, func(t *testing.T) {
				w := newWorld(t)
				w.startController()
				s := statefulSet(6, managed(policy))
				w.placed(s, 6)
				w.create(releaseTo("StatefulSet", podTemplate("web:2", behaving(behaviour)), step("50%"), step("100%")))
				w.await(brokenPod)
				w.releaseImage("web:3")
				w.wantUntouched(s, all(web.attempt(2), web.completed, web.serves("web:3", 6)))
				if least := w.findings(web).leastReady; least < 4 {
					t.Errorf("%d pods served at least, want 4 of 6", least)
				}
			})
		}
	}
}

// A pod in the middle does not serve for a while, of either version: the release goes on with it.
func TestStatefulSetPodBreaksAtGate(t *testing.T) {
	for _, policy := range []appsv1.PodManagementPolicyType{parallel, oneByOne} {
		for _, name := range []string{"web-1", "web-4"} {
			t.Run(string(policy)+"/"+name, func(t *testing.T) {
				w := newWorld(t)
				s := w.halfOfOrdinals(6, managed(policy))
				w.setReady(name, false)
				w.await(func(s *scene) error {
					if pod := s.pod(name); pod == nil || isReady(pod) {
						return fmt.Errorf("want %s not to serve", name)
					}
					return nil
				})
				w.confirm("web")
				w.setReady(name, true)
				w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
			})
		}
	}
}

// setReady has a pod serve or not, unless it is gone.
func (w *world) setReady(pod string, ready bool) {
	w.Helper()
	status := corev1.ConditionFalse
	if ready {
		status = corev1.ConditionTrue
	}
	_, err := w.tryKubectl("", "patch", "pod", pod, "--subresource=status", "-p",
		fmt.Sprintf(`{"status":{"conditions":[{"type":"Ready","status":%q},{"type":"ContainersReady","status":%[1]q}]}}`, status))
	w.Logf("%s serves: %t, %v", pod, ready, err)
}

// Pods of either version that fail at a gate, as where a kubelet evicts them, come back as they were.
func TestStatefulSetPodsEvicted(t *testing.T) {
	w := newWorld(t)
	s := w.halfOfOrdinals(6)
	for _, name := range []string{"web-0", "web-2", "web-3", "web-5"} {
		uid := w.now().uids()[name]
		w.setPhase(name, corev1.PodFailed)
		w.await(all(another(name, uid), web.blocksAt(0), closed, places(from(0, 3, 6))))
	}
	w.wantUntouched(s, all(web.completed, web.serves("web:2", 6)))
}

// statefulPasts are changes out of band of a StatefulSet that is held, with the reason that is reported.
func statefulPasts() map[string]past {
	patch := func(reason, text string) past {
		return past{args: []string{"patch", "statefulset", "web", "-p", text}, reason: reason}
	}
	return map[string]past{
		"SetImage":  {args: []string{"set", "image", "statefulset/web", "web=web:9"}, reason: v1alpha1.ReasonTemplateChanged},
		"Annotate":  {args: []string{"annotate", "statefulset", "web", "rollouts.sluice.dev/hold-"}, reason: v1alpha1.ReasonHoldRemoved},
		"Undo":      {args: []string{"rollout", "undo", "statefulset/web"}, reason: v1alpha1.ReasonTemplateChanged},
		"OnDelete":  patch(v1alpha1.ReasonStrategyChanged, `{"spec":{"updateStrategy":{"type":"OnDelete","rollingUpdate":null}}}`),
		"Partition": patch(v1alpha1.ReasonStrategyChanged, `{"spec":{"updateStrategy":{"rollingUpdate":{"partition":1}}}}`),
		"Both": patch(v1alpha1.ReasonStrategyChanged,
			`{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}},"template":{"spec":{"containers":[{"name":"web","image":"web:9"}]}}}}`),
		"BadHold": patch(v1alpha1.ReasonHoldRemoved, `{"metadata":{"annotations":{"rollouts.sluice.dev/hold":"{"}}}`),
	}
}

// Whatever somebody changes of a StatefulSet that is held is put back at once and reported, and the release waits until a person
// acknowledges it. A rollback waits for nobody.
func TestStatefulSetMeddling(t *testing.T) {
	meddledInPlace(t, statefulPasts(), closed, func(w *world) client.Object { return w.halfOfOrdinals(4) })
}

// meddledInPlace makes each change of a workload halfway, and has the release acknowledged or rolled back: what was put back is the same
// after each change, so that the two take turns unless it is with -every-moment.
func meddledInPlace(t *testing.T, pasts map[string]past, secured check, halfway func(*world) client.Object) {
	t.Helper()
	ends := []struct {
		name string
		goOn func(*world)
		end  check
	}{
		{"Acknowledged", func(*world) {}, all(web.completed, web.serves("web:2", 4))},
		{"RolledBack", (*world).rollBack, all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4))},
	}
	for i, name := range slices.Sorted(maps.Keys(pasts)) {
		for j, end := range ends {
			if !*everyMoment && i%len(ends) != j {
				continue
			}
			t.Run(name+"/"+end.name, func(t *testing.T) {
				w := newWorld(t)
				workload := halfway(w)
				w.meddleWith(pasts[name], secured)
				end.goOn(w)
				w.wantUntouched(workload, end.end)
				w.await(web.withoutCondition(v1alpha1.ConditionDrifted))
			})
		}
	}
}

// meddleWith changes a workload that is held, and waits until that is put back and reported.
func (w *world) meddleWith(p past, secured check) {
	w.Helper()
	w.excuses() // what is lost is lost by whom has done it
	w.excuse.races = []law{withinStep, neverFewer, heldShut, enoughRun}
	if _, err := w.tryKubectl(p.stdin, p.args...); err != nil {
		w.Fatal(err)
	}
	w.await(all(web.drifted(p.reason), web.reason(v1alpha1.ReasonDrifted), secured, seenInPlace, hasPods(4)))
	w.Logf("least pods that served: %d of 4; %s", w.findings(web).leastReady, drift(w.now()))
}
