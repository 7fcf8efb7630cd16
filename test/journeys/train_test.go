package journeys

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane"
	"github.com/sluice-dev/sluice/internal/testbed/controlplane/cptest"
)

// shop is the train of these journeys.
const shop subject = "shop"

// trainWorld is a world with a train of several services, each of four pods, in one repository.
type trainWorld struct {
	*forgeWorld
	train *v1alpha1.BatchRelease
	// images are the images of the services in Git.
	images map[subject]string
	// kinds has the kinds of services that are no Deployments; all have the deadline.
	kinds    map[subject]string
	deadline int
	// behaviour is that of pods of the next commits.
	behaviour map[subject]map[string]string
	// routed is the service whose requests a route shares; empty for none.
	routed subject
}

// member returns a member of a train that comes after others.
func member(name subject, after ...v1alpha1.Predecessor) v1alpha1.TrainMember {
	return v1alpha1.TrainMember{Name: string(name), After: after}
}

// newTrainWorld starts a controller with a train whose members run NAME:1.
func newTrainWorld(t *testing.T, members []v1alpha1.TrainMember, steps ...v1alpha1.Step) *trainWorld {
	t.Helper()
	return newTrainWorldIn(newWorld(t), members, steps...)
}

func newTrainWorldIn(in *world, members []v1alpha1.TrainMember, steps ...v1alpha1.Step) *trainWorld {
	w := &trainWorld{forgeWorld: &forgeWorld{world: in}, images: map[subject]string{}, kinds: map[subject]string{}, deadline: 600,
		behaviour: map[subject]map[string]string{},
	}
	for _, m := range members {
		w.images[subject(m.Name)] = m.Name + ":1"
	}
	w.train = &v1alpha1.BatchRelease{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "BatchRelease"},
		ObjectMeta: metav1.ObjectMeta{Name: string(shop)},
		Spec:       v1alpha1.BatchReleaseSpec{Members: members, Strategy: v1alpha1.ReleaseStrategy{Steps: steps}},
	}
	return w
}

func (w *trainWorld) begin(interval time.Duration, change ...func(*v1alpha1.ReleaseSource)) {
	w.Helper()
	w.startForgeWith(fstest.MapFS{"shop.yaml": {Data: w.files()}})
	w.followForge(interval, change...)
	w.await(w.rests())
}

// files returns the train and its services as Git has them.
func (w *trainWorld) files() []byte {
	documents := [][]byte{manifest(w.T, w.train)}
	for _, name := range slices.Sorted(maps.Keys(w.images)) {
		documents = append(documents, manifest(w.T, w.service(name)), manifest(w.T, map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "BatchRelease", "metadata": map[string]any{"name": string(name)},
			"spec": map[string]any{
				"workloadRef": map[string]any{"apiVersion": "apps/v1", "kind": w.kindOf(name), "name": string(name)},
				"strategy":    w.strategyOf(name),
			},
		}))
	}
	return bytes.Join(documents, []byte("---\n"))
}

// strategyOf returns what a service's release has of its own.
func (w *trainWorld) strategyOf(name subject) map[string]any {
	strategy := map[string]any{"progressDeadlineSeconds": w.deadline}
	if name == w.routed {
		strategy["traffic"] = map[string]any{
			"routes":       []any{map[string]any{"kind": "HTTPRoute", "name": "web", "service": "web"}},
			"readySeconds": 0, "drainSeconds": 0,
		}
	}
	return strategy
}

func (w *trainWorld) kindOf(name subject) string { return cmp.Or(w.kinds[name], "Deployment") }

