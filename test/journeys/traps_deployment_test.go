package journeys

import (
	"fmt"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// The traps T1 to T7 of the take-over, first by hand on the real native controller.

// pausedAndRecreate is how a workload is taken over, with the template that is to be released.
const pausedAndRecreate = `{"spec":{"paused":true,"strategy":{"type":"Recreate","rollingUpdate":null},` +
	`"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`

// takeOverByHand deploys web:1 and takes it over without Sluice. It returns the ReplicaSet of
// web:1.
func (w *world) takeOverByHand(d *appsv1.Deployment) *appsv1.ReplicaSet {
	w.Helper()
	w.judged = nil
	w.deployed(d)
	old := w.now().updateSet(w.now().deployments["web"])
	w.kubectl("patch", "deployment", "web", "-p", pausedAndRecreate)
	w.awaitNative()
	return old
}

// createByHand makes the ReplicaSet of web:2 as Sluice does.
func (w *world) createByHand(old *appsv1.ReplicaSet, replicas int32, annotations map[string]string) *appsv1.ReplicaSet {
	w.Helper()
	labels := map[string]string{"app": "web", appsv1.DefaultDeploymentUniqueLabelKey: "byhand"}
	set := old.DeepCopy()
	set.ObjectMeta = named[appsv1.ReplicaSet]("web-byhand").ObjectMeta
	set.Labels, set.Annotations, set.OwnerReferences = labels, annotations, old.OwnerReferences
	set.Spec.Replicas = &replicas
	set.Spec.Selector.MatchLabels, set.Spec.Template.Labels = labels, labels
	set.Spec.Template.Spec.Containers[0].Image = "web:2"
	set.Status = appsv1.ReplicaSetStatus{}
	w.create(set)
	return set
}

// awaitNative waits until the native controller has looked at the spec as the API server has it
// now: the journal may still be behind a write that this journey has just made.
func (w *world) awaitNative() *scene {
	w.Helper()
	generation := w.deployment().Generation
	return w.await(web.spec("the native controller to have seen the spec", func(d *appsv1.Deployment) bool {
		return d.Status.ObservedGeneration >= generation
	}))
}

// asks wants a ReplicaSet to ask for so many pods, and all of them to be there.
func asks(name string, want int32) check {
	return func(s *scene) error {
		for _, set := range s.sets {
			if set.Name == name && replicas(set) == want && set.Status.Replicas == want && set.Status.AvailableReplicas == want {
				return nil
			}
		}
		return fmt.Errorf("want ReplicaSet %s with %d pods", name, want)
	}
}

func (w *world) scaleSet(name string, replicas int) {
	w.Helper()
	w.kubectl("scale", "replicaset", name, "--replicas", fmt.Sprint(replicas))
}

// TestTrap1LoneActiveSetIsResized: T1, while one ReplicaSet has pods, the native controller sets it
// to spec.replicas, paused or not. With two it leaves both alone.
func TestTrap1LoneActiveSetIsResized(t *testing.T) {
	w := newWorld(t)
	old := w.takeOverByHand(deployment(4))
	w.scaleSet(old.Name, 3)
	w.await(w.scaledBy("kube-controller-manager", old.Name, 3, 4))

	w.createByHand(old, 1, nil)
	w.await(asks("web-byhand", 1))
	w.scaleSet(old.Name, 3)
	w.await(all(asks(old.Name, 3), asks("web-byhand", 1), seenByNative(4)))
}

// seenByNative wants the native controller to have counted so many pods.
func seenByNative(n int32) check {
	return web.spec(fmt.Sprintf("%d pods counted by the native controller", n), func(d *appsv1.Deployment) bool {
		return d.Status.Replicas == n && d.Status.AvailableReplicas == n
	})
}

// scaledBy wants the journal to have a change of a ReplicaSet's size by a field manager.
func (w *world) scaledBy(manager, set string, from, to int32) check {
	return func(*scene) error {
		entries, err := w.journal.all()
		if err != nil {
			return err
		}
		last := int32(-1)
		for _, e := range entries {
			s, ok := e.object.(*appsv1.ReplicaSet)
			if !ok || s.Name != set {
				continue
			}
			if last == from && replicas(s) == to && managerOf(s, "f:spec", "f:replicas") == manager {
				return nil
			}
			last = replicas(s)
		}
		return fmt.Errorf("want %s scaled %d -> %d by %s", set, from, to, manager)
	}
}

// TestTrap2SaturatedSetEmptiesTheOthers: T2, a new ReplicaSet that is complete by its
// desired-replicas annotation sends the others to 0.
func TestTrap2SaturatedSetEmptiesTheOthers(t *testing.T) {
	w := newWorld(t)
	old := w.takeOverByHand(deployment(3))
	w.createByHand(old, 3, map[string]string{"deployment.kubernetes.io/desired-replicas": "3"})
	w.await(w.scaledBy("kube-controller-manager", old.Name, 3, 0))
}

// TestTrap2Avoided: T2 avoided, without that annotation both stay.
func TestTrap2Avoided(t *testing.T) {
	w := newWorld(t)
	old := w.takeOverByHand(deployment(3))
	w.createByHand(old, 3, nil)
	w.await(all(asks("web-byhand", 3), asks(old.Name, 3), seenByNative(6)))
}

// TestTrap3NobodyFollowsTheSize: T3, with two active ReplicaSets nobody follows spec.replicas.
// Sluice does: see TestScaledAtGate.
func TestTrap3NobodyFollowsTheSize(t *testing.T) {
	w := newWorld(t)
	old := w.takeOverByHand(deployment(3))
	w.createByHand(old, 1, nil)
	w.await(asks("web-byhand", 1))
	w.kubectl("scale", "deployment", "web", "--replicas", "6")
	w.awaitNative()
	w.await(all(asks("web-byhand", 1), asks(old.Name, 3)))
}

// TestTrap4EmptySetIsDeleted: T4, ReplicaSets without pods beyond revisionHistoryLimit are deleted,
// paused or not.
func TestTrap4EmptySetIsDeleted(t *testing.T) {
	w := newWorld(t)
	old := w.takeOverByHand(deployment(2, noHistory))
	w.createByHand(old, 2, nil)
	w.await(asks("web-byhand", 2))
	w.scaleSet(old.Name, 0)
	w.await(func(s *scene) error {
		if s.sets[old.UID] != nil {
			return fmt.Errorf("want ReplicaSet %s deleted", old.Name)
		}
		return nil
	})
}

func noHistory(d *appsv1.Deployment) { d.Spec.RevisionHistoryLimit = new(int32(0)) }

// TestTrap4RollbackWithoutHistory: T4 survived, Sluice keeps templates where the native controller
// does not look.
func TestTrap4RollbackWithoutHistory(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4, noHistory))
	w.create(release("web:2", step(1), step("100%")))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
	w.await(func(s *scene) error {
		if n := len(s.setsOf(s.deployments["web"])); n != 1 {
			return fmt.Errorf("want one ReplicaSet left by the native controller, have %d", n)
		}
		return nil
	})
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
}

