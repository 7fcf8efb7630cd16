package journeys

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/cli/handback"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
)

// three returns members without an order.
func three() []v1alpha1.TrainMember {
	return []v1alpha1.TrainMember{member("db"), member("api"), member("web")}
}

// TestTrainHolds: with onFailure Pause a member that fails holds the others where they are, and
// the commit that mends it takes all of them on.
func TestTrainHolds(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, none()), step("50%", none()), step("100%"))
	w.train.Spec.Strategy.Lockstep, w.deadline = &v1alpha1.Lockstep{}, 20
	w.begin(time.Second)
	w.broken("api")
	w.to(2, "db", "api", "web")
	w.await(all(shop.reason(v1alpha1.ReasonMemberFailed), shop.says("api"), subject("db").at(1, "1", "2"), web.at(1, "1", "2")))
	delete(w.behaviour, "api")
	w.to(3, "api")
	w.await(w.rests())
}

// TestTrainInPercent: members in lockstep by percent do a step together, and one whose pods are not
// available holds the others within the step.
func TestTrainInPercent(t *testing.T) {
	w := newTrainWorld(t, three(), step("100%"))
	w.train.Spec.Strategy.Lockstep, w.deadline = &v1alpha1.Lockstep{MaxSkew: intstr.FromString("25%")}, 20
	w.begin(time.Second)
	w.broken("api")
	w.to(2, "db", "api", "web")
	held := func(name subject) check {
		return all(name.reason(v1alpha1.ReasonWaitingForTrain), name.runs(pods{string(name) + ":1": 3, string(name) + ":2": 1}))
	}
	w.await(all(shop.reason(v1alpha1.ReasonMemberFailed), shop.says("api"), held("db"), held(web)))
	delete(w.behaviour, "api")
	w.to(3, "api")
	w.await(w.rests())
}

// TestTrainRejected: a pull request that is closed has all members return, if the gate says so.
func TestTrainRejected(t *testing.T) {
	approval := pullRequest(v1alpha1.PullRequestGate{})
	approval.OnReject = v1alpha1.RejectRollback
	w := newTrainWorld(t, three(), step(1, approval), step("100%"))
	w.begin(time.Second)
	w.to(2, "db", "api", "web")
	w.as("grace").setState(w.awaitPullOf(shop, 0), "closed")
	w.await(all(shop.reason(v1alpha1.ReasonRolledBack), shop.phase(v1alpha1.PhaseCompleted)))
	for name := range w.images {
		w.await(all(name.at(0, "1", "2"), name.completed))
	}
}

// TestTrainScaled: a member that is scaled in mid-run keeps its share, one without pods holds
// nobody, and each ends with as many pods as it is scaled to.
func TestTrainScaled(t *testing.T) {
	w := newTrainWorld(t, three(), step("50%", manual()), step("100%"))
	w.begin(time.Second)
	w.to(2, "db", "api", "web")
	w.await(shop.blocksAt(0))
	w.kubectl("scale", "deployment", "api", "--replicas=8")
	w.kubectl("scale", "deployment", "web", "--replicas=0")
	w.await(all(subject("api").runs(pods{"api:1": 4, "api:2": 4}), web.runs(pods{})))
	w.confirm(string(shop))
	w.await(all(shop.phase(v1alpha1.PhaseCompleted), subject("api").serves("api:2", 8), subject("db").serves("db:2", 4), web.completed))
	w.kubectl("scale", "deployment", "web", "--replicas=4")
	w.await(web.serves("web:2", 4))
}

// TestTrainChangesMembers: a member that a later commit takes out of the train belongs to that run
// no more, and one that it adds belongs to the next.
func TestTrainChangesMembers(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, manual()), step("100%"))
	w.begin(time.Second, func(s *v1alpha1.ReleaseSource) { s.Spec.Prune = true })
	w.to(2, "db", "api")
	w.await(shop.blocksAt(0))
	w.train.Spec.Members = []v1alpha1.TrainMember{member("api"), member("web"), member("new", v1alpha1.Predecessor{Member: "api"})}
	delete(w.images, "db")
	w.to(1, "new")
	w.await(all(shop.attempt(3), shop.blocksAt(0), func(s *scene) error {
		run := s.releases[string(shop)].Status.Run
		if slices.ContainsFunc(run.Members, func(m v1alpha1.RunMember) bool { return m.Name == "db" }) {
			return fmt.Errorf("want a run without db, got %+v", run)
		}
		return nil
	}))
	w.confirm(string(shop))
	w.await(w.rests())
}

// TestTrainHandedBack: without a controller, all members of a run are handed back.
func TestTrainHandedBack(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, manual()), step("100%"))
	w.begin(time.Second)
	w.to(2, "db", "api", "web")
	w.await(shop.blocksAt(0))
	w.controllers[len(w.controllers)-1].kill()
	w.handBackAll(handback.Options{})
	for name := range w.images {
		w.await(all(name.handedBack, name.serves(string(name)+":1", 4)))
	}
}

