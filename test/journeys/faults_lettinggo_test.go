package journeys

import (
	"hash/crc32"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
)

// writesOfRollback is about how many writes the rollback of a release at its first step takes.
const writesOfRollback = 9

// wayOut is a way in which a workload is let go of while its controller halts before a write.
type wayOut struct {
	name  string
	letGo func(*world, *controller)
}

func waysOut() []wayOut {
	return []wayOut{
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
}

// eachWayOut runs a journey at the moments of a release, in which ways and policies take turns,
// from another start for each name: all of them at each moment with -every-moment.
func eachWayOut(t *testing.T, name string, writes int64, journey func(t *testing.T, way wayOut, policy v1alpha1.DeletionPolicy, write int64)) {
	t.Helper()
	ways, policies := waysOut(), []v1alpha1.DeletionPolicy{v1alpha1.DeletionRevert, v1alpha1.DeletionProceed}
	first := int(crc32.ChecksumIEEE([]byte(t.Name()+name)) % uint32(len(ways)*len(policies)))
	for turn, write := range moments(t.Name()+name, writes) {
		turn += first
		for i, way := range ways {
			for j, policy := range policies {
				if *everyMoment || turn%len(ways) == i && turn/len(ways)%len(policies) == j {
					t.Run(name+"/"+way.name+"/"+string(policy)+"/"+momentName(write, writes), func(t *testing.T) { journey(t, way, policy, write) })
				}
			}
		}
	}
}

// TestInPlaceLetGoBeforeEachWrite: one version is left of a release that is deleted before a write
// of its own, or handed back by the command after its controller has died there.
func TestInPlaceLetGoBeforeEachWrite(t *testing.T) {
	for _, kind := range kindsInPlace("OrderedReady") {
		p := workloadKinds()[kind]
		eachWayOut(t, kind, writesInPlace, func(t *testing.T, way wayOut, policy v1alpha1.DeletionPolicy, write int64) {
			w := newWorld(t)
			w.judged = nil
			before := p.begin(w, 4)
			r := p.to(w, step("50%"), step("100%"))
			r.Spec.DeletionPolicy = policy
			w.create(r)
			c := w.startControllerHalting(write)
			w.awaitConfirming(either(c.halt.reached, all(web.completed, web.serves("web:2", 4))))
			t.Logf("it is let go of before %q\n%s", c.halt.at(), standing(w.now()))
			way.letGo(w, c)
			w.wantOneVersion(before)
		})
	}
}

// wantOneVersion waits until all pods run the template and serve, and wants the user's own
// strategy.
func (w *world) wantOneVersion(before client.Object) {
	w.Helper()
	s := w.await(func(s *scene) error {
		image := templateOf(s.workload("web")).Spec.Containers[0].Image
		return all(web.handedBack, seenNatively, web.serves(image, 4))(s)
	})
	wantOwnStrategy(w.T, s, before)
}

// TestLetGoBeforeEachWriteOfARollback: F28, a release that is let go of before a write of its
// rollback leaves the version that it went back to, whatever its policy. The other one gets no pod
// more.
func TestLetGoBeforeEachWriteOfARollback(t *testing.T) {
	eachWayOut(t, "Deployment", writesOfRollback, func(t *testing.T, way wayOut, policy v1alpha1.DeletionPolicy, write int64) {
		w := newWorld(t)
		c := w.rollingBackTo(policy, write)
		recorded := w.now().releases["web"].Status.Rollback != nil
		way.letGo(w, c)
		if policy == v1alpha1.DeletionProceed && !recorded {
			w.await(all(web.handedBack, either(web.serves("web:1", 4), web.serves("web:2", 4))))
			return // the request itself may be lost
		}
		w.await(all(web.handedBack, web.serves("web:1", 4)))
		w.wantNoMoreOf("web:2", 1)
	})
}

// rollingBackTo has a release of web:2 turn round at its first step, and its controller halt before
// a write of that.
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

const hangs = `{"metadata":{"finalizers":["journeys.sluice.dev/hangs"]}}`

// hang keeps the pods of an image from going, until letGo is called.
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
