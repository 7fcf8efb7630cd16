package journeys

import (
	"flag"
	"fmt"
	"hash/crc32"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sluice-dev/sluice/api/v1alpha1"
)

// everyMoment makes scenarios happen before each write of a release. By default they happen before
// one in 15, which are others in each scenario.
var everyMoment = flag.Bool("every-moment", false, "run each scenario of faults at every moment")

// scenario is a release in which something happens once. It is run again and again: in the first
// run that happens before the controller's first write, in the second before the second, and so on
// to the last run, in which it happens when all is done. See the package's documentation.
type scenario struct {
	// workload returns the workload before the release: one of six pods unless set.
	workload func() *appsv1.Deployment
	// release is a release of web:2 in three batches unless it is set.
	release func() *v1alpha1.BatchRelease
	// earlier, if set, brings the release to where the moments begin.
	earlier func(*world)
	// happens makes the event while the controller is halted; it must not wait for the controller.
	happens func(*world)
	// later, if set, runs when the controller continues. It may wait for the controller.
	later func(*world)
	// ends checks the end of each run: completed, with all pods of web:2, unless set.
	ends check
	// wished, if set, makes the wishes of the event, before the release.
	wished func(*world)
	// proxied has the controller talk to the API server through a proxy.
	proxied bool
	// blind says that by what happens the controller does not see what there is.
	blind bool
	// forget, if set, leaves out of an ending what depends on when things happened.
	forget func(*ending)
	// extra is how many writes beyond slack what happens is a reason for.
	extra int64
	// excused are the laws that what happens breaks itself, in one of the runs at least; nil if
	// there are none.
	excused *excuse
}

// turnedBack is how many writes beyond slack it may take where the native controller finds a lone
// ReplicaSet and makes all six pods updated ones (T1): each of them goes back, and comes again
// later.
const turnedBack = 5

// slack is how many writes more than a run without it a run may take. What happens may well be a
// reason for some. Measured with -every-moment: 8 at most in scenarios without extra
// (TestScaledAtAnyMoment), 13 in those with turnedBack (TestScaledToZeroAndBackAtAnyMoment); runs
// without it differ by 2 or 3 themselves.
const slack = 10

// afterTheEnd is how many writes after those of a run without it no run comes to.
const afterTheEnd = 30

// tally counts the outcomes of a scenario's runs.
type tally struct {
	mu           sync.Mutex
	runs, broken int
	// most is how many writes a run took at most.
	most int64
}

// sweep runs a scenario at every moment of a release.
func (s *scenario) sweep(t *testing.T) {
	t.Helper()
	t.Parallel()
	s.complete()
	var calm *outcome
	t.Run("Calm", func(t *testing.T) { calm = s.calm(t) })
	if calm == nil {
		t.Fatal("the run in which nothing happens has failed")
	}
	var sum tally
	t.Run("At", func(t *testing.T) {
		for _, write := range moments(t.Name(), calm.writes) {
			t.Run(momentName(write, calm.writes), func(t *testing.T) {
				t.Cleanup(func() { sum.add(t.Failed()) })
				sum.note(s.disturbed(t, write, calm))
			})
		}
	})
	t.Logf("%d runs, %d violations; %d writes if nothing happens, %d at most", sum.runs, sum.broken, calm.writes, sum.most)
}

func momentName(write, writes int64) string {
	if write > writes {
		return "Rest"
	}
	return fmt.Sprintf("Write%02d", write)
}

// complete fills in what is not set.
func (s *scenario) complete() {
	if s.workload == nil {
		s.workload = sixPods
	}
	if s.release == nil {
		s.release = threeBatches
	}
	if s.ends == nil {
		s.ends = all(web.completed, web.serves("web:2", 6))
	}
}

// moments returns the writes before which a scenario happens, and the one after the last.
func moments(scenario string, writes int64) []int64 {
	var chosen []int64
	first := crc32.ChecksumIEEE([]byte(scenario))
	for write := int64(1); write <= writes; write++ {
		if *everyMoment || (write+int64(first))%15 == 0 {
			chosen = append(chosen, write)
		}
	}
	return append(chosen, writes+afterTheEnd)
}

func sixPods() *appsv1.Deployment {
	d := deployment(6)
	d.Spec.Template = podTemplate("web:1", delayed)
	return d
}

func threeBatches() *v1alpha1.BatchRelease {
	return releaseOf(podTemplate("web:2", delayed), step(1), step("50%", none()), step("100%"))
}

// outcome is the result of a run.
type outcome struct {
	writes int64
	ending ending
}