// service returns the workload of a service as Git has it.
func (w *trainWorld) service(name subject) client.Object {
	labels, template := map[string]string{"app": string(name)}, podTemplate(w.images[name], w.behaviour[name])
	template.Labels = labels
	if w.kindOf(name) == "StatefulSet" {
		set := statefulSet(4)
		set.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}
		set.Name, set.Spec.Template, set.Spec.Selector.MatchLabels = string(name), template, labels
		return set
	}
	if w.kindOf(name) == "DaemonSet" {
		set := w.daemonSet()
		set.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "DaemonSet"}
		template = w.onEachOwnNode(w.images[name], w.behaviour[name])
		template.Labels = labels
		set.Name, set.Spec.Template, set.Spec.Selector.MatchLabels = string(name), template, labels
		return set
	}
	d := deployment(4)
	d.TypeMeta = metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}
	d.Name, d.Spec.Template, d.Spec.Selector.MatchLabels = string(name), template, labels
	return d
}

// to commits other versions of some services at once.
func (w *trainWorld) to(version int, names ...subject) string {
	w.Helper()
	for _, name := range names {
		w.images[name] = fmt.Sprintf("%s:%d", name, version)
	}
	return w.write("ada", "main", "shop.yaml", w.files())
}

// rests wants all services to run what Git has, and the train to have no run.
func (w *trainWorld) rests() check {
	checks := []check{shop.phase(v1alpha1.PhaseCompleted), shop.observed}
	for name, image := range w.images {
		checks = append(checks, name.completed, name.serves(image, 4))
	}
	return all(checks...)
}

// approve merges the pull request of a step of the train.
func (w *trainWorld) approve(step int32) {
	w.Helper()
	w.as("grace").Merge(w.awaitPullOf(shop, step), "merge")
}

// TestTrain: one commit changes three services; one approval lets all of them go on, none gets
// further than the others, and none is finished before all are.
func TestTrain(t *testing.T) {
	w := newTrainWorld(t, []v1alpha1.TrainMember{member("db"), member("api"), member("web")},
		step(1, pullRequest(v1alpha1.PullRequestGate{})), step("50%", none()), step("100%"))
	w.train.Spec.Strategy.Lockstep = &v1alpha1.Lockstep{}
	w.begin(time.Second)
	commit := w.to(2, "db", "api", "web")
	var blocked []check
	for name := range w.images {
		blocked = append(blocked, name.runs(pods{string(name) + ":1": 3, string(name) + ":2": 1}))
	}
	w.await(all(append(blocked, shop.blocksAt(0))...))
	w.approve(0)
	w.await(w.rests())
	if n := len(w.pulls()); n != 1 {
		t.Errorf("want one pull request, got %d", n)
	}
	for _, says := range []string{"db:1", "db:2", "api:2", "web:2", "- - image: web:1", "+ - image: web:2"} {
		if body := w.pulls()[0].Body; !strings.Contains(body, says) {
			t.Errorf("want the pull request to say %q, got:\n%s", says, body)
		}
	}
	if got := w.now().releases[string(shop)].Status.Commit; got != commit {
		t.Errorf("want the train at %s, got %s", commit, got)
	}
	approved := w.kubectl("get", "controllerrevisions", "-o", `jsonpath={range .items[*]}{.metadata.name}={.metadata.annotations.rollouts\.sluice\.dev/approved-by}{"\n"}{end}`)
	if n := strings.Count(approved, "=grace"); n != 3 {
		t.Errorf("want the history of three members to name who approved, got:\n%s", approved)
	}
	lines := w.statuses(commit, "sluice/"+w.namespace+"/"+string(shop))
	if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], "success") {
		t.Errorf("want the status of the train to end in success, got:\n%s", strings.Join(lines, "\n"))
	}
	for name := range w.images {
		if lines := w.statuses(commit, "sluice/"+w.namespace+"/"+string(name)); len(lines) > 0 {
			t.Errorf("want no statuses of member %s, which the train reports, got:\n%s", name, strings.Join(lines, "\n"))
		}
	}
}

// awaitLast waits until the newest status of a commit about a release has a beginning.
func (w *trainWorld) awaitLast(name subject, commit, begins string) {
	w.Helper()
	cptest.Eventually(w, soon, func() error {
		lines := w.statuses(commit, "sluice/"+w.namespace+"/"+string(name))
		if len(lines) == 0 || !strings.HasPrefix(lines[len(lines)-1], begins) {
			return fmt.Errorf("want the last status of %s to begin with %q, got:\n%s", name, begins, strings.Join(lines, "\n"))
		}
		return nil
	})
}

