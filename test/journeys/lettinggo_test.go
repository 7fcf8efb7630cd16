package journeys

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
)

// writesOfRollback is how many writes a controller makes in the rollback of a release at its first step, about.
const writesOfRollback = 9

// F28: a release that is deleted before a write of its rollback, or handed back by the command where its controller
// has died, leaves the version that it was going back to, whatever its policy. The version that was
// to go gets no pod more.
func TestLetGoBeforeEachWriteOfARollback(t *testing.T) {
	ways := map[string]func(*world, *controller){
		"Deleted": func(w *world, c *controller) {
			w.kubectl("delete", "batchrelease", "web", "--wait=false")
			w.catchUp()
			c.halt.goOn()
			w.await(nothingOfOurs)
		},
		"DeletedAfterACrash": func(w *world, c *controller) {
			c.kill()
			c.halt.goOn()
			w.kubectl("delete", "batchrelease", "web", "--wait=false")
			w.startController()
			w.await(nothingOfOurs)
		},
		"Command": func(w *world, c *controller) {
			c.kill()
			c.halt.goOn()
			w.handBackAll(handback.Options{})
		},
	}
	policies := []v1alpha1.DeletionPolicy{v1alpha1.DeletionRevert, v1alpha1.DeletionProceed}
	for name, letGo := range ways {
		for i, write := range moments(name, writesOfRollback) {
			for j, policy := range policies {
				if !*everyMoment && i%len(policies) != j {
					continue // they take turns
				}
				t.Run(name+"/"+string(policy)+"/"+momentName(write, writesOfRollback), func(t *testing.T) {
					w := newWorld(t)
					c := w.rollingBackTo(policy, write)
					recorded := w.now().releases["web"].Status.Rollback != nil
					letGo(w, c)
					if policy == v1alpha1.DeletionProceed && !recorded {
						w.await(all(web.handedBack, either(web.serves("web:1", 4), web.serves("web:2", 4))))
						return // it may be what was asked for last that was lost
					}
					w.await(all(web.handedBack, web.serves("web:1", 4)))
					w.wantNoMoreOf("web:2", 1)
				})
			}
		}
	}
}

// rollingBackTo has a release of web:2 turn round at its first step, and its controller halt before a write of that.
func (w *world) rollingBackTo(policy v1alpha1.DeletionPolicy, write int64) *controller {
	w.Helper()
	first := w.startController()
	w.deployed(deployment(4, rolling(1, 0)))
	r := release("web:2", step(1), step("100%"))
	r.Spec.DeletionPolicy = policy
	w.create(r)
	w.await(all(web.blocksAt(0), web.runs(pods{"web:1": 3, "web:2": 1})))
	first.kill()
	w.rollBack()
	c := w.startControllerHalting(write)
	w.await(either(c.halt.reached, web.completed))
	w.Logf("it is let go of before %q\n%s", c.halt.at(), standing(w.now()))
	return c
}

// wantNoMoreOf wants no ReplicaSet of an image to have ever been larger.
func (w *world) wantNoMoreOf(image string, most int32) {
	w.Helper()
	entries, err := w.journal.all()
	if err != nil {
		w.Errorf("the journal has a gap: %v", err)
	}
	for _, e := range entries {
		if set, is := e.object.(*appsv1.ReplicaSet); is && set.Spec.Template.Spec.Containers[0].Image == image && replicas(set) > most {
			w.Fatalf("ReplicaSet %s of %s was scaled to %d, want at most %d", set.Name, image, replicas(set), most)
		}
	}
}
