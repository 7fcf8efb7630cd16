package journeys

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// store is another train.
const store subject = "store"

// pushed commits the train, its services, and another train.
func (w *trainWorld) pushed(other *v1alpha1.BatchRelease) {
	w.Helper()
	w.write("ada", "main", "shop.yaml", append(append(w.files(), "---\n"...), manifest(w.T, other)...))
}

// other returns another train with the steps of the first.
func (w *trainWorld) other(members ...v1alpha1.TrainMember) *v1alpha1.BatchRelease {
	train := w.train.DeepCopy()
	train.ObjectMeta, train.Spec.Members = metav1.ObjectMeta{Name: string(store)}, members
	return train
}

// TestTrainLosesMember: another train releases a member that moves to it in mid-run, and the first
// goes on without it, also if its commits wait for the end of a run.
func TestTrainLosesMember(t *testing.T) {
	t.Parallel()
	for _, policy := range []v1alpha1.SupersedePolicy{v1alpha1.SupersedeRestart, v1alpha1.SupersedeQueue} {
		t.Run(string(policy), func(t *testing.T) {
			w := newTrainWorld(t, three(), step(1, manual()), step("100%"))
			w.train.Spec.Strategy.Supersede = policy
			w.begin(time.Second)
			w.to(2, "db", "api", "web")
			w.await(shop.blocksAt(0))
			w.train.Spec.Members = []v1alpha1.TrainMember{member("db"), member("api")}
			w.pushed(w.other(member("web")))
			w.await(all(shop.attempt(3), shop.blocksAt(0), store.blocksAt(0), web.at(1, "1", "2")))
			w.confirm(string(shop))
			w.confirm(string(store))
			w.await(all(w.rests(), store.phase(v1alpha1.PhaseCompleted)))
		})
	}
}

// TestTrainRenamed: members of a train that gets another name in mid-run go on under that name.
func TestTrainRenamed(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, manual()), step("100%"))
	w.begin(time.Second, func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	w.to(2, "db", "api", "web")
	w.await(shop.blocksAt(0))
	w.train.Name = string(store)
	w.write("ada", "main", "shop.yaml", w.files())
	w.await(all(store.blocksAt(0), web.at(1, "1", "2")))
	w.confirm(string(store))
	for name, image := range w.images {
		w.await(all(name.completed, name.serves(image, 4)))
	}
	w.await(store.phase(v1alpha1.PhaseCompleted))
}

// TestTrainMemberMadeAgain: a member that somebody deletes in mid-run is made again by the source.
// The run goes on with it once a person has let Git replace the template that came back.
func TestTrainMemberMadeAgain(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, manual()), step("100%"))
	w.begin(time.Second)
	w.to(2, "db", "api", "web")
	w.await(shop.blocksAt(0))
	w.kubectl("delete", "batchrelease", "web")
	w.await(web.reason(v1alpha1.ReasonNotAsInGit))
	w.confirm("web")
	w.await(all(shop.blocksAt(0), web.at(1, "1", "2")))
	w.confirm(string(shop))
	w.await(w.rests())
}

// TestTrainInPercentOfEachKind: members of each kind in lockstep by percent do a step together. One
// without pods that is scaled up in mid-step ends with as many pods as it is scaled to.
func TestTrainInPercentOfEachKind(t *testing.T) {
	in := newTrafficWorld(t)
	in.ownNodes(4)
	w := newTrainWorldIn(in, append(three(), member("new")), stepOf("50%", "50%", manual()), stepOf("100%", "100%"))
	w.train.Spec.Strategy.Lockstep = &v1alpha1.Lockstep{MaxSkew: intstr.FromString("25%")}
	w.routed, w.kinds["db"], w.kinds["api"] = "web", "StatefulSet", "DaemonSet"
	w.begin(time.Second)
	w.kubectl("scale", "deployment", "new", "--replicas=0")
	w.to(2, "db", "api", "web", "new")
	w.await(all(shop.blocksAt(0), subject("db").at(2, "1", "2"), subject("api").at(2, "1", "2"), web.at(2, "1", "2"), gets(50)))
	w.kubectl("scale", "deployment", "new", "--replicas=4")
	w.kubectl("scale", "statefulset", "db", "--replicas=6")
	w.await(all(subject("new").at(2, "1", "2"), shop.blocksAt(0)))
	w.confirm(string(shop))
	w.await(all(shop.phase(v1alpha1.PhaseCompleted), subject("new").serves("new:2", 4), subject("db").serves("db:2", 6),
		subject("api").serves("api:2", 4), web.serves("web:2", 4)))
}

// TestTrainHeldByFrozenMember: a member that is frozen holds its train, which names it. The others
// start no step, and all go on once the freeze is lifted.
func TestTrainHeldByFrozenMember(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, manual()), step("100%"))
	w.begin(time.Second)
	end := time.Now().Add(time.Hour).UTC().Format(time.RFC3339)
	w.kubectl("annotate", "batchrelease", "api", fmt.Sprintf(`%s={"reason":"quarter end","until":%q}`, v1alpha1.FreezeAnnotation, end))
	w.to(2, "db", "api", "web")
	w.await(all(shop.says("waiting for api"), shop.says("quarter end"), subject("api").serves("api:1", 4),
		subject("db").serves("db:1", 4), web.serves("web:1", 4)))
	w.kubectl("annotate", "batchrelease", "api", v1alpha1.FreezeAnnotation+"-")
	w.await(shop.blocksAt(0))
	w.confirm(string(shop))
	w.await(w.rests())
}