// tiers returns five services in two tiers: web and shop-api come after db, cache and auth.
func tiers() []v1alpha1.TrainMember {
	first := func(names ...string) []v1alpha1.Predecessor {
		var all []v1alpha1.Predecessor
		for _, name := range names {
			all = append(all, v1alpha1.Predecessor{Member: name})
		}
		return all
	}
	return []v1alpha1.TrainMember{
		member("db"), member("cache"), member("auth"),
		member("api", first("db", "cache", "auth")...), member("web", first("api")...),
	}
}

// at wants a service to have so many of its four pods updated.
func (name subject) at(updated int, was, is string) check {
	want := pods{}
	if updated < 4 {
		want[string(name)+":"+was] = 4 - updated
	}
	if updated > 0 {
		want[string(name)+":"+is] = updated
	}
	return name.runs(want)
}

// patch patches a release.
func (w *trainWorld) patch(name subject, patch string) {
	w.Helper()
	w.edit(named[v1alpha1.BatchRelease](string(name)), mergePatch(patch), "kubectl-patch")
}

// annotate asks something of a release.
func (w *trainWorld) annotate(name subject, key, value string) {
	w.Helper()
	w.patch(name, fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value))
}

// TestTrainInTiers: services of the second tier start once those of the first are through, with one
// approval for all. None hands its workload back before the last is through: a member that is
// suspended holds the others, and the train names it.
func TestTrainInTiers(t *testing.T) {
	w := newTrainWorld(t, tiers(), step(1, manual()), step("100%"))
	w.kinds["db"] = "StatefulSet"
	w.begin(time.Second)
	w.to(2, "db", "cache", "auth", "api", "web")
	w.await(all(shop.blocksAt(0), subject("db").at(1, "1", "2"), subject("cache").at(1, "1", "2"), subject("auth").at(1, "1", "2"),
		subject("api").at(0, "1", "2"), web.at(0, "1", "2")))
	w.patch(web, `{"spec":{"suspend":true}}`)
	w.await(web.status("suspended", func(s *v1alpha1.BatchReleaseStatus) bool { return len(s.StoppedBy) > 0 }))
	w.confirm(string(shop))
	w.await(shop.says("waiting for web"))
	w.patch(web, `{"spec":{"suspend":false}}`)
	w.await(w.rests())
}

// broken gives the pods of a service a behaviour from the next commit on.
func (w *trainWorld) broken(name subject) { w.behaviour[name] = behaving(controlplane.CrashLoop) }

// TestTrainReturns: a member whose pods crash has all members return, those that come after others
// first. The next commit, which mends it, releases all of them, also those that were well.
func TestTrainReturns(t *testing.T) {
	w := newTrainWorld(t, tiers(), step(1, none()), step("50%", none()), step("100%"))
	w.train.Spec.Strategy.OnFailure = v1alpha1.FailureRollback
	w.kinds["cache"], w.deadline = "StatefulSet", 20
	w.begin(time.Second)
	w.broken("api")
	commit := w.to(2, "db", "cache", "auth", "api", "web")
	w.await(all(shop.reason(v1alpha1.ReasonRolledBack), shop.phase(v1alpha1.PhaseCompleted), shop.says("api")))
	for _, name := range []subject{"db", "cache", "auth", "api", "web"} {
		w.await(all(name.at(0, "1", "2"), name.completed))
	}
	w.awaitLast(shop, commit, "failure: rolled back to what 5 members ran before, change Git by hand: member api failed")
	w.awaitLast("api", commit, "failure: rolled back to ")
	if lines := w.statuses(commit, "sluice/"+w.namespace+"/db"); len(lines) > 0 || len(w.pulls()) > 0 {
		t.Errorf("want no statuses of a member that was well, and no pull requests, got %q and %v", lines, w.pulls())
	}
	w.await(shop.status("git revert", func(s *v1alpha1.BatchReleaseStatus) bool {
		return s.Revert != nil && s.Revert.State == v1alpha1.RevertRefused && strings.Contains(s.Revert.Message, "git revert "+commit[:7])
	}))
	delete(w.behaviour, "api")
	w.to(3, "api")
	w.await(w.rests())
}