// TestTrainOfEachKind: a Deployment whose requests a route shares, a StatefulSet and a DaemonSet
// are released together, and rolled back together.
func TestTrainOfEachKind(t *testing.T) {
	in := newTrafficWorld(t)
	in.ownNodes(4)
	first, last := stepOf("50%", "50%", manual()), stepOf("100%", "100%")
	w := newTrainWorldIn(in, three(), first, last)
	w.routed, w.kinds["db"], w.kinds["api"] = "web", "StatefulSet", "DaemonSet"
	w.begin(time.Second)
	w.to(2, "db", "api", "web")
	half := all(shop.blocksAt(0), subject("db").at(2, "1", "2"), subject("api").at(2, "1", "2"), web.at(2, "1", "2"), gets(50))
	w.await(half)
	w.confirm(string(shop))
	w.await(w.rests())
	w.to(3, "db", "api", "web")
	w.await(all(shop.blocksAt(0), gets(50)))
	w.annotate(shop, v1alpha1.RollbackAnnotation, "true")
	w.await(all(shop.reason(v1alpha1.ReasonRolledBack), shop.phase(v1alpha1.PhaseCompleted)))
	for name := range w.images {
		w.await(all(name.at(0, "2", "3"), name.completed))
	}
}

// TestTrainWithTooManyMembers: a commit that changes more members than the train may have at once
// waits, and says so, until the limit is raised.
func TestTrainWithTooManyMembers(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, none()), step("100%"))
	w.train.Spec.Strategy.MaxMembers = new(int32(2))
	w.begin(time.Second)
	w.to(2, "db", "api", "web")
	w.await(all(shop.reason(v1alpha1.ReasonTooManyMembers), shop.says("changes 3 members")))
	for name := range w.images {
		if err := name.at(0, "1", "2")(w.now()); err != nil {
			t.Error(err)
		}
	}
	w.train.Spec.Strategy.MaxMembers = new(int32(3))
	w.write("ada", "main", "shop.yaml", w.files())
	w.await(w.rests())
}

// TestTrainSurvivesRestarts: a controller that dies at any of the first writes of a run comes to
// the same end.
func TestTrainSurvivesRestarts(t *testing.T) {
	t.Parallel()
	for _, write := range []int64{3, 9, 14, 20, 27, 35, 44, 56} {
		t.Run(fmt.Sprintf("write %d", write), func(t *testing.T) {
			w := newTrainWorld(t, tiers(), step(1, none()), step("50%", none()), step("100%"))
			w.train.Spec.Strategy.Lockstep = &v1alpha1.Lockstep{MaxSkew: intstr.FromInt32(3)}
			w.begin(time.Second)
			w.controllers[len(w.controllers)-1].kill()
			w.to(2, "db", "cache", "auth", "api", "web")
			c := w.startControllerUntil(w.nthWrite(write, after))
			w.await(c.died)
			w.startController()
			w.await(w.rests())
		})
	}
}

// TestTrainHeldByMember: a commit that has an error in one member releases none of them, and says
// where.
func TestTrainHeldByMember(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, none()), step("100%"))
	w.begin(time.Second)
	for _, name := range []subject{"db", "api", "web"} {
		w.images[name] = string(name) + ":2"
	}
	broken := strings.Replace(string(w.files()), "replicas: 4\n  selector:\n    matchLabels:\n      app: api\n", "replicas: 4\n  selector:\n    matchLabels:\n      app: other\n", 1)
	w.write("ada", "main", "shop.yaml", []byte(broken))
	w.awaitRefusal("shop.yaml", "api")
	for name := range w.images {
		if err := name.at(0, "1", "2")(w.now()); err != nil {
			t.Error(err)
		}
	}
	w.to(3, "api")
	w.images["db"], w.images["web"] = "db:2", "web:2"
	w.await(w.rests())
}

// TestTrainForbidsSelfApproval: people don't approve their own pushes since the last run that was
// completed, also of members that earlier commits changed.
func TestTrainForbidsSelfApproval(t *testing.T) {
	w := newTrainWorld(t, three(), step(1, pullRequest(v1alpha1.PullRequestGate{ForbidSelfApproval: true})), step("100%"))
	w.begin(time.Second)
	first := w.now().releases[string(shop)].Status.Commit
	w.to(2, "db", "api")
	w.await(shop.blocksAt(0))
	w.images["web"] = "web:2"
	w.write("eve", "main", "shop.yaml", w.files())
	w.await(all(shop.attempt(3), shop.blocksAt(0)))
	if gate := w.now().gateOf(string(shop), 0, v1alpha1.GatePullRequest); gate.Spec.StableCommit != first {
		t.Errorf("want all commits since %s to be approved, got %s", first, gate.Spec.StableCommit)
	}
	w.as("ada").Merge(w.awaitPullOf(shop, 0), "merge")
	w.await(shop.reason(v1alpha1.ReasonApprovalRefused))
}

// TestTrainRunsJob: a Job that migrates runs once for all members, before the first pod of any, and
// one that fails has all of them stay as they were.
func TestTrainRunsJob(t *testing.T) {
	w := newTrainWorld(t, three(), step(0, jobGate("")), step(1, none()), step("100%"))
	w.runJobs()
	w.begin(time.Second)
	w.to(2, "db", "api", "web")
	w.await(w.rests())
	if jobs := w.jobs(); len(jobs) != 1 || jobs[0].Status.Succeeded != 1 {
		t.Errorf("want one Job that has succeeded, got %+v", jobs)
	}
	w.train.Spec.Strategy.Steps[0].Gates[0] = jobGate(controlplane.Fail)
	w.train.Spec.Strategy.Steps[0].Gates[0].OnReject = v1alpha1.RejectRollback
	w.to(3, "db", "api", "web")
	w.await(all(shop.reason(v1alpha1.ReasonRolledBack), shop.phase(v1alpha1.PhaseCompleted)))
	for name := range w.images {
		w.await(all(name.at(0, "2", "3"), name.completed))
	}
}