// TestTrap5NoNewSetWhilePaused: T5, nobody makes the ReplicaSet of the new template while the
// workload is paused.
func TestTrap5NoNewSetWhilePaused(t *testing.T) {
	w := newWorld(t)
	old := w.takeOverByHand(deployment(2))
	if sets := w.awaitNative().setsOf(w.now().deployments["web"]); len(sets) != 1 || sets[0].UID != old.UID {
		t.Errorf("want the ReplicaSet of web:1 alone, have %v", sets)
	}
}

// TestTrap5NewSetIsAdopted: T5, what Sluice makes instead the native controller takes for its own.
func TestTrap5NewSetIsAdopted(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(2))
	w.create(release("web:2", step(1), step("100%")))
	ours := w.await(web.blocksAt(0)).updateSet(w.now().deployments["web"])
	w.awaitConfirming(all(web.completed, web.serves("web:2", 2)))
	s := w.awaitNative()
	if sets := s.setsOf(s.deployments["web"]); len(sets) != 2 || s.updateSet(s.deployments["web"]).UID != ours.UID {
		t.Errorf("want the ReplicaSets of web:1 and web:2, have %d: the native controller made its own", len(sets))
	}
}

// TestTrap6ResumeIsAnOutage: T6, unpaused while the strategy is Recreate, every old pod goes.
func TestTrap6ResumeIsAnOutage(t *testing.T) {
	w := newWorld(t)
	old := w.takeOverByHand(deployment(4))
	w.createByHand(old, 1, nil)
	w.await(all(asks("web-byhand", 1), asks(old.Name, 4)))
	w.kubectl("rollout", "resume", "deployment", "web")
	w.await(w.scaledBy("kube-controller-manager", old.Name, 4, 0))
}

