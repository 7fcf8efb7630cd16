package notices

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

var at = time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)

// releaseAt returns a release of two steps that was created so many seconds after others.
func releaseAt(name string, created int, attempt int64, phase v1alpha1.Phase) *v1alpha1.BatchRelease {
	r := &v1alpha1.BatchRelease{}
	r.Namespace, r.Name, r.UID = "shop", name, types.UID(name+"-uid")
	r.CreationTimestamp = metav1.NewTime(at.Add(time.Duration(created) * time.Second))
	r.Spec.Strategy.Steps = []v1alpha1.Step{{Replicas: intstr.FromInt32(1)}, {Replicas: intstr.FromString("100%")}}
	r.Status.Attempt, r.Status.Phase = attempt, phase
	if attempt > 0 {
		r.Status.StartedAt = &metav1.Time{Time: at}
	}
	return r
}

func gateOf(r *v1alpha1.BatchRelease, name string, decision v1alpha1.Decision) *v1alpha1.Gate {
	g := &v1alpha1.Gate{Spec: v1alpha1.GateSpec{
		ReleaseRef: v1alpha1.ReleaseReference{Name: r.Name, UID: r.UID}, Attempt: r.Status.Attempt, Type: v1alpha1.GateManual,
	}}
	g.Namespace, g.Name, g.UID, g.Status.Decision = r.Namespace, name, types.UID(name+"-uid"), decision
	return g
}

// bench returns a desk with one receiver of everything, which is never delivered to.
func bench(last *record) *desk {
	d := newDesk("", last)
	d.posts["all"] = &post{
		desk: d, logger: logr.Discard(), wake: make(chan struct{}, 1),
		receiver: &receiver{name: "all", kind: typeEvents, kinds: Kinds()},
	}
	return d
}

// told returns the notices in the queue, which is emptied.
func (d *desk) told() []string {
	var all []string
	for _, p := range d.posts["all"].queue.all() {
		all = append(all, fmt.Sprint(p.Notice.Release, " ", p.Notice.Kind))
	}
	d.posts["all"].queue = queue{}
	return all
}

// kept returns the record as the next process reads it.
func kept(t *testing.T, d *desk) *record {
	t.Helper()
	packed, cut, err := d.pack()
	if err != nil || cut || packed == nil {
		t.Fatalf("pack: %v, cut: %t", err, cut)
	}
	last, err := decodeRecord(packed)
	if err != nil {
		t.Fatalf("unpack: %v", err)
	}
	return last
}

func want(t *testing.T, reason string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: -want +got:\n%s", reason, diff)
	}
}

// TestFirstStart: where notices are new, nothing is told of what was before; from then on,
// everything is.
func TestFirstStart(t *testing.T) {
	t.Parallel()
	d := bench(nil)
	running, old := releaseAt("running", 0, 1, v1alpha1.PhaseRollingUpdate), releaseAt("old", 0, 4, v1alpha1.PhaseCompleted)
	d.release(nil, running, true, at)
	d.release(nil, old, true, at)
	d.gate(gateOf(running, "gate", ""), running, true, at)
	if packed, _, err := d.pack(); packed != nil || err != nil {
		t.Errorf("want no record of a half of what there is, got %d bytes, %v", len(packed), err)
	}
	d.settle()
	want(t, "first start", d.told())
	ended := running.DeepCopy()
	ended.Status.Phase = v1alpha1.PhaseCompleted
	d.release(running, ended, false, at)
	d.gate(gateOf(running, "gate", v1alpha1.DecisionPassed), ended, false, at)
	want(t, "later", d.told(), "running ReleaseCompleted", "running GatePassed")
}

// TestNextProcess: it tells what happened while none ran, of releases and gates that are new, too;
// and nothing of those that were not watched before, nor of those that are gone.
func TestNextProcess(t *testing.T) {
	t.Parallel()
	first := bench(nil)
	running, gone := releaseAt("running", 10, 1, v1alpha1.PhaseRollingUpdate), releaseAt("gone", 20, 1, v1alpha1.PhaseRollingUpdate)
	first.release(nil, running, true, at)
	first.release(nil, gone, true, at)
	first.gate(gateOf(running, "a", ""), running, true, at)
	first.settle()

	next := bench(kept(t, first))
	ended := releaseAt("running", 10, 1, v1alpha1.PhaseCompleted)
	young, unwatched := releaseAt("young", 30, 1, v1alpha1.PhaseRollingUpdate), releaseAt("unwatched", 5, 3, v1alpha1.PhaseCompleted)
	for _, r := range []*v1alpha1.BatchRelease{unwatched, young, ended} {
		next.release(nil, r, true, at)
	}
	for _, g := range []*v1alpha1.Gate{
		gateOf(unwatched, "u", ""), gateOf(young, "y", ""), gateOf(ended, "a", v1alpha1.DecisionPassed), gateOf(ended, "b", v1alpha1.DecisionRejected),
	} {
		next.gate(g, nil, true, at)
	}
	next.settle()
	want(t, "next process", next.told(), "young ReleaseStarted", "running ReleaseCompleted",
		"young GateOpened", "running GatePassed", "running GateOpened", "running GateRejected")
	last := kept(t, next)
	if names := slices.Sorted(maps.Keys(last.Releases)); !slices.Equal(names, []types.UID{"running-uid", "unwatched-uid", "young-uid"}) {
		t.Errorf("want those that are there in the record, got %v", names)
	}

	third := bench(last)
	for _, r := range []*v1alpha1.BatchRelease{unwatched, young, ended} {
		third.release(nil, r, true, at)
	}
	third.gate(gateOf(young, "y", ""), nil, true, at)
	third.settle()
	want(t, "nothing happened", third.told())
}