// calm returns the run in which nothing happens, but that people have said before what they wish
// for.
func (s *scenario) calm(t *testing.T) *outcome {
	w := makeWorld(t)
	w.deployed(s.workload())
	if s.wished != nil {
		s.wished(w)
	}
	s.begin(w)
	c := w.startController()
	w.awaitConfirming(s.ends)
	return s.outcome(c)
}

// begin makes the release and brings it to where the moments begin.
func (s *scenario) begin(w *world) {
	w.create(s.release())
	if s.earlier != nil {
		s.earlier(w)
	}
}

// disturbed returns the run in which it happens before a write, or after the end if there is no
// such write.
func (s *scenario) disturbed(t *testing.T, write int64, calm *outcome) *outcome {
	w := newWorld(t)
	w.share(s.excused)
	w.moment = write
	if s.proxied {
		w.behindProxy()
	}
	w.deployed(s.workload())
	s.begin(w)
	c := w.startControllerHalting(write)
	w.awaitConfirming(either(c.halt.reached, web.completed))
	t.Logf("it happens before %q\n%s", c.halt.at(), standing(w.now()))
	s.happens(w)
	w.catchUp()
	if !s.blind {
		w.await(c.sight.current) // only the write at which it is halted may be one too late
	}
	c.halt.goOn()
	if s.later != nil {
		s.later(w)
		w.catchUp()
	}
	w.awaitConfirming(s.ends)
	have := s.outcome(c)
	if diff := cmp.Diff(calm.ending, have.ending); diff != "" {
		t.Errorf("I7: the end is another one (-want +got):\n%s", diff)
	}
	if have.writes > calm.writes+slack+s.extra {
		t.Errorf("I9: %d writes, %d if nothing happens: %v", have.writes, calm.writes, c.writes())
	}
	return have
}

// outcome returns the result of a controller, once it is at rest.
func (s *scenario) outcome(c *controller) *outcome {
	c.w.Helper()
	writes := c.rest()
	have := &outcome{writes: writes, ending: endingOf(c.w.await(s.ends))}
	if s.forget != nil {
		s.forget(&have.ending)
	}
	return have
}

// either wants one of two.
func either(a, b check) check {
	return func(s *scene) error {
		if a(s) == nil {
			return nil
		}
		return b(s)
	}
}

// catchUp waits until the journal has what was written to the release and its workload.
func (w *world) catchUp() {
	w.Helper()
	for _, object := range []client.Object{
		named[appsv1.Deployment]("web"), named[appsv1.StatefulSet]("web"), named[appsv1.DaemonSet]("web"), named[v1alpha1.BatchRelease]("web"),
	} {
		w.await(func(s *scene) error { // read each time: it may be deleted at any moment
			err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: "web"}, object)
			if client.IgnoreNotFound(err) != nil {
				return err
			}
			return sees(object, err == nil)(s)
		})
	}
}

// sees wants a scene that is not older than an object, or does not have it.
func sees(object client.Object, exists bool) check {
	return func(s *scene) error {
		var seen client.Object
		if release := s.releases[object.GetName()]; release != nil && sameKind(release, object) {
			seen = release
		} else if workload := s.workload(object.GetName()); workload != nil && sameKind(workload, object) {
			seen = workload
		}
		if (seen != nil) != exists || exists && revisionOf(seen) < revisionOf(object) {
			return fmt.Errorf("want the journal to see %T", object)
		}
		return nil
	}
}

// A controller is at rest if so many looks in a row find nothing left to write, of at most so many.
const (
	quietLooks = 2
	mostLooks  = 4
)

// rest waits until the controller writes nothing but what it is asked to (I9): a change of the spec
// that means nothing then costs one write, which says that it was seen. It returns how many writes
// there were without those.
func (c *controller) rest() int64 {
	c.w.Helper()
	quiet := 0
	for look := range int64(mostLooks) {
		before := c.sent.Load()
		if c.w.now().releases["web"] == nil {
			return before - look
		}
		c.w.patchRelease(fmt.Sprintf(`{"spec":{"revisionHistoryLimit":%d}}`, 11+look))
		c.w.await(web.observed)
		if quiet++; c.sent.Load() != before+1 {
			quiet = 0
		}
		if quiet == quietLooks {
			return c.sent.Load() - look - 1
		}
	}
	c.w.Errorf("I9: the controller still writes after %d looks", mostLooks)
	return c.sent.Load()
}

func (t *tally) add(failed bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs++
	if failed {
		t.broken++
	}
}

func (t *tally) note(o *outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most = max(t.most, o.writes)
}