// putBackLate are the laws that the native controller breaks with a Deployment that somebody has
// unpaused, or that are broken to make up for it, if it acts before Sluice does.
var putBackLate = []law{enoughRun, oldStays, neverFewer}

// TestTrap6PutBack: T6 put back at once, the release stands, and goes on when somebody has
// acknowledged it.
func TestTrap6PutBack(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.excuses(heldPaused) // the outage is the user's
	w.excuse.races = putBackLate
	w.kubectl("rollout", "resume", "deployment", "web")
	w.await(all(w.putBack(w.version()), web.drifted(v1alpha1.ReasonWorkloadUnpaused), standsAtHalf, allReady))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
}

// TestTrap6PutBackLate: T6 put back late, while no controller runs the native one deletes the old
// pods and makes all of them updated ones. They go back to what the step says, with those that run
// the version before.
func TestTrap6PutBackLate(t *testing.T) {
	w := newWorld(t)
	c := w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 2, "web:2": 2})))
	w.excuses(append(slices.Clone(putBackLate), heldPaused)...)
	c.kill()
	w.kubectl("rollout", "resume", "deployment", "web")
	w.await(web.serves("web:2", 4))
	w.startController()
	w.await(all(w.putBack(w.version()), web.drifted(v1alpha1.ReasonWorkloadUnpaused), standsAtHalf, allReady))
	w.awaitConfirming(all(web.completed, web.serves("web:2", 4)))
}

// TestTrap7UndoIsRefused: T7, kubectl rollout undo refuses, our own rollback does not.
func TestTrap7UndoIsRefused(t *testing.T) {
	w := newWorld(t)
	w.startController()
	w.deployed(deployment(4))
	w.create(release("web:2", step("50%"), step("100%")))
	w.await(web.blocksAt(0))
	_, err := w.tryKubectl("", "rollout", "undo", "deployment", "web")
	wantError(t, "kubectl rollout undo", err, "paused")
	w.rollBack()
	w.await(all(web.reason(v1alpha1.ReasonRolledBack), web.completed, web.serves("web:1", 4)))
}

// version returns the current resource version of the Deployment.
func (w *world) version() uint64 {
	w.Helper()
	return revisionOf(w.deployment())
}

// deployment returns the Deployment as the API server has it now.
func (w *world) deployment() *appsv1.Deployment {
	w.Helper()
	d := named[appsv1.Deployment]("web")
	if err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, d); err != nil {
		w.Fatalf("read Deployment: %v", err)
	}
	return d
}

// putBack wants the Deployment to be as Sluice has it, in a version that is not older than one
// that was seen after somebody changed it.
func (w *world) putBack(version uint64) check {
	return web.spec("what was changed to be put back", func(d *appsv1.Deployment) bool {
		return revisionOf(d) >= version && held(d) && d.Spec.Paused &&
			d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType && imageOf(d) == "web:2"
	})
}

func allReady(s *scene) error {
	d, n := s.deployments["web"], 0
	for _, count := range s.podsOf(d) {
		n += count
	}
	if ready := s.readyPods(d); int(ready) != n {
		return fmt.Errorf("want all %d pods ready, have %d", n, ready)
	}
	return nil
}
