package notices

import (
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/sluice-dev/sluice/api/v1alpha1"
	"github.com/sluice-dev/sluice/telemetry/story"
)

// desk finds out what is new and queues it for the receivers that want it. It never waits.
type desk struct {
	cluster string

	lock  sync.Mutex
	posts map[string]*post
	// seen holds the last state of each release. Newest is the creation time of the youngest release
	// that the process before this one has seen, and youngest of this process, as Unix times of the
	// API server.
	seen             map[types.UID]*entry
	newest, youngest int64
	// first says that there was no record. Known are the releases and gates that are there, until all
	// that were there at the start have been seen; of quiet releases nothing is told that was so
	// before.
	first        bool
	known, quiet map[types.UID]bool
	// number counts the notices.
	number int64
	dirty  chan struct{}
}

// newDesk continues from a record. Without one (nil), there are no notices about what happened
// before.
func newDesk(cluster string, last *record) *desk {
	d := &desk{
		cluster: cluster, posts: map[string]*post{}, seen: map[types.UID]*entry{}, first: last == nil,
		known: map[types.UID]bool{}, quiet: map[types.UID]bool{}, dirty: make(chan struct{}, 1),
	}
	if last != nil {
		d.seen, d.newest = last.Releases, last.Newest
	}
	return d
}

// release reports what is new about a release. Before is its previous version, if it is known;
// initial says that it existed at the start.
func (d *desk) release(before, after *v1alpha1.BatchRelease, initial bool, now time.Time) {
	d.lock.Lock()
	defer d.lock.Unlock()
	d.see(before, after, initial, now)
}

func (d *desk) see(before, after *v1alpha1.BatchRelease, initial bool, now time.Time) *entry {
	created := after.CreationTimestamp.Unix()
	one, is := d.seen[after.UID]
	if !is {
		one = &entry{}
		if initial && (d.first || created < d.newest) {
			one.Seen = story.See(after)
			d.quiet[after.UID] = true
		}
		d.seen[after.UID] = one
	}
	one.Namespace = after.Namespace
	d.note(after.UID)
	if d.youngest = max(d.youngest, created); d.known == nil {
		d.newest = d.youngest
	}
	facts := story.Since(one.Seen, before, after, now)
	if one.Seen.Attempt != after.Status.Attempt {
		one.Count = 0
	}
	one.Seen = story.See(after)
	d.tell(facts, one, after)
	return one
}

// gone reports that a release was deleted.
func (d *desk) gone(last *v1alpha1.BatchRelease, now time.Time) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if one, is := d.seen[last.UID]; is {
		delete(d.seen, last.UID)
		d.tell(story.Deleted(last, now), one, last)
	}
}

// gate reports what is new about a gate of a release; the release is nil if it is not known.
func (d *desk) gate(gate *v1alpha1.Gate, release *v1alpha1.BatchRelease, initial bool, now time.Time) {
	d.lock.Lock()
	defer d.lock.Unlock()
	one, is := d.seen[gate.Spec.ReleaseRef.UID]
	if !is && release != nil && release.UID == gate.Spec.ReleaseRef.UID {
		one, is = d.see(nil, release, initial, now), true
	}
	// Anyone who may write a Gate can name a release of another namespace.
	if !is || one.Namespace != gate.Namespace {
		return
	}
	d.note(gate.UID)
	was, told := one.Gates[gate.UID]
	if one.Gates == nil {
		one.Gates = map[types.UID]v1alpha1.Decision{}
	}
	one.Gates[gate.UID] = gate.Status.Decision
	if !told && initial && (d.first || d.quiet[gate.Spec.ReleaseRef.UID]) {
		return
	}
	var before *v1alpha1.Gate
	if told {
		before = gate.DeepCopy()
		before.Status.Decision = was
	}
	d.tell(story.OfGate(before, gate, now), one, release)
}

// gateGone forgets a gate.
func (d *desk) gateGone(gate *v1alpha1.Gate) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if one, is := d.seen[gate.Spec.ReleaseRef.UID]; is && one.Namespace == gate.Namespace {
		delete(one.Gates, gate.UID)
	}
}

// settle forgets what no longer exists, once everything that existed at the start has been seen.
func (d *desk) settle() {
	d.lock.Lock()
	defer d.lock.Unlock()
	for uid, one := range d.seen {
		if !d.known[uid] {
			delete(d.seen, uid)
			continue
		}
		maps.DeleteFunc(one.Gates, func(gate types.UID, _ v1alpha1.Decision) bool { return !d.known[gate] })
	}
	if d.first {
		d.touch() // from now on, the next process tells what happens after this one ends
	}
	d.first, d.known, d.quiet, d.newest = false, nil, nil, max(d.newest, d.youngest)
}

// note marks something as existing, so that settle does not forget it.
func (d *desk) note(uid types.UID) {
	if d.known != nil {
		d.known[uid] = true
	}
}

// tell queues facts for the receivers that want them.
func (d *desk) tell(facts []story.Fact, one *entry, release *v1alpha1.BatchRelease) {
	for i := range facts {
		how, is := kinds[facts[i].Kind]
		if !is || !facts[i].Own() {
			continue
		}
		count := int64(0)
		if how.repeats || facts[i].Gate == nil && release != nil && len(release.Status.Jumps()) > 0 {
			one.Count++
			count = one.Count
		}
		d.number++
		d.hand(&pending{ID: idOf(&facts[i], count), Notice: noticeOf(&facts[i], release, d.cluster), number: d.number}, nil)
	}
}

// hand puts a notice into the queues of the receivers that want it, or of the named ones.
func (d *desk) hand(p *pending, named []string) {
	for name, post := range d.posts {
		if named == nil && post.receiver.wants(&p.Notice) || slices.Contains(named, name) {
			post.add(p)
			d.touch()
		}
	}
}

// touch marks the record as changed.
func (d *desk) touch() {
	select {
	case d.dirty <- struct{}{}:
	default:
	}
}

// pack returns the record of what there is now; nil as long as the first process has not seen all
// that there is, or else the next one would take what it has not seen for new.
func (d *desk) pack() (packed []byte, cut bool, err error) {
	d.lock.Lock()
	defer d.lock.Unlock()
	if d.first {
		return nil, false, nil
	}
	all := map[int64]*pending{}
	for _, name := range slices.Sorted(maps.Keys(d.posts)) {
		for _, p := range d.posts[name].queue.all() {
			one, is := all[p.number]
			if !is {
				one = &pending{ID: p.ID, Notice: p.Notice}
				all[p.number] = one
			}
			one.Receivers = append(one.Receivers, name)
		}
	}
	r := &record{Version: recordVersion, Newest: d.newest, Releases: d.seen}
	for _, number := range slices.Sorted(maps.Keys(all)) {
		r.Pending = append(r.Pending, all[number])
	}
	return encodeRecord(r)
}