// TestTrainRolledBack: rollback=true on the train, or on a member, has all of them return, in
// mid-run and after it.
func TestTrainRolledBack(t *testing.T) {
	t.Parallel()
	for name, asks := range map[string]subject{"of the train": shop, "of a member": "api"} {
		t.Run(name, func(t *testing.T) {
			w := newTrainWorld(t, tiers(), step(1, none()), step("50%", manual()), step("100%"))
			w.begin(time.Second)
			w.to(2, "db", "cache", "auth", "api", "web")
			w.await(shop.blocksAt(1))
			w.annotate(asks, v1alpha1.RollbackAnnotation, "true")
			old := []check{shop.reason(v1alpha1.ReasonRolledBack), shop.phase(v1alpha1.PhaseCompleted)}
			for name := range w.images {
				old = append(old, name.at(0, "1", "2"), name.completed)
			}
			w.await(all(old...))
		})
	}
	t.Run("after the run", func(t *testing.T) {
		w := newTrainWorld(t, tiers(), step(1, none()), step("100%"))
		w.begin(time.Second)
		w.to(2, "db", "api")
		w.await(w.rests())
		w.annotate(shop, v1alpha1.RollbackAnnotation, "true")
		w.await(all(shop.reason(v1alpha1.ReasonRolledBack), shop.phase(v1alpha1.PhaseCompleted),
			subject("db").at(0, "1", "2"), subject("api").at(0, "1", "2"), subject("db").completed, subject("api").completed))
	})
}

// TestTrainReverted: a revert in Git, in mid-run and after it, has members return without gates.
func TestTrainReverted(t *testing.T) {
	t.Parallel()
	t.Run("in mid-run", func(t *testing.T) {
		w := newTrainWorld(t, tiers(), step(1, manual()), step("100%"))
		w.begin(time.Second)
		w.to(2, "db", "api", "web")
		w.await(shop.blocksAt(0))
		w.to(1, "db", "api", "web")
		w.await(all(shop.attempt(3), w.rests()))
	})
	t.Run("after the run", func(t *testing.T) {
		w := newTrainWorld(t, tiers(), step(1, manual()), step("100%"))
		w.begin(time.Second)
		w.to(2, "db", "api", "web")
		w.await(shop.blocksAt(0))
		w.confirm(string(shop))
		w.await(all(shop.attempt(2), w.rests()))
		w.to(1, "db", "api", "web")
		w.await(all(shop.attempt(3), w.rests()))
	})
}

// TestTrainSuperseded: a commit in mid-run takes over the whole run: members that it does not
// change go on in it.
func TestTrainSuperseded(t *testing.T) {
	w := newTrainWorld(t, []v1alpha1.TrainMember{member("db"), member("api"), member("web")}, step(1, manual()), step("100%"))
	w.train.Spec.Strategy.Lockstep = &v1alpha1.Lockstep{}
	w.begin(time.Second)
	w.to(2, "db", "api")
	w.await(all(shop.blocksAt(0), shop.attempt(2)))
	w.to(3, "api", "web")
	w.await(all(shop.blocksAt(0), shop.attempt(3), subject("db").at(1, "1", "2"), subject("api").at(1, "1", "3"), web.at(1, "1", "3")))
	w.confirm(string(shop))
	w.await(w.rests())
}

// TestTrainOfOne: a commit that changes one member is released alone.
func TestTrainOfOne(t *testing.T) {
	w := newTrainWorld(t, tiers(), step(1, none()), step("100%"))
	w.begin(time.Second)
	w.to(2, "web")
	w.await(w.rests())
	if run := w.now().releases[string(shop)].Status.Run; run == nil || len(run.Members) != 1 || run.Members[0].Name != "web" {
		t.Errorf("want a run of web alone, got %+v", run)
	}
}