// TestPendingIsKept: a notice that one receiver has got and another has not is recorded, in order;
// the next process sends it to the other, if that is still configured.
func TestPendingIsKept(t *testing.T) {
	t.Parallel()
	d := bench(nil)
	d.settle()
	other := &post{desk: d, logger: logr.Discard(), wake: make(chan struct{}, 1), receiver: &receiver{name: "other", kinds: Kinds()}}
	d.posts["other"] = other
	r := releaseAt("web", 0, 1, v1alpha1.PhaseRollingUpdate)
	d.release(nil, r, false, at)
	d.gate(gateOf(r, "gate", ""), r, false, at)
	other.queue.take(at)
	other.queue.done()

	last := kept(t, d)
	next := newDesk("", last)
	all := &post{desk: next, logger: logr.Discard(), wake: make(chan struct{}, 1), receiver: &receiver{name: "all"}}
	next.posts["all"] = all
	next.restore(last)
	want(t, "the one that got nothing", next.told(), "web ReleaseStarted", "web GateOpened")
	for _, p := range last.Pending {
		if len(p.Receivers) > 0 {
			t.Errorf("want receivers in the queues alone, got %v", p.Receivers)
		}
	}
	last = kept(t, d)
	if diff := cmp.Diff([][]string{{"all"}, {"all", "other"}}, [][]string{last.Pending[0].Receivers, last.Pending[1].Receivers}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestStoppedTwice: a repeated event has another ID, which is the same in each process.
func TestStoppedTwice(t *testing.T) {
	t.Parallel()
	d := bench(nil)
	d.settle()
	goes := releaseAt("web", 0, 1, v1alpha1.PhaseRollingUpdate)
	stands := goes.DeepCopy()
	stands.Status.State, stands.Status.StoppedBy = v1alpha1.StateStopped, []v1alpha1.StopCause{v1alpha1.StopSuspended}
	d.release(nil, goes, false, at)
	d.release(goes, stands, false, at)
	d.release(stands, goes, false, at)
	last := kept(t, d)
	for _, process := range []*desk{d, bench(last), bench(kept(t, d))} {
		process.posts["all"].queue = queue{}
		process.release(nil, stands.DeepCopy(), process != d, at)
		got := process.posts["all"].queue.all()
		if len(got) != 1 || got[0].ID != "web-uid/1/ReleaseStopped/0/3" {
			t.Errorf("want the third of its kind, got %v", got)
		}
	}
}

// TestRecordFits: of ten thousand releases, and of too many notices, the record fits into a
// ConfigMap.
func TestRecordFits(t *testing.T) {
	t.Parallel()
	r := &record{Version: recordVersion, Releases: map[types.UID]*entry{}}
	for i := range 10_000 {
		one := &entry{}
		one.Seen.Attempt, one.Seen.Phase, one.Seen.State = int64(i), v1alpha1.PhaseCompleted, v1alpha1.StateCompleted
		r.Releases[types.UID(fmt.Sprintf("%08x-1111-2222-3333-%012x", i*2654435761%(1<<32), i*11400714819323%(1<<48)))] = one
	}
	packed, cut, err := encodeRecord(r)
	t.Logf("%d bytes for 10000 releases", len(packed))
	if err != nil || cut || len(packed) > 400<<10 {
		t.Errorf("want at most 400 KiB, got %d, cut: %t, %v", len(packed), cut, err)
	}
	random := rand.NewChaCha8([32]byte{})
	for i := range 5_000 {
		message := make([]byte, 250)
		random.Read(message)
		n := Notice{Kind: story.ReleaseStopped, Namespace: "shop", Release: "web", Message: fmt.Sprintf("%x", message)}
		r.Pending = append(r.Pending, &pending{ID: fmt.Sprint(i), Notice: n, Receivers: []string{"all"}})
	}
	packed, cut, err = encodeRecord(r)
	if err != nil || !cut || len(packed) > maxRecord {
		t.Fatalf("want a part of it, got %d bytes, cut: %t, %v", len(packed), cut, err)
	}
	last, err := decodeRecord(packed)
	if err != nil || len(last.Releases) != 10_000 || len(last.Pending) == 0 || last.Pending[len(last.Pending)-1].ID != r.Pending[len(r.Pending)-1].ID {
		t.Errorf("want what was seen and the newest notices, got %d and %d, %v", len(last.Releases), len(last.Pending), err)
	}
}

func zip(text []byte) []byte {
	var packed bytes.Buffer
	zipped := gzip.NewWriter(&packed)
	zipped.Write(text)
	zipped.Close()
	return packed.Bytes()
}

// FuzzRecord: a record that somebody has changed is refused or read, and never stops the process.
func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"version":1,"releases":{"a":null},"pending":[null,{"id":"x","notice":{"kind":"Drifted"}}]}`))
	f.Add([]byte(`{"version":2}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		last, err := decodeRecord(zip(text))
		if err != nil {
			return
		}
		d := bench(last)
		d.restore(last)
		r := releaseAt("a", 0, 1, v1alpha1.PhaseRollingUpdate)
		r.UID = "a"
		d.release(nil, r, true, at)
		d.gate(gateOf(r, "g", ""), nil, true, at)
		d.settle()
		if _, _, err := d.pack(); err != nil {
			t.Errorf("pack: %v", err)
		}
	})
}
